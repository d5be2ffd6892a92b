package autograd_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/autograd"
)

func Example() {
	f := func(xs ...*tensor.Tensor) *tensor.Tensor { return xs[0].Mul(xs[0]).Mul(xs[0]).Sum() }
	x := tensor.FromSlice([]float64{1, 2}, 2)
	fmt.Println(tensor.Values[float64](autograd.Jacobian(f, x)[0]))
	fmt.Println(tensor.Values[float64](autograd.Hessian(f, x)[0][0]))
	_, dy := autograd.JVP(f, []*tensor.Tensor{tensor.FromSlice([]float64{1, 1}, 2)}, x)
	fmt.Println(dy.Item())
	// Output:
	// [3 12]
	// [6 0 0 12]
	// 15
}

// products are functions with a known Jacobian: y = a·b, by rows, where a is 2×2 and b has 2.
func products(xs ...*tensor.Tensor) *tensor.Tensor { return xs[0].Mul(xs[1]).Exp() }

// TestProductsAgreeWithJacobians: VJP and JVP are products with the Jacobian, HVP with the Hessian, on
// the CPU, in steps and on GPUs.
func TestProductsAgreeWithJacobians(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		if err := tensor.Step(func(tape *tensor.Tape) error {
			in := func(seed uint64, shape ...int) *tensor.Tensor {
				return tape.Input(tensor.Key{Seed: seed}.Rand(dtype.Float64, shape...).To(d).Array())
			}
			a, b, v := in(1, 2, 3), in(2, 3), in(3, 2, 3)
			directions := []*tensor.Tensor{in(4, 2, 3), in(5, 3)}
			jacobians := autograd.Jacobian(products, a, b)
			if got, want := fmt.Sprint(jacobians[0].Shape(), jacobians[1].Shape()), "[2 3 2 3] [2 3 3]"; got != want {
				t.Errorf("%v: shapes %v, want %v", d, got, want)
			}
			y, grads := autograd.VJP(products, v, a, b)
			near(t, "value", y, products(a, b))
			_, dy := autograd.JVP(products, directions, a, b)
			want := tensor.Zeros(dtype.Float64, 6).To(d)
			for i, x := range []*tensor.Tensor{a, b} {
				j := jacobians[i].Reshape(6, x.Len())
				near(t, "vjp", grads[i].Reshape(1, x.Len()), v.Reshape(1, 6).MatMul(j))
				want = want.Add(j.MatMul(directions[i].Reshape(x.Len(), 1)).Reshape(6))
			}
			near(t, "jvp", dy.Reshape(6), want)
			sum := func(xs ...*tensor.Tensor) *tensor.Tensor { return products(xs...).Sum() }
			hessian := autograd.Hessian(sum, a, b)
			_, hv := autograd.HVP(sum, directions, a, b)
			for i, x := range []*tensor.Tensor{a, b} {
				want := tensor.Zeros(dtype.Float64, x.Len(), 1).To(d)
				for k, z := range []*tensor.Tensor{a, b} {
					want = want.Add(hessian[i][k].Reshape(x.Len(), z.Len()).MatMul(directions[k].Reshape(z.Len(), 1)))
				}
				near(t, "hvp", hv[i].Reshape(x.Len(), 1), want)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		cudatest.Reset()
	}
}

func near(t *testing.T, what string, got, want *tensor.Tensor) {
	t.Helper()
	if !slices.Equal(got.Shape(), want.Shape()) {
		t.Fatalf("%s: shape %v, want %v", what, got.Shape(), want.Shape())
	}
	for i, g := range tensor.Values[float64](got) {
		if w := tensor.Values[float64](want)[i]; g-w > 1e-9 || w-g > 1e-9 {
			t.Errorf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

// TestIndependentArgumentsHaveZeros: a constant function, an unused argument, and a linear function, whose second
// derivatives are 0.
func TestIndependentArgumentsHaveZeros(t *testing.T) {
	x, v := tensor.FromSlice([]float64{1, 2}, 2), tensor.FromSlice([]float64{3, 4}, 2)
	constant := func(xs ...*tensor.Tensor) *tensor.Tensor { return v }
	linear := func(xs ...*tensor.Tensor) *tensor.Tensor { return xs[0].Sum() }
	vs := []*tensor.Tensor{v, v}
	_, dy := autograd.JVP(constant, vs, x, x)
	near(t, "constant", dy, tensor.Zeros(dtype.Float64, 2))
	_, grads := autograd.VJP(linear, nil, x, x)
	near(t, "unused", grads[1], tensor.Zeros(dtype.Float64, 2))
	if _, dy = autograd.JVP(linear, vs, x, x); dy.Item() != 7 {
		t.Errorf("linear: %v, want 7", dy.Item())
	}
	near(t, "hessian", autograd.Hessian(linear, x, x)[0][1], tensor.Zeros(dtype.Float64, 2, 2))
	_, hv := autograd.HVP(linear, vs, x, x)
	near(t, "hvp", hv[0], tensor.Zeros(dtype.Float64, 2))
	empty := autograd.Jacobian(func(xs ...*tensor.Tensor) *tensor.Tensor { return xs[0].Slice(0, 0, 0, 1) }, x)
	near(t, "empty", empty[0], tensor.Zeros(dtype.Float64, 0, 2))
	for want, f := range map[string]func(){
		"jvp: 1 directions for 2 arguments":                   func() { autograd.JVP(linear, vs[:1], x, x) },
		"jvp: direction 0 is float64 [1]; want float64 [2]":   func() { autograd.JVP(linear, []*tensor.Tensor{v.Slice(0, 0, 1, 1)}, x) },
		"hessian: of a result of shape [2]; want one element": func() { autograd.Hessian(constant, x) },
		"hvp: 0 directions for 1 arguments":                   func() { autograd.HVP(linear, nil, x) },
	} {
		if err := tensor.Try(f); fmt.Sprint(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
