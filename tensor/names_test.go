package tensor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/linalg"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

var axisNames = []string{"m", "n", "c", "h", "w", "d"}

// TestOperationsKeepNamesOrRefuse: every registered call names the axes of its result, whose
// value and gradients are those without names, or refuses by name.
func TestOperationsKeepNamesOrRefuse(t *testing.T) {
	refused := map[string]bool{}
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		in := tensortest.Draw(s, dtype.Float64)
		leaves := tensortest.Leaves(in)
		sizes := map[string][]int{}
		named := make([]*tensor.Tensor, len(in))
		for i, x := range leaves {
			names := axisNames[len(axisNames)-x.Rank():]
			for axis, name := range names {
				sizes[name] = append(sizes[name], x.Shape()[axis])
			}
			named[i] = x.RefineNames(names...)
		}
		var y *tensor.Tensor
		err := tensor.Try(func() { y = s.Call(named...) })
		if err != nil {
			if !errors.Is(err, tensor.ErrState) && !errors.Is(err, tensor.ErrShape) || strings.HasPrefix(err.Error(), ":") {
				t.Fatalf("error %v, want a refusal of names", err)
			}
			refused[s.Name] = true
			return
		}
		for _, name := range y.Names() {
			if name != "" && sizes[name] == nil {
				t.Errorf("axes %q; no operand has %q", y.Names(), name)
			}
		}
		plain := tensortest.Leaves(in)
		want := s.Call(plain...)
		tensortest.Near(t, "value", tensor.Values[float64](y), tensor.Values[float64](want), 0)
		if !y.RequiresGrad() {
			return
		}
		got, unnamed := squareGradients(s, y, leaves), squareGradients(s, want, plain)
		for i := range got {
			if (got[i] == nil) != (unnamed[i] == nil) {
				t.Fatalf("gradient %d: %v, without names %v", i, got[i], unnamed[i])
			}
			if got[i] == nil {
				continue
			}
			if got[i].Names() != nil {
				t.Errorf("gradient %d has axes %q", i, got[i].Names())
			}
			tensortest.Near(t, "gradient", tensor.Values[float64](got[i]), tensor.Values[float64](unnamed[i]), 0)
		}
	})
	t.Logf("%d names of samples refuse names of axes: %v", len(refused), refused)
}

// squareGradients returns the gradients of Σ y² by a backward pass that is recorded, if it can be.
func squareGradients(s tensortest.Sample, y *tensor.Tensor, leaves []*tensor.Tensor) []*tensor.Tensor {
	var floats []*tensor.Tensor
	for _, x := range leaves {
		if x.RequiresGrad() {
			floats = append(floats, x)
		}
	}
	refuses := slices.ContainsFunc(noSecond, func(name string) bool { return strings.HasPrefix(s.Name, name) })
	return tensor.Grad([]*tensor.Tensor{y.Mul(y).Sum()}, floats, tensor.GradOptions{CreateGraph: !refuses, AllowUnused: true})
}

// TestNamesAreTransformedWithViews pins the axes that keep, move and lose their names.
func TestNamesAreTransformedWithViews(t *testing.T) {
	x := tensor.Key{Seed: 1}.Rand(dtype.Float32, 2, 3, 4).Rename("n", "c", "w")
	other := tensor.Key{Seed: 1}.Rand(dtype.Float32, 4, 5).Rename("w", "k")
	for _, c := range []struct {
		act  string
		got  *tensor.Tensor
		want []string
	}{
		{"slice", x.Slice(1, 0, 2, 1), []string{"n", "c", "w"}},
		{"slice of one", x.Narrow(1, 1, 1), []string{"n", "c", "w"}},
		{"select", x.Select(x.Axis("c"), 1), []string{"n", "w"}},
		{"index", x.Index("0, None, ::-1, None"), []string{"", "c", "", "w"}},
		{"index with an ellipsis", x.Index("None, ..., 0"), []string{"", "n", "c"}},
		{"diagonal", x.Diagonal(0, 0, 1), []string{"w", ""}},
		{"permute", x.Permute(-1, 0, 1), []string{"w", "n", "c"}},
		{"T", x.T(), []string{"n", "w", "c"}},
		{"flip", x.Flip(0), []string{"n", "c", "w"}},
		{"unsqueeze", x.Unsqueeze(1), []string{"n", "", "c", "w"}},
		{"squeeze", x.Unsqueeze(1).Squeeze(1), []string{"n", "c", "w"}},
		{"expand", x.Expand(5, 2, 3, 4), []string{"", "n", "c", "w"}},
		{"unfold", x.Unfold(2, 2, 1), []string{"n", "c", "w", ""}},
		{"flatten", x.Flatten(1), []string{"n", ""}},
		{"reshape", x.Reshape(6, 4), []string{"", "w"}},
		{"reshape that splits", x.Reshape(2, 3, 2, 2), []string{"n", "c", "", ""}},
		{"sum", x.Sum(x.Axis("c")), []string{"n", "w"}},
		{"mean of two", x.Mean(x.Axes("n", "w")...), []string{"c"}},
		{"max keeping", x.Max(x.Axis("c"), tensor.KeepDims), []string{"n", "c", "w"}},
		{"sum of all", x.Sum(), nil},
		{"argmax", x.ArgMax(-1), []string{"n", "c"}},
		{"matmul", x.MatMul(other), []string{"n", "c", "k"}},
		{"add", x.Add(x.Select(0, 0)), []string{"n", "c", "w"}},
		{"add with a tensor without names", x.Unnamed().Add(x.Select(0, 0)), []string{"", "c", "w"}},
		{"cat", tensor.Cat(1, x, x), []string{"n", "c", "w"}},
		{"cast", x.Cast(dtype.Float64), []string{"n", "c", "w"}},
		{"refine", x.Rename("n", "", "w").RefineNames("...", "c", "w"), []string{"n", "c", "w"}},
		{"rename", x.Rename("...", "width"), []string{"n", "c", "width"}},
		{"align to", x.AlignTo("w", "...", "new"), []string{"w", "n", "c", "new"}},
		{"align as", x.Select(0, 0).AlignAs(x.T()), []string{"n", "w", "c"}},
		{"clone", x.Detach().CloneDetached(), []string{"n", "c", "w"}},
		{"unnamed", x.Unnamed(), nil},
	} {
		if !slices.Equal(c.got.Names(), c.want) {
			t.Errorf("%s: axes %q, want %q", c.act, c.got.Names(), c.want)
		}
	}
}

func TestUnlikeNamesAreErrors(t *testing.T) {
	x := tensor.Zeros(dtype.Float32, 3, 3).Rename("a", "b")
	for _, c := range []struct {
		want string
		f    func()
	}{
		{`add: axis 1 of ["b" "a"] meets "b"; Rename, or AlignAs`, func() { x.Add(x.T()) }},
		{`add: the operands have an axis ["b" "b"] in different places; call AlignAs first`, func() { x.Rename("b", "").Add(x.Rename("", "b")) }},
		{`axis: "z" is no name of an axis of [3 3] with names ["a" "b"]`, func() { x.Sum(x.Axis("z")) }},
		{`refine names: axis 0 is called "a", not "b"; Rename changes names`, func() { x.RefineNames("b", "a") }},
		{`rename: names ["a"] for [3 3]; want a different one for each axis, or ""`, func() { x.Rename("a") }},
		{`align to: axes ["b"] of ["a" "b"] are not among ["a"]; "..." stands for them`, func() { x.AlignTo("a") }},
		{`inv: has no rule for named axes, ["a" "b"]; call Unnamed first`, func() { linalg.Inv(x) }},
	} {
		if err := tensor.Try(c.f); fmt.Sprint(err) != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// TestGradientsPassRenamedLeaves: names are a view, which gradients flow through.
func TestGradientsPassRenamedLeaves(t *testing.T) {
	x := tensor.Leaf(storage.From([]float32{1, 2, 3, 4}, 2, 2))
	n := x.RefineNames("r", "c")
	y := n.Mul(n.AlignTo("c", "r").AlignAs(n)).Sum(n.Axis("r")).Unnamed().Sum()
	d := tensor.Grad([]*tensor.Tensor{y}, []*tensor.Tensor{x}, tensor.GradOptions{CreateGraph: true})[0]
	if got, want := tensor.Values[float32](d), []float32{2, 4, 6, 8}; !slices.Equal(got, want) || d.Names() != nil {
		t.Errorf("gradient %v with axes %q, want %v", got, d.Names(), want)
	}
	d.Sum().Backward()
	if got, want := tensor.Values[float32](x.Grad), []float32{2, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("second derivative %v, want %v", got, want)
	}
}
