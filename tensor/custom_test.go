package tensor

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// softsign is an operation of one's own, on both devices.
var softsign = Custom{
	Name:     "softsign",
	Forward:  own("softsign_%v", func(in ...float64) float64 { return in[0] / (1 + math.Abs(in[0])) }),
	Backward: own("softsign_slope_%v", func(in ...float64) float64 { return in[2] / (1 + math.Abs(in[0])) / (1 + math.Abs(in[0])) }),
}

// TestCustomOperationsKeepTheLaws that all others are held to.
func TestCustomOperationsKeepTheLaws(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Deferred)
	s := Sample{Name: "softsign", Call: func(in ...*Tensor) *Tensor { return softsign.Apply(in...) }, In: []samples.Input{samples.In(4, 3).Rows()}}
	for _, d := range []storage.Device{storage.CPU, gpus[1]} {
		matchDifferences(t, s, d, 1e-5, 1e-6)
	}
	for i, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		host := draw(s, float)
		agree(t, 2e-5, s, moved(t, host, gpus[i], func(a storage.Array) storage.Array { return a }), widened(host))
		for _, lay := range layouts {
			agree(t, 2e-5, s, []storage.Array{lay(host[0])}, widened(host))
			agree(t, 2e-5, s, moved(t, host, gpus[i], lay), widened(host))
		}
		empty, _ := emptied(s)
		if _, grads := outcome(empty, moved(t, draw(empty, float), gpus[i], layouts["permuted"])); len(grads[0]) != 0 {
			t.Errorf("%v: gradient %v of nothing", float, grads[0])
		}
	}
}

// own is the kernel of an entry of softsign.cu, which on the CPU is f of each element.
func own(entry string, f func(in ...float64) float64) *kernels.Kernel {
	text, err := os.ReadFile("../cuda/testdata/softsign.ptx")
	if err != nil {
		panic(err)
	}
	k := cuda.Function{Program: cuda.PTX("softsign.ptx", string(text)), Entry: entry}.Kernel("own")
	k.Plain = func(c *kernels.Call) error {
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
			in[k] = float64(elements(a)[a.Offset+i])
		}
		elements(c.Out[0])[c.Out[0].Offset+i] = T(f(in...))
	}
}

func TestCustomOperationsSayWhatTheyLack(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	x := Of(storage.From([]float32{1, 2}, 2))
	there, err := x.To(d)
	if err != nil {
		t.Fatal(err)
	}
	flat, only := softsign, cuda.Function{Program: cuda.PTX("none.ptx", ""), Entry: "f"}.Kernel("own")
	flat.Backward = nil
	for want, f := range map[string]func(){
		"softsign: has no Backward kernel":        func() { Gradients(flat.Apply(Of(x.Array).RequireGrad()).Sum()) },
		"softsign: no inputs":                     func() { softsign.Apply() },
		"nothing: has no Forward kernel":          func() { Custom{Name: "nothing"}.Apply(x) },
		"gpus only: own: has no side for the cpu": func() { Custom{Name: "gpus only", Forward: only}.Apply(x) },
		"operands on cuda:0 and cpu":              func() { softsign.Apply(Of(there), x) },
	} {
		if err := Try(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
