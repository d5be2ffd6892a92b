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
// table in docs with the outcome. A GPU that does less than the CPU fails, unless it refuses the operation.
func TestDevicesComputeWhatIsListed(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	rows := map[string]row{}
	names := []string{}
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		defer cudatest.Reset()
		r := row{features: featuresOf(t, s, storage.CPU), second: never, names: namesOf(s), gpu: done, made: madeOf(s)}
		if r.gradient == done {
			if r.second = "refused"; tensortest.CheckSecondGradients(t, s) {
				r.second = done
			}
		}
		if tensortest.CheckHostOnly(t, s, gpu) {
			r.gpu = "refused"
		} else if there := featuresOf(t, s, gpu); there != r.features {
			here := r.features
			here.forward = strings.Replace(here.forward, "complex, ", "", 1)
			if r.gpu = "but complex"; there != here {
				t.Errorf("on the cpu: %v; on %v: %v", r.features, gpu, there)
			}
		}
		if before, ok := rows[s.Name]; !ok {
			names = append(names, s.Name)
		} else {
			r = before.or(r)
		}
		rows[s.Name] = r
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

// A row is what is known of an operation.
type row struct {
	features
	second, names, gpu, made string
}

// features say what a device computes of an operation.
type features struct{ forward, gradient, strided, empty string }

const (
	done  = "✓"
	never = "·"
)

// or merges two samples of an operation.
func (r row) or(s row) row {
	for mine, other := range map[*string]string{&r.gradient: s.gradient, &r.second: s.second, &r.empty: s.empty, &r.names: s.names} {
		if *mine == never {
			*mine = other
		}
	}
	return r
}

// madeOf says what a call is computed by: a view computes nothing, a composite calls several operations.
func madeOf(s tensortest.Sample) string {
	in := tensortest.Constants(tensortest.Draw(s, dtype.Float32))
	calls := 0
	for _, p := range tensor.Profile(func() { s.Call(in...) }) {
		calls += p.Calls
	}
	switch calls {
	case 0:
		return "view"
	case 1:
		return "kernel"
	}
	return "composite"
}

// namesOf says whether a call takes operands whose axes have names.
func namesOf(s tensortest.Sample) string {
	named := tensortest.Constants(tensortest.Draw(s, dtype.Float32))
	for i, x := range named {
		named[i] = x.RefineNames(axisNames[len(axisNames)-x.Rank():]...)
	}
	if tensor.Try(func() { s.Call(named...) }) != nil {
		return never
	}
	return done
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
		case elem.StorageOnly():
			continue
		case elem.IsComplex():
			kind = "complex"
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
		if all := map[string]int{"floats": 4, "integers": 8, "bool": 1, "complex": 2}[kind]; kinds[kind] != all {
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
	if want.Type.IsFloat() || want.Type.IsComplex() {
		tolerance, known := tensortest.Tolerances[want.Type]
		if !known { // of complex numbers, whose parts cancel out
			tolerance = map[dtype.Type]float64{dtype.Complex64: 1e-5, dtype.Complex128: 1e-12}[want.Type]
		}
		tensortest.Near(t, elem.String(), parts(tensor.FromArray(got)), parts(tensor.FromArray(want)), tolerance)
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

func tableOf(names []string, rows map[string]row) string {
	var text strings.Builder
	text.WriteString(`# What devices compute

Every operation: the element types it takes, whether it has a gradient and a second derivative, and whether it takes strided views, empty
batches and named axes; whether NVIDIA GPUs compute the same, or refuse it, or complex numbers, by name because they are computed on the host only; and
whether it is a view, a kernel, or a composite of other operations. ` + done + ` means yes. ` + never + ` means not applicable, or for names that it refuses them:
integers have no gradient; max, mean and variance of an empty tensor are undefined. The tests of package tensor write this table
(` + "`make golden`" + `) and fail where a GPU does less than the CPU. The GPU of these tests is an interpreter of the code that ships.

| | types | gradient | second | strided | empty | names | GPU | made of |
|---|---|---|---|---|---|---|---|---|
`)
	for _, name := range names {
		r := rows[name]
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, r.forward, r.gradient, r.second, r.strided, r.empty, r.names, r.gpu, r.made)
	}
	return text.String()
}
