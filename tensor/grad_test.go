package tensor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// TestGradReachesAnyTensor asks for the gradient of results, and for that of sums with
// incoming gradients.
func TestGradReachesAnyTensor(t *testing.T) {
	for name, step := range map[string]func(f func(x *Tensor)) error{
		"inside a step": func(f func(x *Tensor)) error { return Step(func(t *Tape) error { f(input(t)); return nil }) },
		"outside a step": func(f func(x *Tensor)) error {
			return Try(func() { f(FromSlice([]float64{1, -2, 3}, 3).RequireGrad()) })
		},
	} {
		err := step(func(x *Tensor) {
			h := x.MulScalar(2)
			y := h.ReLU() // fused with nothing; h is a target all the same
			dy := FromSlice([]float64{1, 10, 100}, 3)
			got := Grad([]*Tensor{y.Mul(y), h}, []*Tensor{x, h, y}, GradOptions{Incoming: []*Tensor{dy, dy}})
			for i, want := range [][]float64{{10, 20, 2600}, {5, 10, 1300}, {4, 0, 1200}} {
				if g := Values[float64](got[i]); !slices.Equal(g, want) {
					t.Errorf("%s: gradient %d is %v, want %v", name, i, g, want)
				}
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func input(t *Tape) *Tensor {
	return t.Input(storage.From([]float64{1, -2, 3}, 3)).RequireGrad()
}

// TestGradRefusesWhatHasNoGradient asks for gradients that there cannot be.
func TestGradRefusesWhatHasNoGradient(t *testing.T) {
	x, z := FromSlice([]float64{1, 2}, 2).RequireGrad(), FromSlice([]float64{1, 2}, 2).RequireGrad()
	y := x.Sum()
	for want, f := range map[string]func(){
		"want a single element":                      func() { Gradients(x.Exp()) },
		"incoming gradient float64[3]":               func() { Gradients(x.Exp(), FromSlice([]float64{1, 2, 3}, 3)) },
		"no result depends on x 0":                   func() { Grad([]*Tensor{y}, []*Tensor{z}, GradOptions{}) },
		"does not require a gradient":                func() { Grad([]*Tensor{y}, []*Tensor{FromSlice([]float64{1}, 1)}, GradOptions{}) },
		"int64[2] on cpu has no gradient":            func() { FromSlice([]int64{1, 2}, 2).RequireGrad() },
		"was not computed from a leaf":               func() { Gradients(Gradients(x.Mul(x).Sum())[x].Sum()) },
		"has no derivative that is recorded; Detach": func() { RunKernel(kernels.Neg, nil, []Spec{x.Spec()}, x) },
	} {
		if err := Try(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	if g := Grad([]*Tensor{y}, []*Tensor{z}, GradOptions{AllowUnused: true}); g[0] != nil {
		t.Errorf("gradient %v of what nothing depends on, want nil", g[0])
	}
}

// TestTrainingInsideInferIsRefused: it would learn nothing.
func TestTrainingInsideInferIsRefused(t *testing.T) {
	w := FromSlice([]float64{1, 2}, 2).RequireGrad()
	losses := map[string]func(t *Tape) *Tensor{
		"of an input": func(t *Tape) *Tensor { return t.Input(storage.From([]float64{3, 4}, 2)).Mul(w).Sum() },
		"cross entropy": func(t *Tape) *Tensor {
			return CrossEntropy(t.Input(storage.From([]float64{3, 4}, 1, 2)).Add(w), t.Input(storage.From([]uint8{1}, 1)))
		},
	}
	for name, loss := range losses {
		err := Infer(func(t *Tape) error { Gradients(loss(t)); return nil })
		if !errors.Is(err, ErrState) {
			t.Errorf("%s: error %v, want one of kind %v", name, err, ErrState)
		}
		err = Step(func(t *Tape) error {
			NoGrad(func() { Gradients(loss(t)) })
			return nil
		})
		if !errors.Is(err, ErrState) {
			t.Errorf("%s, NoGrad: error %v, want one of kind %v", name, err, ErrState)
		}
	}
}

// TestGraphsAreReleased: a second backward pass needs RetainGraph, and results that the
// first has released are refused, not overwritten.
func TestGraphsAreReleased(t *testing.T) {
	for _, retain := range []bool{false, true} {
		err := Step(func(tape *Tape) error {
			x := input(tape)
			h := x.Exp()
			y := h.Mul(h).Mul(h).Sum()
			first := Grad([]*Tensor{y}, []*Tensor{x}, GradOptions{RetainGraph: retain})
			want := Values[float64](first[0])
			for range 3 { // takes the memory that was released
				x.Exp().Sum()
			}
			if !slices.Equal(Values[float64](first[0]), want) {
				t.Errorf("retain %v: the gradient has changed", retain)
			}
			y.Item()
			if again := Try(func() {
				second := Grad([]*Tensor{y}, []*Tensor{x}, GradOptions{})
				if got := Values[float64](second[0]); !slices.Equal(got, want) {
					t.Errorf("second pass %v, want %v", got, want)
				}
			}); (again == nil) != retain || again != nil && !errors.Is(again, ErrState) {
				t.Errorf("retain %v: second pass: error %v", retain, again)
			}
			if err := Try(func() { Values[float64](h) }); !retain && !errors.Is(err, ErrState) {
				t.Errorf("values of a released result: error %v", err)
			}
			if _, err := storage.Read[float64](h.array); !retain && !errors.Is(err, ErrState) {
				t.Errorf("storage.Read of a released result: error %v", err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("retain %v: %v", retain, err)
		}
	}
}

// TestResultsMayBeReordered by the caller, whose list of them is not the one that is recorded.
func TestResultsMayBeReordered(t *testing.T) {
	x := Leaf(storage.From([]float64{1, 2, 3}, 3))
	rows := x.Unbind(0)
	slices.Reverse(rows)
	grads := Gradients(rows[0].MulScalar(10).Add(rows[2]))
	if got := Values[float64](grads[x]); !slices.Equal(got, []float64{1, 0, 10}) {
		t.Errorf("gradient %v; want [1 0 10]", got)
	}
}
