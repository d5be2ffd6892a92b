package tensors_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// extensions belong to formats that are written and hold an array of two axes.
var extensions = []string{".h5", ".npy", ".npz", ".pt", ".safetensors", ".h5dn", ".h5ck", ".csv"}

// TestSavedTensorsAreLoaded saves a tensor by every format, and reads it from the file and into memory.
func TestSavedTensorsAreLoaded(t *testing.T) {
	want := []float32{1, 2, 3, 4, 5, 6}
	for _, ext := range extensions {
		name := filepath.Join(t.TempDir(), "x"+ext)
		if err := tensors.Save(name, tensor.FromSlice(want, 2, 3).AddScalar(0)); err != nil {
			t.Errorf("%s: %v", ext, err)
			continue
		}
		x, err := tensors.Load(name)
		if err != nil {
			t.Errorf("%s: %v", ext, err)
			continue
		}
		if got := tensor.Values[float32](x); !slices.Equal(got, want) || !slices.Equal(x.Shape(), []int{2, 3}) || x.IsLazy() {
			t.Errorf("%s: %v %v, want %v", ext, x.Array(), got, want)
		}
		lazy, err := tensors.Open(name, "")
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC() // the file is reachable through its tensor alone
		runtime.GC()
		if got := tensor.Values[float32](lazy.Sum(0)); !slices.Equal(got, []float32{5, 7, 9}) {
			t.Errorf("%s: sums %v", ext, got)
		}
	}
}

// TestClosedFilesAreErrors uses tensors of every format after Close.
func TestClosedFilesAreErrors(t *testing.T) {
	for _, ext := range extensions {
		name := filepath.Join(t.TempDir(), "x"+ext)
		if err := tensors.Save(name, tensor.Key{Seed: 1}.Rand(dtype.Float32, 300, 400)); err != nil {
			t.Fatal(err)
		}
		f, err := tensors.OpenFile(name)
		if err != nil {
			t.Fatal(err)
		}
		x, err := f.Get("")
		if err != nil {
			t.Fatal(err)
		}
		y := x.MulScalar(2)
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", ext, err)
		}
		for i, use := range []func(){func() { tensor.Values[float32](x) }, func() { y.Sum() }, func() { x.CPU() }} {
			if err := tensor.Try(use); x.IsLazy() && !errors.Is(err, tensor.ErrState) {
				t.Errorf("%s: use %d after Close: error %v, want one of kind ErrState", ext, i, err)
			}
		}
	}
}

// TestMapsOfTensors saves several tensors with metadata, and finds them by name.
func TestMapsOfTensors(t *testing.T) {
	all := map[string]*tensor.Tensor{"a/b": tensor.Arange(dtype.Int64, 0, 4, 1), "/c": tensor.Ones(dtype.Float64, 2, 2)}
	for _, ext := range []string{".h5", ".npz", ".pt", ".safetensors", ".h5dn"} {
		name := filepath.Join(t.TempDir(), "all"+ext)
		if err := tensors.SaveAll(name, all, nil); err != nil {
			t.Fatal(err)
		}
		loaded, err := tensors.LoadAll(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(loaded)); !slices.Equal(got, []string{"a/b", "c"}) {
			t.Errorf("%s: names %q", ext, got)
		}
		f, err := tensors.OpenFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string][]int64{"a/b": {0, 1, 2, 3}, "/a/b[::-2]": {3, 1}, "c[0]": {1, 1}, "a/b[[3, 0]]": {3, 0}} {
			x, err := f.Get(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := tensor.Values[int64](x); !slices.Equal(got, want) {
				t.Errorf("%s: %s is %v, want %v", ext, path, got, want)
			}
		}
		if _, err := f.Get("d"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a name that is not there: %v", ext, err)
		}
		if _, err := f.Get(""); !errors.Is(err, storage.ErrState) {
			t.Errorf("%s: the only one of two: %v", ext, err)
		}
		f.Close()
	}
}

// TestSavesThatFailChangeNothing stops saving by its context, and by operands that cannot be read.
func TestSavesThatFailChangeNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	folder := t.TempDir()
	data := filepath.Join(folder, "data.h5")
	if err := tensors.Save(data, tensor.Zeros(dtype.Float32, 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	f, err := tensors.OpenFile(data)
	if err != nil {
		t.Fatal(err)
	}
	x, err := f.Get("data")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, ext := range extensions {
		name := filepath.Join(folder, "x"+ext)
		if err := os.WriteFile(name, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := tensors.Save(name, x.Neg()); !errors.Is(err, tensor.ErrState) {
			t.Errorf("%s: of a closed file: %v", ext, err)
		}
		if err := tensors.SaveContext(ctx, name, tensor.Zeros(dtype.Float32, 1000, 1000)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", ext, err)
		}
		if err := tensors.Save(name, nil); err == nil {
			t.Errorf("%s: no tensor was saved", ext)
		}
		if b, err := os.ReadFile(name); string(b) != "old" {
			t.Errorf("%s: the old file has %d bytes, %v", ext, len(b), err)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != len(extensions)+1 {
		t.Errorf("files %q, %v", files, err)
	}
}

// TestPyTorchLoadsTensors loads a tensor and a dict of tensors with torch.load.
func TestPyTorchLoadsTensors(t *testing.T) {
	folder := t.TempDir()
	x := tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	if err := errors.Join(tensors.Save(folder+"/x.pt", x), tensors.SaveAll(folder+"/all.pt", map[string]*tensor.Tensor{"w": x}, nil)); err != nil {
		t.Fatal(err)
	}
	got := pythontest.Run(t, []string{"torch"}, fmt.Sprintf("import torch\nx = torch.load(%q)\ny = torch.load(%q)\nprint(x.tolist(), {k: v.tolist() for k, v in y.items()})\ntorch.save(x + 1, %q)", folder+"/x.pt", folder+"/all.pt", folder+"/y.pt"))
	if want := "[[1.0, 2.0], [3.0, 4.0]] {'w': [[1.0, 2.0], [3.0, 4.0]]}\n"; got != want {
		t.Errorf("PyTorch has %q, want %q", got, want)
	}
	y, err := tensors.Load(folder + "/y.pt")
	if err != nil {
		t.Fatal(err)
	}
	if got := tensor.Values[float32](y); !slices.Equal(got, []float32{2, 3, 4, 5}) {
		t.Errorf("from PyTorch: %v", got)
	}
}
