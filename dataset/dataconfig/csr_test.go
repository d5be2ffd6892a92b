package dataconfig_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestSparseInputs have fields of values, of columns and of the lengths of rows, in files whose longest rows differ.
func TestSparseInputs(t *testing.T) {
	files := library()
	for name, m := range map[string]struct {
		values           []float32
		columns, offsets []int64
	}{"a": {[]float32{1, 2, 3}, []int64{0, 3, 1}, []int64{0, 2, 2, 3}}, "b": {[]float32{4, 5, 6}, []int64{0, 1, 2}, []int64{0, 3}}} {
		files[name+":v"], files[name+":c"], files[name+":o"] = storage.From(m.values, 3), storage.From(m.columns, 3), storage.From(m.offsets, len(m.offsets))
	}
	c := dataconfig.Config{
		File: dataconfig.Names{"a", "b"}, X: dataconfig.Path("v"), XColumns: dataconfig.Path("c"), XOffsets: dataconfig.Path("o"), Length: 4, CSR: dataconfig.Names{"x"},
	}
	if err := c.CheckSamples(); err != nil {
		t.Fatal(err)
	}
	data, err := dataconfig.Open(c, 1, files)
	if err != nil {
		t.Fatal(err)
	}
	if in := data.CSR["x"]; in != (dataconfig.CSRInput{Columns: "x columns", Lengths: "x lengths", Width: 4}) {
		t.Errorf("sparse inputs %v", data.CSR)
	}
	into, err := dataset.NewBatch(data.Train, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := data.Train.Read(*into, []int{3, 0, 1, 2}); err != nil {
		t.Fatal(err)
	}
	lengths, rows := storage.Elements[int64](into.Fields[2]), storage.Elements[float32](into.Fields[0])
	if !slices.Equal(lengths, []int64{3, 2, 0, 1}) || !slices.Equal(rows[:6], []float32{4, 5, 6, 1, 2, 0}) {
		t.Errorf("rows %v of lengths %v", rows, lengths)
	}
	c.Length, files["b:c"] = 0, storage.From([]int64{0, 1, 7}, 3)
	if _, err := dataconfig.Open(c, 1, files); !errors.Is(err, views.ErrShape) {
		t.Errorf("files of 4 and 8 columns: %v", err)
	}
	if err := c.Check(); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("a run with sparse batches: %v", err)
	}
}
