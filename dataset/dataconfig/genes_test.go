package dataconfig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
)

// cells are three files of AnnData: b has the genes of a in another order, c has other genes; row k of each has k+1 times the number
// of the gene.
func cells() shelf {
	files := shelf{}
	for name, genes := range map[string][]string{"a": {"g1", "g2", "g3"}, "b": {"g3", "g1", "g2"}, "c": {"g4", "g2"}} {
		var rows []float32
		var values []float32
		columns, offsets := []int32{}, []int64{0}
		for k := range 2 {
			for column, gene := range genes {
				value := float32((k + 1) * int(gene[1]-'0'))
				rows, values, columns = append(rows, value), append(values, value), append(columns, int32(column))
			}
			offsets = append(offsets, int64(len(values)))
		}
		files[name+":X"] = storage.From(rows, 2, len(genes))
		files[name+":raw/X"] = storage.From(rows, 2, len(genes))
		files[name+":X[:, [0]]"] = storage.From([]float32{rows[0], rows[len(genes)]}, 2, 1)
		files[name+":X/data"], files[name+":X/indices"], files[name+":X/indptr"] = storage.From(values, len(values)), storage.From(columns, len(columns)), storage.From(offsets, 3)
		files[name+":/X/data"], files[name+":/X/indices"], files[name+":/X/indptr"] = files[name+":X/data"], files[name+":X/indices"], files[name+":X/indptr"]
		files[name+":/var/i"], files[name+":/var/i[ [0]]"] = genes, genes[:1]
		files[name+":/var@_index"] = []any{"i"}
		files[name+":/raw/var/i"], files[name+":/raw/var@_index"] = genes, []any{"i"}
	}
	return files
}

// TestGenesByName reads the genes of several files by their names.
func TestGenesByName(t *testing.T) {
	for name, test := range map[string]struct {
		files, genes dataconfig.Names
		x            string
		want         []float32 // the first row of each file
		err          string
	}{
		"another order":       {dataconfig.Names{"a", "b"}, nil, "X", nil, "b: /X: its columns are not the genes of a: /X in the same order, from column 0 on"},
		"other genes":         {dataconfig.Names{"a", "c"}, nil, "X", nil, "not the genes of a"},
		"another column":      {dataconfig.Names{"a", "b"}, nil, "X[:, [0]]", nil, "not the genes of a"},
		"one file":            {dataconfig.Names{"b"}, nil, "X", []float32{3, 1, 2}, ""},
		"union":               {dataconfig.Names{"a", "b", "c"}, dataconfig.Names{"union"}, "X", []float32{1, 2, 3, 0, 1, 2, 3, 0, 0, 2, 0, 4}, ""},
		"raw":                 {dataconfig.Names{"a", "c"}, dataconfig.Names{"union"}, "raw/X", []float32{1, 2, 3, 0, 0, 2, 0, 4}, ""},
		"intersection":        {dataconfig.Names{"b", "a", "c"}, dataconfig.Names{"intersection"}, "X", []float32{2, 2, 2}, ""},
		"list":                {dataconfig.Names{"a", "b"}, dataconfig.Names{"g3", "g1"}, "X", []float32{3, 1, 3, 1}, ""},
		"list of one file":    {dataconfig.Names{"a"}, dataconfig.Names{"g3"}, "X", []float32{3}, ""},
		"list with a mistake": {dataconfig.Names{"a"}, dataconfig.Names{"g3", "h1"}, "X", nil, "genes: h1: no such gene"},
		"list of one twice":   {dataconfig.Names{"a"}, dataconfig.Names{"g3", "g3"}, "X", nil, "named twice"},
		"beside an index":     {dataconfig.Names{"a"}, dataconfig.Names{"union"}, "X[:, [0]]", nil, "leave out the index"},
		"no genes":            {dataconfig.Names{"a"}, dataconfig.Names{"union"}, "X/data", nil, "no input has genes"},
	} {
		c := dataconfig.Config{File: test.files, X: dataconfig.Path(test.x), Genes: test.genes}
		err := c.CheckSamples()
		var data *dataconfig.Data
		if err == nil {
			data, err = dataconfig.Open(c, 1, cells())
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v; want %q", name, err, test.err)
		}
		if err != nil || test.err != "" {
			continue
		}
		width := len(test.want) / len(test.files)
		into, err := dataset.NewBatch(data.Train, 2*len(test.files))
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]int, 2*len(test.files))
		for i := range rows {
			rows[i] = i
		}
		if err := data.Train.Read(*into, rows); err != nil {
			t.Fatal(err)
		}
		got := storage.Elements[float32](into.Fields[0])
		for i := range rows {
			want := slices.Clone(test.want[i/2*width:][:width])
			for k := range want {
				want[k] *= float32(i%2 + 1)
			}
			if !slices.Equal(got[i*width:(i+1)*width], want) {
				t.Errorf("%s: row %d is %v, want %v", name, i, got[i*width:(i+1)*width], want)
			}
		}
		if len(data.Genes) != width {
			t.Errorf("%s: genes %v", name, data.Genes)
		}
	}
}

// TestGenesOfTraining are the columns of the inputs of a model, whatever other files have.
func TestGenesOfTraining(t *testing.T) {
	c := dataconfig.Config{X: dataconfig.Path("X"), Genes: dataconfig.Names{"g4", "g1", "g3"}}
	for file, want := range map[string][]float32{"a": {0, 1, 3, 0, 2, 6}, "b": {0, 1, 3, 0, 2, 6}, "c": {4, 0, 0, 8, 0, 0}} {
		d, notes, err := c.Inputs(cells(), []dataconfig.Source{{NamedPath: dataconfig.NamedPath{Name: "x", Path: "X"}, File: file, Shape: []int{3}}})
		if err != nil || len(notes) != 1 {
			t.Fatalf("%s: %v, %v", file, notes, err)
		}
		into, err := dataset.NewBatch(d, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Read(*into, []int{0, 1}); err != nil || !slices.Equal(storage.Elements[float32](into.Fields[0]), want) {
			t.Errorf("%s: %v, %v; want %v", file, storage.Elements[float32](into.Fields[0]), err, want)
		}
	}
	trained, err := dataconfig.Open(dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("X")}, 1, cells())
	if err != nil {
		t.Fatal(err)
	}
	c.Genes = trained.Genes // which nobody asked for
	for path, want := range map[string]string{"a:X": "[]", "b:X": "[columns are genes by name, 3 of them]", "a:raw": "[no genes are named; columns are taken as the 3 of training, in their order]"} {
		files := cells()
		files["a:raw"] = files["a:X"]
		file, path, _ := strings.Cut(path, ":")
		d, notes, err := c.Inputs(files, []dataconfig.Source{{NamedPath: dataconfig.NamedPath{Name: "x", Path: path}, File: file, Shape: []int{3}}})
		if err != nil || fmt.Sprint(notes) != want {
			t.Fatalf("%s: notes %v, %v; want %s", path, notes, err, want)
		}
		into, err := dataset.NewBatch(d, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Read(*into, []int{0, 1}); err != nil || !slices.Equal(storage.Elements[float32](into.Fields[0]), []float32{1, 2, 3, 2, 4, 6}) {
			t.Errorf("%s: %v, %v", path, storage.Elements[float32](into.Fields[0]), err)
		}
	}
	c.Genes = dataconfig.Names{"h1"}
	if _, _, err := c.Inputs(cells(), []dataconfig.Source{{NamedPath: dataconfig.NamedPath{Name: "x", Path: "X"}, File: "a", Shape: []int{1}}}); err == nil || !strings.Contains(err.Error(), "none of the 1 genes") {
		t.Errorf("a file without the genes of training: %v", err)
	}
}

// TestGenesOfSparseBatches are columns of the genes by name; what is left out is marked.
func TestGenesOfSparseBatches(t *testing.T) {
	c := dataconfig.Config{File: dataconfig.Names{"a", "b"}, X: dataconfig.Path("X"), CSR: dataconfig.Names{"x"}, Genes: dataconfig.Names{"g2", "g1"}}
	data, err := dataconfig.Open(c, 1, cells())
	if err != nil {
		t.Fatal(err)
	}
	into, err := dataset.NewBatch(data.Train, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := data.Train.Read(*into, []int{0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	in := data.CSR["x"]
	values, columns, lengths := into.Fields[0], into.Fields[1], storage.Elements[int64](into.Fields[2])
	if !in.Mapped || in.Width != 2 || !slices.Equal(storage.Elements[int32](columns), []int32{1, 0, -1, 1, 0, -1, -1, 1, 0, -1, 1, 0}) {
		t.Fatalf("%+v: columns %v", in, storage.Elements[int32](columns))
	}
	v, _ := values.Bytes()
	k, _ := columns.Bytes()
	dataset.SortColumns(v, 4, k, columns.Type, lengths)
	if !slices.Equal(lengths, []int64{2, 2, 2, 2}) || !slices.Equal(storage.Elements[float32](values)[:2], []float32{2, 1}) || !slices.Equal(storage.Elements[float32](values)[9:11], []float32{4, 2}) {
		t.Errorf("values %v of lengths %v", storage.Elements[float32](values), lengths)
	}
}
