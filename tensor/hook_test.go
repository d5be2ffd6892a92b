package tensor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// onStep runs f outside of a step and inside of one.
func onStep(t *testing.T, f func(t *testing.T, in func(a storage.Array) *tensor.Tensor)) {
	t.Run("outside", func(t *testing.T) { f(t, tensor.FromArray) })
	t.Run("inside", func(t *testing.T) {
		if err := tensor.Step(func(tape *tensor.Tape) error { f(t, tape.Input); return nil }); err != nil {
			t.Fatal(err)
		}
	})
}

func TestHooksChangeGradients(t *testing.T) {
	onStep(t, func(t *testing.T, in func(a storage.Array) *tensor.Tensor) {
		x := in(storage.From([]float32{1, -2, 3}, 3)).RequireGrad()
		y := x.MulScalar(2)
		z := y.ReLU()
		var seen []string
		note := func(name string, scale float64) func(g *tensor.Tensor) *tensor.Tensor {
			return func(g *tensor.Tensor) *tensor.Tensor {
				seen = append(seen, fmt.Sprint(name, tensor.Values[float32](g)))
				if scale == 0 {
					return nil
				}
				return g.MulScalar(scale)
			}
		}
		removed := y.RegisterHook(note("removed", 100))
		z.RegisterHook(note("z", 0))
		y.RegisterHook(note("y", 10))
		y.RegisterHook(note("y again", 0))
		x.RegisterHook(note("x", 3))
		removed()
		y.RetainGrad()
		z.Mul(z).Sum().Backward()
		if got, want := fmt.Sprint(seen), "[z[4 0 12] y[4 0 12] y again[40 0 120] x[80 0 240]]"; got != want {
			t.Errorf("hooks saw %v, want %v", got, want)
		}
		if got, want := tensor.Values[float32](x.Grad), []float32{240, 0, 720}; !slices.Equal(got, want) {
			t.Errorf("gradient %v, want %v", got, want)
		}
		if got, want := tensor.Values[float32](y.Grad), []float32{40, 0, 120}; !slices.Equal(got, want) || z.Grad != nil {
			t.Errorf("retained %v, want %v; z %v", got, want, z.Grad)
		}
	})
}

// TestFusionStopsAtHooks: a gradient that a fused backward pass leaves out is there for a hook.
func TestFusionStopsAtHooks(t *testing.T) {
	onStep(t, func(t *testing.T, in func(a storage.Array) *tensor.Tensor) {
		x := in(tensor.Key{Seed: 1}.Rand(dtype.Float32, 4, 3).Array()).RequireGrad()
		w := tensor.Leaf(tensor.Key{Seed: 2}.Rand(dtype.Float32, 2, 3).Array())
		h := tensor.Linear(x, w, nil, tensor.NoActivation).RetainGrad()
		loss := tensor.CrossEntropy(h.Tanh(), in(storage.From([]uint8{0, 1, 0, 1}, 4))).RetainGrad()
		loss.Backward()
		if h.Grad == nil || !slices.Equal(h.Grad.Shape(), []int{4, 2}) || loss.Grad.Item() != 1 {
			t.Errorf("gradients %v of the product and %v of the loss", h.Grad, loss.Grad)
		}
	})
}

// TestGradientsOfResultsPassHooks: Grad of a result, and of one that others follow from.
func TestGradientsOfResultsPassHooks(t *testing.T) {
	x := tensor.Leaf(storage.From([]float64{2}, 1))
	y := x.Mul(x)
	z := y.Mul(y)
	for _, r := range []*tensor.Tensor{x, y} {
		r.RegisterHook(func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(10) })
	}
	for _, create := range []bool{false, true} {
		both := tensor.Grad([]*tensor.Tensor{z.Sum()}, []*tensor.Tensor{y, x}, tensor.GradOptions{CreateGraph: create, RetainGraph: true})
		alone := tensor.Grad([]*tensor.Tensor{z.Sum()}, []*tensor.Tensor{y}, tensor.GradOptions{CreateGraph: create, RetainGraph: true})
		if both[0].Item() != 80 || both[1].Item() != 3200 || alone[0].Item() != 80 {
			t.Errorf("gradients %v, %v and %v, want 80, 3200 and 80", both[0].Item(), both[1].Item(), alone[0].Item())
		}
	}
	leaf := tensor.Leaf(storage.From([]float64{2}, 1))
	leaf.RegisterHook(func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(3) })
	tensor.GradientsReady(leaf.Mul(leaf).Sum(), func(_, g *tensor.Tensor) {
		if g.Item() != 12 {
			t.Errorf("ready with %v, want 12", g.Item())
		}
	})
}

func TestHooksAreChecked(t *testing.T) {
	x := tensor.Leaf(storage.From([]float64{2}, 1))
	x.RegisterHook(func(g *tensor.Tensor) *tensor.Tensor { return tensor.Zeros(dtype.Float32, 1) })
	if err := tensor.Try(func() { x.Mul(x).Sum().Backward() }); fmt.Sprint(err) != "hook: returns float32[1] on cpu for the gradient float64[1] on cpu" {
		t.Errorf("error %v", err)
	}
	if err := tensor.Try(func() { x.Detach().RetainGrad() }); fmt.Sprint(err) != "retain grad: float64[1] on cpu requires no gradient" {
		t.Errorf("error %v", err)
	}
}
