package tensors_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// TestFormatsAreSavedAsAttributes: names of axes, scales and zero points are there again in files with attributes, and
// refused by other formats.
func TestFormatsAreSavedAsAttributes(t *testing.T) {
	x, err := tensor.NewFormat(storage.From([]int8{1, 2, 3, 4, 5, 6}, 2, 3), tensor.Format{
		Names:     []string{"row", "channel"},
		Quantized: &tensor.Quantization{Scales: []float64{0.5, 2, 1}, ZeroPoints: []int{0, 1, 2}, Axis: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{".h5", ".h5ck"} {
		name := filepath.Join(t.TempDir(), "q"+ext)
		if err := tensors.Save(name, x); err != nil {
			t.Fatal(err)
		}
		y, err := tensors.Open(name, "q")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(y.Format(), x.Format()) || !y.IsLazy() {
			t.Errorf("%s: format %+v, want %+v", ext, y.Format(), x.Format())
		}
		row, err := tensors.Open(name, "q[1]")
		if err != nil {
			t.Fatal(err)
		}
		mean := row.Dequantize().Mean(row.Axis("channel"))
		if got, want := tensor.Values[float32](row.Dequantize()), []float32{2, 8, 4}; !slices.Equal(got, want) || mean.Item() != 14./3 && mean.Item() != float64(float32(14./3)) {
			t.Errorf("%s: row %v of mean %v, want %v", ext, got, mean.Item(), want)
		}
		all, err := tensors.LoadAll(name)
		if err != nil || !reflect.DeepEqual(all["q"].Format(), x.Format()) {
			t.Errorf("%s: format %+v, error %v", ext, all["q"].Format(), err)
		}
	}
	if err := tensors.Save(filepath.Join(t.TempDir(), "q.npy"), x); err == nil {
		t.Error("a quantized tensor is saved as npy")
	}
	if err := tensors.Save(filepath.Join(t.TempDir(), "q.npy"), x.Unnamed().Dequantize()); err != nil {
		t.Error(err)
	}
}

// TestWritersKeepFormats: Create writes the attributes, too.
func TestWritersKeepFormats(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := tensors.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.FromSlice([]float32{1, 2}, 1, 2).Rename("row", "")
	if err := errors.Join(w.Write(t.Context(), "group/x", x, tensors.Layout{}), w.Close()); err != nil {
		t.Fatal(err)
	}
	y, err := tensors.Open(name, "group/x")
	if err != nil || !slices.Equal(y.Names(), []string{"row", ""}) {
		t.Errorf("axes %q, error %v", y.Names(), err)
	}
}

// TestDimensionsNameAxes: dimensions of NetCDF are the names of axes, and so are labels and dimension scales of h5py.
func TestDimensionsNameAxes(t *testing.T) {
	x, err := tensors.Open("../serialize/netcdf/testdata/unlimited.nc", "short")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := x.Names(), []string{"time", "x"}; !slices.Equal(got, want) {
		t.Errorf("axes %q, want %q", got, want)
	}
	mean := x.Cast(dtype.Float64).Mean(x.Axes("x")...)
	if !slices.Equal(mean.Names(), []string{"time"}) {
		t.Errorf("axes %q of a mean", mean.Names())
	}
	name := filepath.Join(t.TempDir(), "x.h5")
	pythontest.Run(t, []string{"h5py"}, fmt.Sprintf(`import h5py
with h5py.File(%q, "w") as f:
    x = f.create_dataset("x", data=[[[1.0, 2]]])
    f["g/rows"] = [0.0]
    f["g/rows"].make_scale("the rows")
    x.dims[0].attach_scale(f["g/rows"])
    x.dims[2].label = "channels"`, name))
	if x, err = tensors.Open(name, "x"); err != nil || !slices.Equal(x.Names(), []string{"rows", "", "channels"}) {
		t.Errorf("axes %q, error %v", x.Names(), err)
	}
}
