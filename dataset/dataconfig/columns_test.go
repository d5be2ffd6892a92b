package dataconfig_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
)

// A testColumn is a column in a file, and what a row of it is as an input, one-hot or as
// codes.
type testColumn struct {
	found  any
	values func(row int, oneHot bool) []float64
}

// place returns a one at k among n, or k.
func place(k, n int, oneHot bool) []float64 {
	if !oneHot {
		return []float64{float64(k)}
	}
	list := make([]float64, n)
	list[k] = 1
	return list
}

// randomColumns returns n rows of columns of every kind.
func randomColumns(r *rand.Rand, n int) map[string]testColumn {
	ints, floats, words, enums, marks, table := make([]int32, n), make([]float32, n), make([]string, n), make([]uint8, n), make([]bool, n), make([]float64, 3*n)
	names := []string{"Graz", "Linz", "Wien"}
	for k := range n {
		ints[k], floats[k], words[k], enums[k], marks[k] = r.Int32()>>8, r.Float32(), names[r.IntN(3)], uint8(10*r.IntN(3)), r.IntN(2) == 1
		if k < 3 { // every word is there
			words[k] = names[k]
		}
		for j := range 3 {
			table[3*k+j] = r.Float64()
		}
	}
	return map[string]testColumn{
		"int":   {storage.From(ints, n), func(k int, _ bool) []float64 { return []float64{float64(ints[k])} }},
		"float": {storage.From(floats, n), func(k int, _ bool) []float64 { return []float64{float64(floats[k])} }},
		"table": {storage.From(table, n, 3), func(k int, _ bool) []float64 { return table[3*k : 3*k+3] }},
		"word":  {words, func(k int, hot bool) []float64 { return place(slices.Index(names, words[k]), 3, hot) }},
		"enum": {dataconfig.Found{Array: storage.From(enums, n), Names: []string{"c", "a", "b"}, Values: []int64{20, 0, 10}}, func(k int, hot bool) []float64 {
			return place(map[uint8]int{20: 0, 0: 1, 10: 2}[enums[k]], 3, hot)
		}},
		"mark": {storage.From(marks, n), func(k int, _ bool) []float64 {
			if marks[k] {
				return []float64{1}
			}
			return []float64{0}
		}},
	}
}

// TestColumnsAreJoinedAsTheyAre joins random choices of columns, in memory and on demand, and
// compares every element. Prediction from other rows, of which some categories are missing,
// has the codes of training.
func TestColumnsAreJoinedAsTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for trial := range 60 {
		restore := func() {}
		if trial%2 == 1 {
			restore = dataconfig.JoinOnDemand()
		}
		n := 3 + r.IntN(2000)
		columns, hot := randomColumns(r, n), trial%3 > 0
		s := shelf{"a:y": storage.From(make([]int64, n), n)}
		var names []string
		for _, name := range []string{"int", "float", "table", "word", "enum", "mark"} {
			if s["a:"+name] = columns[name].found; r.IntN(2) == 0 || name == "word" && len(names) == 0 {
				names = append(names, name)
			}
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		encoding := "codes"
		if hot {
			encoding = "one_hot"
		}
		c := parse(t, fmt.Sprintf("{file: a, x: [%s], y: y, categorical: %s}", strings.Join(names, ", "), encoding))
		d, err := dataconfig.Open(c, 1, s)
		if err != nil {
			t.Fatalf("%v: %v", names, err)
		}
		checkColumns(t, d.Train, names, columns, hot, n)
		c.Categories = d.Categories
		x := c.X[0]
		x.Name = "x"
		again, _, err := c.Inputs(s, []dataconfig.Source{{NamedPath: x, File: "a", Shape: d.Train.Fields()[0].Shape}})
		if err != nil {
			t.Fatalf("%v: %v", names, err)
		}
		checkColumns(t, again, names, columns, hot, n)
		restore()
	}
}

func checkColumns(t *testing.T, d dataset.Dataset, names []string, columns map[string]testColumn, hot bool, n int) {
	t.Helper()
	row := 0
	for b, err := range dataset.Load(t.Context(), d, dataset.Options{BatchSize: 97, Shuffle: dataset.None}) {
		if err != nil {
			t.Fatal(err)
		}
		got, err := storage.Read[float64](b.Fields[0])
		if err != nil {
			t.Fatal(err)
		}
		for range b.Rows {
			var want []float64
			for _, name := range names {
				want = append(want, columns[name].values(row, hot)...)
			}
			if !slices.Equal(got[:len(want)], want) {
				t.Fatalf("%v: row %d is %v, want %v", names, row, got[:len(want)], want)
			}
			got, row = got[len(want):], row+1
		}
	}
	if row != n {
		t.Fatalf("%v: %d rows, want %d", names, row, n)
	}
}

// TestCategoriesOfARunAreKept predicts from rows that lack categories, have others, or have
// numbers in the place of words.
func TestCategoriesOfARunAreKept(t *testing.T) {
	s := shelf{
		"a:age": numbered(0, 4), "a:sex": []string{"m", "f", "f", "m"}, "a:y": storage.From([]int64{0, 1, 0, 1}, 4), "a:site": storage.From([]int64{7, 9, 7, 8}, 4),
		"b:age": numbered(0, 2), "b:sex": []string{"f", "f"}, "b:site": storage.From([]int64{9, 9}, 2), "b:/e/1/sex": []string{"f"}, "b:/e/2/sex": []string{"m", "f"},
		"c:age": numbered(0, 2), "c:sex": []string{"f", "divers"}, "c:site": storage.From([]int64{9, 1}, 2),
		"d:age": []string{"old", "young"}, "d:sex": []string{"f", "m"},
		"e:age": numbered(0, 2), "e:sex": storage.From([]int64{0, 1}, 2),
		"f:age": numbered(0, 2), "f:code": dataconfig.Found{Array: storage.From([]int8{1, -1}, 2), Names: []string{"m", "f"}},
	}
	for _, test := range []struct{ settings, file, paths, want string }{
		{"x: [age, sex]", "b", "age,sex", "[0 1 0 1 1 0]"},
		{"x: [age, sex]", "c", "age,sex", `c: sex: row 1 is "divers", which is not one of the 2 categories f, m`},
		{"x: [age, sex], unknown: -1", "c", "age,sex", "[0 1 0 1 0 0]"},
		{"x: [age, sex], unknown: 1", "c", "age,sex", "[0 1 0 1 0 1]"},
		{"x: [age, sex]", "d", "age,sex", "d: age holds strings or categories; the model was trained on numbers"},
		{"x: [age, sex]", "e", "age,sex", `e: sex: row 0 is "0", which is not one of the 2 categories f, m`},
		{"x: [age, sex]", "f", "age,code", "row 1 is -1, which has no name"},
		{"x: [age, sex], unknown: -1", "f", "age,code", "[0 1 0 1 0 0]"},
		{"x: [age, sex]", "b", "age", "the input x has the columns [age sex]"},
		{"x: sex", "b", "sex", "[1 0 1 0]"},
		{"x: sex", "b", "/e/*/sex", "[1 0 0 1 1 0]"},
		{"x: sex, categorical: codes", "b", "sex", "[0 0]"},
		{"x: sex, categories: {sex: [m, d, f]}", "b", "sex", "[0 0 1 0 0 1]"},
		{"x: site, categories: {site: ['7', '8', '9']}", "b", "site", "[0 0 1 0 0 1]"},
		{"x: site, categories: {site: ['7', '8', '9']}", "c", "site", `row 1 is "1", which is not one`},
		{"x: {a: age, s: sex}, categorical: {s: codes}", "b", "", "[0 1] [0 0]"},
	} {
		c := parse(t, "{file: a, y: y, "+test.settings+"}")
		d, err := dataconfig.Open(c, 1, s)
		if err != nil {
			t.Errorf("%s: %v", test.settings, err)
			continue
		}
		c.Categories = d.Categories
		var sources []dataconfig.Source
		for i, x := range c.X {
			at := x
			if test.paths != "" {
				at = x.At(test.paths)
			}
			at.Name = c.InputNames()[i]
			sources = append(sources, dataconfig.Source{NamedPath: at, File: test.file, Shape: d.Train.Fields()[i].Shape})
		}
		got := ""
		samples, _, err := c.Inputs(s, sources)
		if err != nil {
			got = err.Error()
		} else {
			got = elements(t, samples)
		}
		if !strings.Contains(got, test.want) || err == nil && got != test.want {
			t.Errorf("%s from %s of %s: %s, want %s", test.settings, test.paths, test.file, got, test.want)
		}
	}
}

// TestCategoriesOfFilesAreOneList reads files with other categories; the first has the numbers of all already.
func TestCategoriesOfFilesAreOneList(t *testing.T) {
	named := func(numbers []int8, names ...string) dataconfig.Found {
		return dataconfig.Found{Array: storage.From(numbers, len(numbers)), Names: names}
	}
	s := shelf{"a:x": named([]int8{2, 0, 1}, "B", "NK", "T"), "b:x": named([]int8{0, 1}, "T", "B"), "c:x": named([]int8{1, 0}, "B", "T")}
	for files, want := range map[string]string{"a, b": "[2 0 1 2 0] [2 0 1 2 0]", "b, a": "[0 1 0 1 2] [0 1 0 1 2]", "b, b": "[0 1 0 1] [0 1 0 1]", "a, c": "[2 0 1 2 0] [2 0 1 2 0]"} {
		d, err := dataconfig.Open(parse(t, "{file: ["+files+"], x: x, y: x, categorical: codes}"), 1, s)
		if err != nil {
			t.Errorf("%s: %v", files, err)
		} else if got := elements(t, d.Train); got != want {
			t.Errorf("%s: %s, want %s", files, got, want)
		}
	}
}

// elements prints the elements of each field of d.
func elements(t *testing.T, d dataset.Dataset) string {
	t.Helper()
	b, err := dataset.NewBatch(d, d.Len())
	if err == nil {
		var rows []int
		for k := range d.Len() {
			rows = append(rows, k)
		}
		err = d.Read(*b, rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range b.Fields {
		values, err := storage.Read[float64](f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(values))
	}
	return strings.Join(all, " ")
}

// TestCategoriesAreNotStandardized estimates the normalization of numbers beside categories.
func TestCategoriesAreNotStandardized(t *testing.T) {
	s := shelf{"a:age": numbered(0, 5), "a:sex": []string{"m", "f", "f", "m", "m"}, "a:y": storage.From([]int64{0, 1, 0, 1, 0}, 5)}
	d, err := dataconfig.Open(parse(t, "{file: a, x: [age, sex], y: y}"), 1, s)
	if err != nil {
		t.Fatal(err)
	}
	n, table := d.Columns("x")
	statistics, err := d.Statistics(t.Context(), map[string]dataconfig.Columns{"x": {N: n, Inner: 1}}, dataset.Options{BatchSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	x, err := statistics["x"].Normalize()
	if err != nil || !table || n != 3 || fmt.Sprint(x.Scale[1:], x.Shift[1:]) != "[1 1] [0 0]" || x.Scale[0] == 1 {
		t.Errorf("%d columns, table %v: %v, %v", n, table, x, err)
	}
}

// TestErrorsNameColumns: an element of joined columns has the path of its column, numbered
// within a column of several.
func TestErrorsNameColumns(t *testing.T) {
	s := shelf{
		"a:y": storage.From(make([]int64, 3), 3), "a:age": storage.From([]float32{1, 2, 3}, 3),
		"a:size": storage.From(make([]float64, 6), 3, 2), "a:city": []string{"Wien", "Graz", "Wien"},
	}
	for encoding, want := range map[string][]string{
		"one_hot": {"age", "size 0", "size 1", "city 0", "city 1"}, "codes": {"age", "size 0", "size 1", "city"},
	} {
		c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Paths{{Path: "age", Beside: []string{"size", "city"}}}, Y: dataconfig.Path("y"), Categorical: dataconfig.Encodings{Paths: dataconfig.Path(encoding)}}
		d, err := dataconfig.Open(c, 1, s)
		if err != nil {
			t.Fatal(err)
		}
		for i, column := range want {
			if e := dataset.Locate(d.Train, 0, 2, i); e.Column != column || e.Row != 2 {
				t.Errorf("%s: element %d of row 2 is of row %d, column %q; want %q", encoding, i, e.Row, e.Column, column)
			}
		}
	}
}

// TestInputsOfTheTrainedPathsAreThoseOfTraining names the files and paths of a configuration as sources of predictions.
func TestInputsOfTheTrainedPathsAreThoseOfTraining(t *testing.T) {
	s := shelf{}
	for i, file := range []string{"a", "b", "c"} {
		for k := range i + 2 {
			episode, rows := fmt.Sprintf("%s:/e/%d", file, k), 3+k
			for at, name := range []string{"/x", "/z", "/y"} {
				values := make([]float64, rows*2)
				for n := range values {
					values[n] = float64(1000*i + 100*k + 10*n + at)
				}
				s[episode+name] = storage.From(values, rows, 2)
				s[file+":"+name] = storage.From(values, rows, 2)
			}
		}
	}
	for _, settings := range []string{
		"x: /x, y: /y", "x: {p: /x, q: /z}, y: /y", "x: '/e/*/x', y: '/e/*/y'", "x: {p: '/e/*/x', q: '/e/*/z'}, y: '/e/*/y'",
		"x: '/e/*/x', y: '/e/*/y', steps: 4", "x: /x, y: /y, steps: 2",
	} {
		for _, file := range []string{"a", "b", "'*'"} {
			c := parse(t, "{file: "+file+", "+settings+"}")
			d, err := dataconfig.Open(c, 1, s)
			if err != nil {
				t.Fatalf("%s: %v", settings, err)
			}
			var sources []dataconfig.Source
			for i, x := range c.X {
				x.Name = c.InputNames()[i]
				sources = append(sources, dataconfig.Source{NamedPath: x, File: c.File[0], Shape: d.Train.Fields()[i].Shape})
			}
			samples, _, err := c.Inputs(s, sources)
			if err != nil {
				t.Errorf("%s of %s: %v", settings, file, err)
				continue
			}
			inputs := []int{0, 1}[:len(c.X)]
			if got, want := elements(t, samples), elements(t, dataset.Project(d.Train, inputs...)); got != want {
				t.Errorf("%s of %s: %s, want %s", settings, file, got, want)
			}
		}
	}
	unpaired := []dataconfig.Source{{NamedPath: dataconfig.NamedPath{Name: "p", Path: "/x"}, File: "*"}, {NamedPath: dataconfig.NamedPath{Name: "q", Path: "/x"}, File: "a"}}
	if _, _, err := (dataconfig.Config{}).Inputs(s, unpaired); err == nil || !strings.Contains(err.Error(), "*: 3 files, and a: 1") {
		t.Errorf("three files of one input and one of another: %v", err)
	}
}
