// Package autograd computes derivatives of functions of tensors: products with Jacobians,
// whole Jacobians and Hessians, as torch.autograd.functional does.
//
// A function may be called several times and must compute the same each time. Its arguments
// are fresh leaves with the values of xs; results are constants. An argument that the function
// does not use has a derivative of zeros. Errors are panics with *[tensor.Error], as in
// expressions.
package autograd

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// A Func is a function of tensors.
type Func func(xs ...*tensor.Tensor) *tensor.Tensor

// VJP returns y = f(xs...) and vᵀ·J, the gradients of Σ v·y with respect to each x, for v of
// the shape of y. A nil v is 1 for a y of one element.
func VJP(f Func, v *tensor.Tensor, xs ...*tensor.Tensor) (y *tensor.Tensor, grads []*tensor.Tensor) {
	y, xs = call(f, xs)
	return y.Detach(), constants(gradients(y, v, xs, tensor.GradOptions{}))
}

// JVP returns y = f(xs...) and J·v, the derivative of y in the direction vs, which have the
// shapes of xs. It differentiates vᵀ·J with respect to v, so that f needs second derivatives.
func JVP(f Func, vs []*tensor.Tensor, xs ...*tensor.Tensor) (y, dy *tensor.Tensor) {
	const act = "jvp"
	if len(vs) != len(xs) {
		tensor.Fail(act, tensor.ErrShape, "%d directions for %d arguments", len(vs), len(xs))
	}
	y, xs = call(f, xs)
	for i, v := range vs {
		if v.DType() != xs[i].DType() || !slices.Equal(v.Shape(), xs[i].Shape()) {
			tensor.Fail(act, tensor.ErrShape, "direction %d is %v %v; want %v %v", i, v.DType(), v.Shape(), xs[i].DType(), xs[i].Shape())
		}
	}
	w := zeros(y).RequireGrad()
	var sums, directions []*tensor.Tensor
	for i, g := range gradients(y, w, xs, tensor.GradOptions{CreateGraph: true}) {
		if g.RequiresGrad() {
			sums, directions = append(sums, g), append(directions, vs[i])
		}
	}
	dy = zeros(y)
	if len(sums) > 0 {
		if d := tensor.Grad(sums, []*tensor.Tensor{w}, tensor.GradOptions{Incoming: directions, AllowUnused: true})[0]; d != nil {
			dy = d.Detach()
		}
	}
	return y.Detach(), dy
}

// Jacobian returns the derivatives of every element of f(xs...) with respect to every element
// of each x, in the shape of the result followed by the shape of x. It makes one backward pass
// for each element of the result.
func Jacobian(f Func, xs ...*tensor.Tensor) []*tensor.Tensor {
	y, xs := call(f, xs)
	return constants(jacobian(y, xs, tensor.GradOptions{RetainGraph: true}))
}

// Hessian returns the second derivatives of f(xs...), of one element, with respect to the
// elements of x i and x k at [i][k], in the shapes of the two, one after the other.
func Hessian(f Func, xs ...*tensor.Tensor) [][]*tensor.Tensor {
	y, xs := call(f, xs)
	wantScalar("hessian", y)
	rows := make([][]*tensor.Tensor, len(xs))
	for i, g := range gradients(y, nil, xs, tensor.GradOptions{CreateGraph: true}) {
		rows[i] = constants(jacobian(g, xs, tensor.GradOptions{RetainGraph: true}))
	}
	return rows
}

// HVP returns f(xs...), of one element, and the product of its Hessian with vs, which have the
// shapes of xs.
func HVP(f Func, vs []*tensor.Tensor, xs ...*tensor.Tensor) (y *tensor.Tensor, products []*tensor.Tensor) {
	const act = "hvp"
	if len(vs) != len(xs) {
		tensor.Fail(act, tensor.ErrShape, "%d directions for %d arguments", len(vs), len(xs))
	}
	y, xs = call(f, xs)
	wantScalar(act, y)
	var from, directions []*tensor.Tensor
	for i, g := range gradients(y, nil, xs, tensor.GradOptions{CreateGraph: true}) {
		if g.RequiresGrad() {
			from, directions = append(from, g), append(directions, vs[i])
		}
	}
	products = make([]*tensor.Tensor, len(xs))
	if len(from) > 0 {
		products = tensor.Grad(from, xs, tensor.GradOptions{Incoming: directions, AllowUnused: true})
	}
	return y.Detach(), constants(orZeros(products, xs))
}

// call returns f of leaves with the values of xs, and these.
func call(f Func, xs []*tensor.Tensor) (y *tensor.Tensor, leaves []*tensor.Tensor) {
	leaves = make([]*tensor.Tensor, len(xs))
	for i, x := range xs {
		leaves[i] = x.Detach().RequireGrad()
	}
	return f(leaves...), leaves
}

func wantScalar(act string, y *tensor.Tensor) {
	if y.Len() != 1 {
		tensor.Fail(act, tensor.ErrShape, "of a result of shape %v; want one element", y.Shape())
	}
}

// gradients returns the gradients of Σ v·y with respect to xs.
func gradients(y, v *tensor.Tensor, xs []*tensor.Tensor, o tensor.GradOptions) []*tensor.Tensor {
	if !y.RequiresGrad() {
		return orZeros(make([]*tensor.Tensor, len(xs)), xs)
	}
	o.AllowUnused = true
	if v != nil {
		o.Incoming = []*tensor.Tensor{v}
	}
	return orZeros(tensor.Grad([]*tensor.Tensor{y}, xs, o), xs)
}

// jacobian returns the derivatives of y with respect to xs.
func jacobian(y *tensor.Tensor, xs []*tensor.Tensor, o tensor.GradOptions) []*tensor.Tensor {
	n := y.Len()
	rows := make([][]*tensor.Tensor, len(xs))
	unit := tensor.Eye(y.DType(), n).To(y.Device())
	for k := range n {
		for i, g := range gradients(y, unit.Select(0, k).Reshape(y.Shape()...), xs, o) {
			rows[i] = append(rows[i], g.Unsqueeze(0))
		}
	}
	all := make([]*tensor.Tensor, len(xs))
	for i, x := range xs {
		shape := slices.Concat(y.Shape(), x.Shape())
		if n == 0 {
			all[i] = tensor.Zeros(x.DType(), shape...).To(x.Device())
			continue
		}
		all[i] = tensor.Cat(0, rows[i]...).Reshape(shape...)
	}
	return all
}

// orZeros replaces gradients that are nil by zeros.
func orZeros(grads, xs []*tensor.Tensor) []*tensor.Tensor {
	for i, g := range grads {
		if g == nil {
			grads[i] = zeros(xs[i])
		}
	}
	return grads
}

func zeros(x *tensor.Tensor) *tensor.Tensor {
	return tensor.Zeros(x.DType(), x.Shape()...).To(x.Device())
}

func constants(xs []*tensor.Tensor) []*tensor.Tensor {
	for i, x := range xs {
		xs[i] = x.Detach()
	}
	return xs
}
