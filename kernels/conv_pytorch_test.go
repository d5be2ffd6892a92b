package kernels

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// TestConvAndPoolAgreeWithPyTorch compares convolutions, transposed ones among them, and
// pools of one to three axes with results that testdata/conv.py had from PyTorch: the
// reference loops in float64, and what runs for float32.
func TestConvAndPoolAgreeWithPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/conv.json")
	if err != nil {
		t.Fatal(err)
	}
	type array struct {
		Shape  []int
		Values []*float64 // nil is NaN
	}
	var file struct {
		Cases []struct {
			Kernel  string
			In, Out []array
			Options json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	kernels := map[string]*Kernel{
		"conv": Conv, "conv grad x": ConvGradX, "conv grad w": ConvGradW,
		"max pool": MaxPool, "max pool grad": MaxPoolGrad, "average pool": AvgPool, "average pool grad": AvgPoolGrad,
	}
	for i, c := range file.Cases {
		for _, float := range []dtype.Type{dtype.Float64, dtype.Float32} {
			isIndex := func(list string, k int) bool {
				return k == 1 && c.Kernel == map[string]string{"out": "max pool", "in": "max pool grad"}[list]
			}
			of := func(a array, isIndex bool) storage.Array {
				elem := float
				if isIndex {
					elem = dtype.Int32
				}
				to, err := storage.Make(storage.CPU, elem, a.Shape...)
				if err != nil {
					t.Fatal(err)
				}
				convertElements(&to, &[]storage.Array{storage.From(floatsOf(a.Values), a.Shape...)}[0])
				return to
			}
			call := &Call{}
			for k, a := range c.In {
				call.In = append(call.In, of(a, isIndex("in", k)))
			}
			for k, a := range c.Out {
				call.Out = append(call.Out, of(array{a.Shape, make([]*float64, len(a.Values))}, isIndex("out", k)))
			}
			if c.Kernel == "conv" || c.Kernel == "conv grad x" || c.Kernel == "conv grad w" {
				call.Options = optionsOf[ConvOptions](t, c.Options)
			} else {
				call.Options = optionsOf[PoolOptions](t, c.Options)
			}
			run, tolerance := kernels[c.Kernel].Reference, 3e-6
			if float == dtype.Float32 {
				run, tolerance = func(c2 *Call) error { return CPU.Run(kernels[c.Kernel], c2) }, 2e-5
			}
			if err := run(call); err != nil {
				t.Fatalf("case %d, %s: %v", i, c.Kernel, err)
			}
			for k, want := range c.Out {
				got, err := storage.Read[float64](call.Out[k])
				if err != nil {
					t.Fatal(err)
				}
				exact := floatsOf(want.Values)
				for at := range exact {
					if exact[at] != exact[at] && got[at] != got[at] || math.IsInf(exact[at], 0) && exact[at] == got[at] {
						exact[at], got[at] = 0, 0 // not finite, as it should be
					}
				}
				compare(t, fmt.Sprintf("case %d, %s of %v, output %d", i, c.Kernel, float, k), got, exact, tolerance)
			}
		}
	}
}

func floatsOf(values []*float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		if all[i] = math.NaN(); v != nil {
			all[i] = *v
			if math.Abs(*v) >= 1e300 {
				all[i] = math.Inf(int(math.Copysign(1, *v)))
			}
		}
	}
	return all
}

func optionsOf[S any](t *testing.T, text json.RawMessage) (o S) {
	t.Helper()
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	return o
}
