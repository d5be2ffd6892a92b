package tensor_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// TestFormatsAreKeptOrRefused: an operation handles a format and describes its result, or
// refuses it.
func TestFormatsAreKeptOrRefused(t *testing.T) {
	for name, f := range map[string]func(a storage.Array) (*tensor.Tensor, error){
		"quantized": func(a storage.Array) (*tensor.Tensor, error) {
			return tensor.NewFormat(a, tensor.Format{Quantized: &tensor.Quantization{Scale: 1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
				if s.Name == "dequantize" {
					t.Skip("makes a tensor of a format of the input")
				}
				xs := make([]*tensor.Tensor, len(s.In))
				for i, in := range s.In {
					ints := slices.Repeat([]int32{1}, product(in.Shape))
					x, err := f(storage.From(ints, in.Shape...))
					if err != nil {
						t.Fatal(err)
					}
					xs[i] = x
				}
				var y *tensor.Tensor
				err := tensor.Try(func() { y = s.Call(xs...) })
				switch {
				case errors.Is(err, tensor.ErrState):
				case err != nil:
					t.Errorf("error %v, want one of kind %v", err, tensor.ErrState)
				default:
					t.Errorf("no error, and format %+v of the result %v", y.Format(), y.Array())
				}
			})
		})
	}
}

func product(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}

func TestFormatsBecomeOrdinaryTensors(t *testing.T) {
	q, err := tensor.NewFormat(storage.From([]int8{-1, 0, 3}, 3), tensor.Format{Quantized: &tensor.Quantization{Scale: 0.5, ZeroPoint: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tensor.Values[float32](q.Dequantize()), []float32{-1, -0.5, 1}; !slices.Equal(got, want) {
		t.Errorf("dequantized %v, want %v", got, want)
	}
	at := tensor.Coordinates{Shape: []int{2, 3}, Index: storage.From([]int64{0, 2, 1, 0, 0, 2}, 3, 2)}
	s, err := tensor.NewFormat(storage.From([]float32{1, 2, 10}, 3), tensor.Format{Sparse: &at})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tensor.Values[float32](s.ToDense()), []float32{0, 0, 11, 2, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("dense %v, want %v", got, want)
	}
	n, err := tensor.NewFormat(storage.From([]float32{1, 2}, 2), tensor.Format{Names: []string{"batch"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Unnamed().MulScalar(2); !slices.Equal(tensor.Values[float32](got), []float32{2, 4}) {
		t.Errorf("%v without names", got)
	}
}

func TestFormatsAreChecked(t *testing.T) {
	a := storage.From([]float32{1, 2}, 1, 2)
	for name, f := range map[string]tensor.Format{
		"one name for two axes":  {Names: []string{"n"}},
		"a name twice":           {Names: []string{"n", "n"}},
		"quantized floats":       {Quantized: &tensor.Quantization{Scale: 1}},
		"places of another rank": {Sparse: &tensor.Coordinates{Shape: []int{2}, Index: storage.From([]int64{0}, 1, 1)}},
	} {
		if _, err := tensor.NewFormat(a, f); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPlacesOfSparseTensorsAreChecked when the tensor is made, and when a place has changed since.
func TestPlacesOfSparseTensorsAreChecked(t *testing.T) {
	for _, c := range []struct {
		index []int64
		want  string
	}{
		{[]int64{0, -1, 1, 2}, "value 0 is at index -1 of axis 1 of [2 3]"},
		{[]int64{0, 0, 2, 0}, "value 1 is at index 2 of axis 0 of [2 3]"},
		{[]int64{0, 3, 1, 2}, "value 0 is at index 3 of axis 1 of [2 3]"},
		{[]int64{0, 0, 1, 2}, ""},
	} {
		index := storage.From(slices.Clone(c.index), 2, 2)
		at := tensor.Coordinates{Shape: []int{2, 3}, Index: index}
		_, err := tensor.NewFormat(storage.From([]float32{1, 2}, 2), tensor.Format{Sparse: &at})
		checkPlaces(t, err, "new format: ", c.want)
		copy(storage.Elements[int64](index), []int64{0, 0, 0, 0})
		s, err := tensor.NewFormat(storage.From([]float32{1, 2}, 2), tensor.Format{Sparse: &at})
		if err != nil {
			t.Fatal(err)
		}
		copy(storage.Elements[int64](index), c.index)
		checkPlaces(t, tensor.Try(func() { s.ToDense() }), "to dense: ", c.want)
	}
}

func checkPlaces(t *testing.T, err error, act, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (!errors.Is(err, tensor.ErrShape) || err.Error() != act+want) {
		t.Errorf("error %v; want %q", err, act+want)
	}
}
