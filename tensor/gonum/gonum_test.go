package gonum_test

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/gonum"
)

// A matrix of gonum and a tensor share their elements.
func Example() {
	m := mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6})
	x := gonum.FromDense(m)
	x.Set(10, 0, 0)
	fmt.Println(m.At(0, 0), x.Sum(1))
	y := tensor.New([][]float64{{2, 0}, {1, 1}}, tensor.Float64)
	fmt.Println(mat.Det(gonum.Dense(y)))
	// Output:
	// 10 [15. 15.] float64[2]
	// 2
}

// TestPartsOfMatricesAreShared: slices of either side have rows apart.
func TestPartsOfMatricesAreShared(t *testing.T) {
	m := mat.NewDense(3, 4, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	part := gonum.FromDense(m.Slice(1, 3, 1, 3).(*mat.Dense))
	if got, want := tensor.Values[float64](part), []float64{5, 6, 9, 10}; !slices.Equal(got, want) {
		t.Errorf("part %v, want %v", got, want)
	}
	column := gonum.FromVecDense(m.ColView(2).(*mat.VecDense))
	if got, want := tensor.Values[float64](column), []float64{2, 6, 10}; !slices.Equal(got, want) {
		t.Errorf("column %v, want %v", got, want)
	}
	x := gonum.FromDense(m)
	gonum.Dense(x.Index("1:, 1:3")).Set(1, 1, -1)
	gonum.VecDense(x.Select(1, 3)).SetVec(0, -2)
	if m.At(2, 2) != -1 || m.At(0, 3) != -2 {
		t.Errorf("what is written to parts of a tensor does not reach the matrix: %v", x)
	}
}

// TestWhatGonumCannotSeeIsRefused, with the way out.
func TestWhatGonumCannotSeeIsRefused(t *testing.T) {
	x := tensor.Zeros(tensor.Float64, 2, 3)
	for want, f := range map[string]func(){
		"dense: [3 2] with strides [1 3]; make it Contiguous first":                  func() { gonum.Dense(x.T()) },
		"dense: of float32; Cast it to float64 first":                                func() { gonum.Dense(x.Float()) },
		"dense: of [6]; want 2 axes, and elements, which matrices of gonum have":     func() { gonum.Dense(x.Flatten()) },
		"dense: of a tensor on meta; move it by CPU first":                           func() { gonum.Dense(tensor.NewMeta(tensor.Float64, 2, 3)) },
		"vec dense: [3] with strides [-1]; make it Contiguous first":                 func() { gonum.VecDense(x.Select(0, 0).Flip(0)) },
		"vec dense: of [0]; want 1 axes, and elements, which matrices of gonum have": func() { gonum.VecDense(x.Flatten().Slice(0, 0, 0, 1)) },
	} {
		if err := tensor.Try(f); err == nil || err.Error() != want {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
