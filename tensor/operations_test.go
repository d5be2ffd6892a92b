package tensor_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

var rewrite = flag.Bool("rewrite", false, "write docs/operations.md anew")

const listed = "../docs/operations.md"

// TestDevicesComputeWhatIsListed tries every operation on the CPU and on a GPU, for
// every type, forward and backward, on views and on empty batches, and compares the
// table in docs with the outcome. A GPU that does less than the CPU fails.
func TestDevicesComputeWhatIsListed(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	rows := map[string][2]features{}
	names := []string{}
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		defer cudatest.Reset()
		both := [2]features{featuresOf(t, s, storage.CPU), {never, never, never, never}}
		if !tensortest.CheckHostOnly(t, s, gpu) {
			both[1] = featuresOf(t, s, gpu)
		} else {
			both[1].forward = "refused"
		}
		if both[0] != both[1] && !s.HostOnly {
			t.Errorf("on the cpu: %v; on %v: %v", both[0], gpu, both[1])
		}
		if before, ok := rows[s.Name]; !ok {
			names = append(names, s.Name)
		} else {
			both = [2]features{before[0].or(both[0]), before[1].or(both[1])}
		}
		rows[s.Name] = both
	})
	text := tableOf(names, rows)
	if *rewrite {
		if err := os.WriteFile(listed, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if was, err := os.ReadFile(listed); err != nil || string(was) != text {
		t.Errorf("%s is not what devices compute; make golden, and look at the difference (%v)", listed, err)
	}
}

// features say what a device computes of an operation.
type features struct{ forward, gradient, strided, empty string }

const (
	done  = "✓"
	never = "·"
)

// or merges the features of two samples of an operation.
func (f features) or(g features) features {
	if f.gradient == never {
		f.gradient = g.gradient
	}
	if f.empty == never {
		f.empty = g.empty
	}
	return f
}

func featuresOf(t *testing.T, s tensortest.Sample, d storage.Device) features {
	f := features{forward: typesOf(t, s, d), gradient: never, strided: done, empty: never}
	want := tensortest.Draw(s, dtype.Float64)
	tensortest.Agree(t, 1e-12, s, tensortest.To(t, want, d, tensortest.Layouts["gapped and flipped"]), want)
	if _, grads := tensortest.Outcome(s, tensortest.To(t, want, d, tensortest.RowMajor)); slices.ContainsFunc(grads, func(g []float64) bool { return g != nil }) {
		f.gradient = done
	}
	if empty, found := tensortest.Empty(s); found {
		tensortest.Outcome(empty, tensortest.To(t, tensortest.Draw(empty, dtype.Float32), d, tensortest.RowMajor))
		f.empty = done
	}
	return f
}

// typesOf names the types that d computes s for.
func typesOf(t *testing.T, s tensortest.Sample, d storage.Device) string {
	kinds := map[string]int{}
	order := []string{}
	for _, elem := range dtype.All() {
		kind := "floats"
		switch {
		case elem.IsComplex() || elem.StorageOnly():
			continue
		case elem.IsInt():
			kind = "integers"
		case elem == dtype.Bool:
			kind = "bool"
		}
		if computes(t, s, elem, d) {
			if kinds[kind]++; kinds[kind] == 1 {
				order = append(order, kind)
			}
		}
	}
	for i, kind := range order {
		if all := map[string]int{"floats": 4, "integers": 8, "bool": 1}[kind]; kinds[kind] != all {
			order[i] = fmt.Sprintf("%d of %d %s", kinds[kind], all, kind)
		}
	}
	slices.Sort(order)
	return strings.Join(order, ", ")
}

// computes reports whether d computes s for a type, and compares the result with the CPU's.
func computes(t *testing.T, s tensortest.Sample, elem dtype.Type, d storage.Device) bool {
	in := tensortest.Draw(s, elem)
	there := tensortest.To(t, in, d, tensortest.RowMajor)
	var got, want storage.Array
	err := tensor.Try(func() { got = s.Call(tensortest.Constants(there)...).Array() })
	if errors.Is(err, tensor.ErrType) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := tensor.Try(func() { want = s.Call(tensortest.Constants(in)...).Array() }); err != nil {
		t.Fatal(err)
	}
	if got.Type != want.Type {
		t.Errorf("%v gives %v on %v, %v on the cpu", elem, got.Type, d, want.Type)
	}
	if want.Type.IsFloat() {
		tensortest.Near(t, elem.String(), tensor.Values[float64](tensor.FromArray(got)), tensor.Values[float64](tensor.FromArray(want)), tensortest.Tolerances[want.Type])
	} else if g, w := elements(t, got), elements(t, want); !slices.Equal(g, w) {
		t.Errorf("%v gives %x on %v, %x on the cpu", elem, g, d, w)
	}
	return true
}

// elements returns an array's bytes in row-major order.
func elements(t *testing.T, a storage.Array) []byte {
	t.Helper()
	there, err := tensor.FromArray(a).Contiguous().Array().To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	bytes, _ := there.Bytes()
	return bytes
}

func tableOf(names []string, rows map[string][2]features) string {
	var text strings.Builder
	text.WriteString(`# What devices compute

Every operation, on the CPU and on NVIDIA GPUs: the element types it takes, whether it has a gradient, and whether it takes strided
views and empty batches. ` + done + ` means yes. ` + never + ` means not applicable: integers have no gradient; max, mean and variance of an empty tensor are
undefined. Refused operations are computed on the host only and say so elsewhere. The tests of package tensor write this table (` + "`make golden`" + `) and fail where a GPU does less than the CPU. The GPU of
these tests is an interpreter of the code that ships.

| | cpu: types | gradient | strided | empty | cuda: types | gradient | strided | empty |
|---|---|---|---|---|---|---|---|---|
`)
	for _, name := range names {
		fmt.Fprintf(&text, "| %s |", name)
		for _, f := range rows[name] {
			fmt.Fprintf(&text, " %s | %s | %s | %s |", f.forward, f.gradient, f.strided, f.empty)
		}
		text.WriteByte('\n')
	}
	return text.String()
}
