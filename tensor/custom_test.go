package tensor_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// softsign is a custom operation on both devices.
var softsign = tensor.Custom{
	Name:     "softsign",
	Forward:  own("softsign_%v", func(in ...float64) float64 { return in[0] / (1 + math.Abs(in[0])) }),
	Backward: own("softsign_slope_%v", func(in ...float64) float64 { return in[2] / (1 + math.Abs(in[0])) / (1 + math.Abs(in[0])) }),
}

// TestCustomOperationsPassTheTestsOfOthers, on views of part of a storage too.
func TestCustomOperationsPassTheTestsOfOthers(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Deferred)
	in := []tensortest.Input{tensortest.In(4, 3).Rows()}
	s := tensortest.Sample{Name: "softsign", Call: func(in ...*tensor.Tensor) *tensor.Tensor { return softsign.Apply(in...) }, In: in}
	for _, d := range []storage.Device{storage.CPU, gpus[1]} {
		tensortest.CheckGradients(t, s, d)
		tensortest.CheckEmpty(t, s, d)
	}
	tensortest.CheckMeta(t, s)
	if tensortest.CheckSecondGradients(t, s) {
		t.Error("a custom operation has a second derivative")
	}
	for i, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		host := tensortest.Draw(s, float)
		want := tensortest.Float64(host)
		tensortest.Agree(t, tensortest.Tolerances[float], s, tensortest.To(t, host, gpus[i], tensortest.RowMajor), want)
		for _, lay := range tensortest.Layouts {
			tensortest.Agree(t, tensortest.Tolerances[float], s, tensortest.To(t, host, storage.CPU, lay), want)
			tensortest.Agree(t, tensortest.Tolerances[float], s, tensortest.To(t, host, gpus[i], lay), want)
		}
	}
}

// TestCustomKernelsSeeTheirElements: of a slice, and inside a step, whose memory is in
// blocks of a few sizes, an array's storage holds its elements and nothing else.
func TestCustomKernelsSeeTheirElements(t *testing.T) {
	var in, out []float32
	k := &kernels.Kernel{Name: "look", Reference: func(c *kernels.Call) error {
		in, out = slices.Clone(storage.Elements[float32](c.In[0])), storage.Elements[float32](c.Out[0])
		copy(out, in)
		return nil
	}}
	err := tensor.Step(func(tape *tensor.Tape) error {
		x := tape.Input(storage.From([]float32{0, 1, 2, 3, 4, 5, 6, 7}, 8)).Slice(0, 4, 7, 1)
		y := tensor.Custom{Name: "look", Forward: k}.Apply(x)
		if want := []float32{4, 5, 6}; !slices.Equal(in, want) || len(out) != 3 || !slices.Equal(tensor.Values[float32](y), want) {
			t.Errorf("a kernel sees %v and makes %v of it, result %v; want %v", in, out, tensor.Values[float32](y), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCustomKernelsThatPanicAreNamed: a bug in a kernel from outside is no error of the
// expression, and its panic says which kernel has it. A kernel's *Error is returned.
func TestCustomKernelsThatPanicAreNamed(t *testing.T) {
	panics := &kernels.Kernel{Name: "third", Reference: func(c *kernels.Call) error {
		_ = storage.Elements[float32](c.In[0])[c.In[0].Len()]
		return nil
	}}
	fails := &kernels.Kernel{Name: "fails", Reference: func(c *kernels.Call) error {
		tensor.Fail("fails", tensor.ErrState, "no luck")
		return nil
	}}
	x := tensor.Leaf(storage.From([]float32{1, 2}, 2))
	identity := &kernels.Kernel{Name: "identity", Reference: func(c *kernels.Call) error { return nil }}
	for _, run := range []func(){
		func() { tensor.Custom{Name: "mine", Forward: panics}.Apply(x) },
		func() { tensor.Custom{Name: "mine", Forward: identity, Backward: panics}.Apply(x).Sum().Backward() },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, `operation "mine", kernel "third": runtime error: index out of range`) {
					t.Errorf("panic %q", said)
				}
			}()
			t.Errorf("returned %v", tensor.Try(run))
		}()
	}
	err := tensor.Try(func() { tensor.Custom{Name: "mine", Forward: fails}.Apply(x) })
	if err == nil || err.Error() != "fails: no luck" {
		t.Errorf("error %v", err)
	}
}

// own returns the kernel of an entry of softsign.cu, which on the CPU is f of each element.
func own(entry string, f func(in ...float64) float64) *kernels.Kernel {
	text, err := os.ReadFile("../cuda/testdata/softsign.ptx")
	if err != nil {
		panic(err)
	}
	k := cuda.Function{Program: cuda.PTX("softsign.ptx", string(text)), Entry: entry}.Kernel("own")
	k.Reference = func(c *kernels.Call) error {
		if c.Out[0].Type == dtype.Float64 {
			each(c, storage.Elements[float64], f)
		} else {
			each(c, storage.Elements[float32], f)
		}
		return nil
	}
	return k
}

// each sets every element of the output, operands being row-major.
func each[T dtype.Float](c *kernels.Call, elements func(storage.Array) []T, f func(in ...float64) float64) {
	in := make([]float64, len(c.In))
	for i := range c.Out[0].Len() {
		for k, a := range c.In {
			in[k] = float64(elements(a)[i])
		}
		elements(c.Out[0])[i] = T(f(in...))
	}
}

func TestCustomOperationsSayWhatTheyLack(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	x := tensor.FromArray(storage.From([]float32{1, 2}, 2))
	there, err := x.Array().To(d)
	if err != nil {
		t.Fatal(err)
	}
	flat, only := softsign, cuda.Function{Program: cuda.PTX("none.ptx", ""), Entry: "f"}.Kernel("own")
	flat.Backward = nil
	for want, f := range map[string]func(){
		"softsign: has no Backward kernel":           func() { tensor.Gradients(flat.Apply(tensor.FromArray(x.Array()).RequireGrad()).Sum()) },
		"softsign: no inputs":                        func() { softsign.Apply() },
		"nothing: has no Forward kernel":             func() { tensor.Custom{Name: "nothing"}.Apply(x) },
		"gpus only: own: not implemented on the CPU": func() { tensor.Custom{Name: "gpus only", Forward: only}.Apply(x) },
		"operands on cuda:0 and cpu":                 func() { softsign.Apply(tensor.FromArray(there), x) },
	} {
		if err := tensor.Try(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
