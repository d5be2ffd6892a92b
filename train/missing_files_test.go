package train_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/train"
)

// foundFiles are what is at the paths of one file.
type foundFiles map[string]dataconfig.Found

func (foundFiles) Glob(pattern string) ([]string, error) { return []string{pattern}, nil }

func (f foundFiles) List(_, group string) (paths []string, _ error) {
	for path := range f {
		if strings.HasPrefix(path, group) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

func (f foundFiles) Find(file, path string) (dataconfig.Found, error) {
	found, ok := f[path]
	if !ok {
		return found, fmt.Errorf("%s: no %s", file, path)
	}
	return found, nil
}

func (foundFiles) Attribute(string, string, string) ([]any, error) { return nil, nil }

// written returns an array as a dataset of an HDF5 file.
func written(t *testing.T, a storage.Array, layout hdf5write.Layout) storage.Array {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteWith("/x", a, layout); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	d, err := file.Dataset("/x")
	if err != nil {
		t.Fatal(err)
	}
	if a, err = d.Array(); err != nil {
		t.Fatal(err)
	}
	return a
}

// part returns n rows of a from the first on.
func part(t *testing.T, a storage.Array, first, n int) storage.Array {
	t.Helper()
	v, err := a.View.Slice(0, first, first+n, 1)
	if err != nil {
		t.Fatal(err)
	}
	return a.With(v)
}

// TestMissingInputsOfFilesAreFilled is TestMissingInputsAreFilled for inputs that are mapped
// from HDF5 files, decoded from their chunks, in episodes, or rows of different lengths:
// previous values come from the same episode, or the same row, and padding counts nowhere.
func TestMissingInputsOfFilesAreFilled(t *testing.T) {
	const rows, columns, longest = 40, 3, 5
	const first = 17 // row of the second episode
	values, list := make([]float64, rows*columns), []float64(nil)
	for i := range values {
		if values[i] = math.Sin(float64(3*i)) + float64(i%3) + 2; i%7 == 2 || i == 0 || i/columns == first {
			values[i] = nan
		}
	}
	offsets, lengths := []int64{0}, make([]int, rows)
	for row := range rows {
		lengths[row] = 1 + row%longest
		for k := range lengths[row] {
			x := 3 + math.Cos(float64(row*longest+k))
			if (row+k)%4 == 1 || k == 0 && row%9 == 0 {
				x = nan
			}
			list = append(list, x)
		}
		offsets = append(offsets, int64(len(list)))
	}
	y := make([]float32, rows)
	for i := range y {
		y[i] = float32(i%5) / 3
	}
	target := storage.From(y, rows, 1)
	table, elements := floatsOf(t, dtype.Float32, values, rows, columns), floatsOf(t, dtype.Float32, list, len(list))
	deflate := []filter.Filter{filter.Deflate(1)}
	chunked := hdf5write.Layout{Chunks: []int{7, 2}, Filters: deflate}
	ragged := func(layout hdf5write.Layout) dataconfig.Found {
		r, err := dataset.Offsets("x", written(t, elements, layout), storage.From(offsets, rows+1))
		if err != nil {
			t.Fatal(err)
		}
		return dataconfig.Found{Ragged: &r}
	}
	episodes := func(x storage.Array) foundFiles {
		return foundFiles{
			"/e/0/x": {Array: part(t, x, 0, first)}, "/e/1/x": {Array: part(t, x, first, rows-first)},
			"/e/0/y": {Array: part(t, target, 0, first)}, "/e/1/y": {Array: part(t, target, first, rows-first)},
		}
	}
	whole := func(x dataconfig.Found) foundFiles { return foundFiles{"x": x, "y": {Array: target}} }
	for _, c := range []struct {
		what, paths string
		files       foundFiles
	}{
		{"mapped", "x: x, y: y, ", whole(dataconfig.Found{Array: written(t, table, hdf5write.Layout{})})},
		{"chunked", "x: x, y: y, ", whole(dataconfig.Found{Array: written(t, table, chunked)})},
		{"mapped episodes", "x: /e/*/x, y: /e/*/y, ", episodes(written(t, table, hdf5write.Layout{}))},
		{"chunked episodes", "x: /e/*/x, y: /e/*/y, ", episodes(written(t, table, chunked))},
		{"mapped ragged", "x: x, y: y, lengths: auto, ", whole(ragged(hdf5write.Layout{}))},
		{"chunked ragged", "x: x, y: y, lengths: auto, ", whole(ragged(hdf5write.Layout{Chunks: []int{11}, Filters: deflate}))},
	} {
		isRagged, hasEpisodes := strings.Contains(c.what, "ragged"), strings.Contains(c.what, "episodes")
		for _, rule := range []string{"mean", "previous", "0.25"} {
			config := func(data, normalize string) string {
				return "data: {file: f, shuffle: none, " + data + "normalize: {x: " + normalize + ", y: none}}\nmodel: [{dense: 1}]\nloss: mse\noptimizer: adam\nbatch: 10\nepochs: 3"
			}
			run, out := fitData(t, config(c.paths+"missing: "+rule+", ", "auto"), func(cfg train.Config) (*train.Data, error) { return train.OpenData(cfg, c.files) }, storage.CPU, mode{})
			fill := run.Config.Data.Missing.For("x").Fill
			shape, filled := []int{rows, columns}, slices.Clone(values)
			before := func(i int) bool { return i >= columns && !(hasEpisodes && i/columns == first) }
			step, stored := columns, values
			if isRagged {
				shape, filled, step, stored = []int{rows, longest}, make([]float64, rows*longest), 1, list
				for row, n := range lengths {
					copy(filled[row*longest:], list[offsets[row]:][:n])
				}
				before = func(i int) bool { return i%longest > 0 }
			}
			if rule == "mean" {
				checkMeans(t, rule, fill, stored, 1, step)
			}
			for i := range filled {
				if filled[i] == filled[i] {
					continue
				}
				if filled[i] = fill[i%len(fill)]; rule == "previous" && before(i) {
					filled[i] = filled[i-step]
				}
			}
			text, err := run.Inputs[0].Normalize.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			_, want := fitOn(t, config("x: x, y: y, ", string(text)), train.Arrays{X: floatsOf(t, dtype.Float32, filled, shape...), Y: target}, storage.CPU, mode{})
			for i := range want {
				if out[i] != want[i] {
					t.Errorf("%s, %s: output %d is %v, want %v", c.what, rule, i, out[i], want[i])
					break
				}
			}
		}
	}
}
