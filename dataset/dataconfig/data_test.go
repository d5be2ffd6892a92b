package dataconfig_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
)

// shelf is files in memory, by file:path. Arrays are storage.Arrays, ragged rows
// *dataset.Ragged, strings []string; attributes []any, by file:path@name.
type shelf map[string]any

func (s shelf) Glob(pattern string) ([]string, error) {
	if pattern != "*" {
		return []string{pattern}, nil
	}
	names := map[string]bool{}
	for key := range s {
		file, _, _ := strings.Cut(key, ":")
		names[file] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func (s shelf) List(file, group string) (paths []string, _ error) {
	for key := range s {
		if path, ok := strings.CutPrefix(key, file+":"); ok && strings.HasPrefix(path, group) && !strings.Contains(path, "@") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

func (s shelf) Find(file, path string) (dataconfig.Found, error) {
	switch found := s[file+":"+path].(type) {
	case storage.Array:
		return dataconfig.Found{Array: found}, nil
	case *dataset.Ragged:
		return dataconfig.Found{Ragged: found}, nil
	case dataconfig.Found:
		return found, nil
	case []string:
		return dataconfig.Found{Texts: func() ([]string, error) { return found, nil }}, nil
	}
	return dataconfig.Found{}, fmt.Errorf("%s: no %s", file, path)
}

func (s shelf) Attribute(file, path, name string) ([]any, error) {
	values, _ := s[file+":"+path+"@"+name].([]any)
	return values, nil
}

// numbered returns n rows of one number, which count from first on.
func numbered(first, n int) storage.Array {
	rows := make([]float32, n)
	for k := range rows {
		rows[k] = float32(first + k)
	}
	return storage.From(rows, n, 1)
}

// library holds a table of 20 rows, its second half in another file, and three
// episodes of 6, 2 and 9 steps. Every row is its number.
func library() shelf {
	half := make([]int64, 20)
	words, three := make([]string, 20), []string(nil)
	marks := make([]bool, 20)
	for k := range half {
		three = append(three, []string{"Train", "validation", "test"}[k%3])
		half[k], words[k], marks[k] = int64(k%2), []string{"train", "train", "val"}[k%3], k < 4 || k > 17
	}
	rows, err := dataset.Offsets("ragged", storage.From([]float32{0, 100, 1, 2, 102, 202}, 6), storage.From([]int64{0, 2, 3, 6}, 4))
	if err != nil {
		panic(err)
	}
	s := shelf{
		"a:x": numbered(0, 20), "a:y": storage.From(make([]int64, 20), 20), "a:empty": numbered(0, 0),
		"a:parity": storage.From(half, 20), "a:word": words, "a:marks": storage.From(marks, 20),
		"a:list": storage.From([]int32{17, 3, 4}, 3), "a:x@val": []any{int64(2), int64(5)}, "a:/@kind": []any{"train"},
		"b:x": numbered(20, 10), "b:y": storage.From(make([]int64, 10), 10), "b:/@kind": []any{"validation"},
		"c:x": numbered(30, 3), "c:y": storage.From(make([]int64, 3), 3), "c:/@kind": []any{"test"},
		"a:/ragged": &rows, "a:/named": []string{"e2"}, "a:/first": []string{"e0"}, "a:three": three, "a:kinds": storage.From([]int64{0, 1, 0}, 3),
	}
	first := 0
	for k, n := range []int{6, 2, 9} {
		e := fmt.Sprintf("a:/e/e%d", k)
		s[e+"/x"], s[e+"/y"] = numbered(first, n), storage.From(make([]int64, n), n)
		s[e+"/late"] = storage.From([]int64{int64(n - 1), int64(n - 2)}, 2)
		s[e+"@kind"] = []any{[]string{"train", "train", "valid"}[k]}
		first += n
	}
	return s
}

// numbers lists the first row of each sample of d, in order.
func numbers(t *testing.T, d dataset.Dataset) (all []int) {
	t.Helper()
	if d == nil {
		return nil
	}
	for b, err := range dataset.Load(t.Context(), d, dataset.Options{BatchSize: 4, Shuffle: dataset.None}) {
		if err != nil {
			t.Fatal(err)
		}
		x := b.Fields[0]
		values, err := storage.Read[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		for k := range b.Rows {
			all = append(all, int(values[k*x.Len()/x.Shape[0]]))
		}
	}
	return all
}

func span(first, end int) (all []int) {
	for k := first; k < end; k++ {
		all = append(all, k)
	}
	return all
}

// TestSamplesAreTheRowsThatWerePicked opens each way to say which rows to train
// on, and which to validate on.
func TestSamplesAreTheRowsThatWerePicked(t *testing.T) {
	odd := func(want bool) (all []int) {
		for k := range 20 {
			if (k%2 == 1) == want {
				all = append(all, k)
			}
		}
		return all
	}
	for _, test := range []struct {
		data       string
		train, val []int
	}{
		{"file: a, x: x, y: y", span(0, 20), nil},
		{"file: [a, b], x: x, y: y", span(0, 30), nil},
		{"file: '*', x: x, y: y", span(0, 33), nil},
		{"file: a, x: x, y: y, val_file: b, val_x: x, val_y: y", span(0, 20), span(20, 30)},
		{"file: a, y_file: b, x: list, y: y, rows: x", nil, nil}, // refused below
		{"file: a, x: x, y: y, rows: '[5:9]'", span(5, 9), nil},
		{"file: a, x: x, y: y, rows: '[8:4:-1]'", span(5, 9), nil},
		{"file: a, x: x, y: y, rows: [marks, 'parity == 1']", []int{1, 3, 19}, nil},
		{"file: a, x: x, y: y, rows: list", []int{3, 4, 17}, nil},
		{"file: a, x: x, y: y, rows: ['three in [test, \"Train\"]', 'parity not in [1, 7]', '[:9]']", []int{0, 2, 6, 8}, nil},
		{"file: a, x: x, y: y, rows: 'parity!=0', split: 'mask:word==val'", []int{1, 3, 7, 9, 13, 15, 19}, []int{5, 11, 17}},
		{"file: a, x: x, y: y, split: 'mask:parity>0'", odd(false), odd(true)},
		{"file: a, x: x, y: y, split: 'mask:list'", slices.Concat(span(0, 3), span(5, 17), span(18, 20)), []int{3, 4, 17}},
		{"file: a, x: x, y: y, split: 'attr:val'", slices.Concat([]int{0, 1, 3, 4}, span(6, 20)), []int{2, 5}},
		{"file: '*', x: x, y: y, split: 'attr:kind'", span(0, 20), span(20, 30)}, // and no test set
		{"file: a, x: /e/*/x, y: /e/*/y", span(0, 17), nil},
		{"file: a, x: /e/e*/x, y: /e/e*/y, split: 'attr:kind'", span(0, 8), span(8, 17)},
		{"file: a, x: /e/*/x, y: /e/*/y, split: 'mask:/named'", span(0, 8), span(8, 17)},
		{"file: a, x: /e/*/x, y: /e/*/y, rows: /named", span(8, 17), nil},
		{"file: a, x: /e/*/x, y: /e/*/y, split: 'mask:/e/*/late'", []int{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14}, []int{4, 5, 6, 7, 15, 16}},
		{"file: a, x: /e/*/x, y: /e/*/y, steps: 3", []int{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14}, nil},
		{"file: a, x: /e/*/x, y: /e/*/y, steps: 3, rows: '[1:]'", []int{1, 2, 3, 9, 10, 11, 12, 13, 14}, nil},
		{"file: a, x: /e/*/x, y: /e/*/y, steps: 3, split: 'attr:kind'", []int{0, 1, 2, 3}, span(8, 15)},
		{"file: a, x: x, y: y, steps: 4, split: 0.3", span(0, 11), span(14, 17)},
		{"file: a, x: x, y: y, steps: 4, split: 'mask:[8:14]'", slices.Concat(span(0, 5), span(14, 17)), span(8, 11)},
		{"file: a, x: x, y: y, steps: 4, split: {folds: 4, fold: 1}", slices.Concat(span(0, 2), span(10, 17)), span(5, 7)},
		{"file: a, x: x, y: y, split: 'column:word'", []int{0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 18, 19}, []int{2, 5, 8, 11, 14, 17}},
		{"file: a, x: x, y: y, split: 'column:three'", []int{0, 3, 6, 9, 12, 15, 18}, []int{1, 4, 7, 10, 13, 16, 19}}, // and no test rows
		{"file: a, x: x, y: y, split: {valid: '[:5]', train: '[10:]'}", span(10, 20), span(0, 5)},
		{"file: a, x: /e/*/x, y: /e/*/y, split: {valid: /named, train: /first}", span(0, 6), span(8, 17)},
		{"file: a, x: /ragged, y: kinds", []int{0, 1, 2}, nil},
	} {
		d, err := dataconfig.Open(parse(t, "{"+test.data+"}"), 1, library())
		if test.train == nil {
			if err == nil {
				t.Errorf("%s: want an error", test.data)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.data, err)
			continue
		}
		if got, val := numbers(t, d.Train), numbers(t, d.Val); !slices.Equal(got, test.train) || !slices.Equal(val, test.val) {
			t.Errorf("%s: trains on %v, validates on %v; want %v and %v", test.data, got, val, test.train, test.val)
		}
	}
}

// TestComparisonsMeanWhatTheySay compares columns of every kind of number, and of
// words, with one of their elements.
func TestComparisonsMeanWhatTheySay(t *testing.T) {
	s := shelf{
		"a:x": numbered(0, 5), "a:y": storage.From(make([]int64, 5), 5),
		"a:i8": storage.From([]int8{-2, -1, 0, 1, 2}, 5), "a:i64": storage.From([]int64{-1 << 62, 1<<62 - 1, 1 << 62, 1<<62 + 1, 1<<63 - 1}, 5),
		"a:u64": storage.From([]uint64{0, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1}, 5),
		"a:f32": storage.From([]float32{-1, 0, 0.1, 0.2, 0.3}, 5), "a:f64": storage.From([]float64{-1, 0, 0.1, 0.2, 0.3}, 5),
		"a:words": []string{"a", "an", "ant", "be", "bee"},
	}
	rows := map[string][]int{"==": {2}, "!=": {0, 1, 3, 4}, "<": {0, 1}, "<=": {0, 1, 2}, ">": {3, 4}, ">=": {2, 3, 4}}
	for path, middle := range map[string]string{"i8": "0", "i64": "0x4000000000000000", "u64": "9223372036854775808", "f32": "0.1", "f64": "1e-1", "words": "'ant'"} {
		for op, want := range rows {
			c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("x"), Y: dataconfig.Path("y"), Rows: dataconfig.Names{path + " " + op + middle}}
			d, err := dataconfig.Open(c, 1, s)
			if err != nil {
				t.Errorf("%s: %v", c.Rows, err)
			} else if got := numbers(t, d.Train); !slices.Equal(got, want) {
				t.Errorf("%s: rows %v, want %v", c.Rows, got, want)
			}
		}
	}
}

// TestFiltersReadTheirColumnOnce counts how often the strings of a column are read.
func TestFiltersReadTheirColumnOnce(t *testing.T) {
	for filter, want := range map[string][]int{"w == b": {1}, "w in [a, c, b]": {0, 1, 2}, "w not in [a, c]": {1, 3}} {
		read := 0
		s := shelf{
			"a:x": numbered(0, 4), "a:y": storage.From(make([]int64, 4), 4),
			"a:w": dataconfig.Found{Texts: func() ([]string, error) { read++; return []string{"a", "b", "c", "d"}, nil }},
		}
		d, err := dataconfig.Open(dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("x"), Y: dataconfig.Path("y"), Rows: dataconfig.Names{filter}}, 1, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, d.Train); !slices.Equal(got, want) || read != 1 {
			t.Errorf("%s: rows %v, read %d times; want %v, once", filter, got, read, want)
		}
	}
}

// TestRandomSplitsShareNoStep draws splits of episodes and of single rows; no
// step may be seen both in training and in validation.
func TestRandomSplitsShareNoStep(t *testing.T) {
	s := shelf{}
	for k := range 12 {
		s[fmt.Sprintf("a:/e/%d/x", k)], s[fmt.Sprintf("a:/e/%d/y", k)] = numbered(100*k, 5+k), storage.From(make([]int64, 5+k), 5+k)
	}
	for seed := range uint64(5) {
		for _, steps := range []int{1, 4} {
			c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("/e/*/x"), Y: dataconfig.Path("/e/*/y"), Steps: steps, Split: dataconfig.Split{Fraction: 0.25}}
			d, err := dataconfig.Open(c, seed, s)
			if err != nil {
				t.Fatal(err)
			}
			trained := map[int]bool{}
			for _, first := range numbers(t, d.Train) {
				for k := range steps {
					trained[first+k] = true
				}
			}
			val := numbers(t, d.Val)
			for _, first := range val {
				for k := range steps {
					if trained[first+k] {
						t.Fatalf("seed %d, %d steps: %d is on both sides", seed, steps, first+k)
					}
				}
			}
			if len(val) < 12 || len(trained) < 40 {
				t.Errorf("seed %d, %d steps: %d rows to train on, %d samples to validate on", seed, steps, len(trained), len(val))
			}
		}
	}
}

// TestWindowsHaveTheRowsAsked reads every sample of every small window and horizon: its
// inputs are steps rows, its targets y_steps rows from y_ahead behind the last of them on,
// or the last of them, and its weight is that of the last row.
func TestWindowsHaveTheRowsAsked(t *testing.T) {
	const rows = 9
	s := shelf{"a:x": numbered(0, rows), "a:y": numbered(100, rows), "a:w": numbered(200, rows)}
	for _, c := range cases(3, 4, 4) {
		steps, ySteps, ahead := c[0]+1, c[1], c[2]
		data := fmt.Sprintf("{file: a, x: x, y: y, weights: w, steps: %d, y_steps: %d, y_ahead: %d}", steps, ySteps, ahead)
		if ahead == 0 && ySteps > steps {
			if _, err := parsed(data); err == nil || !strings.Contains(err.Error(), "y_ahead: 1 forecasts") {
				t.Errorf("%s: %v", data, err)
			}
			continue
		}
		d, err := dataconfig.Open(parse(t, data), 1, s)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		targets := ySteps
		if ySteps == 0 && ahead == 0 {
			targets = steps
		}
		targets = max(1, targets)
		first, last := steps-targets, steps-1
		if ahead > 0 {
			first, last = steps-1+ahead, steps-1+ahead+targets-1
		}
		if want := rows - last; d.Train.Len() != want {
			t.Fatalf("%s: %d samples, want %d", data, d.Train.Len(), want)
		}
		for sample := range d.Train.Len() {
			b, err := dataset.NewBatch(d.Train, 1)
			if err == nil {
				err = d.Train.Read(*b, []int{sample})
			}
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(storage.Elements[float32](b.Fields[0]), storage.Elements[float32](b.Fields[1]), storage.Elements[float32](b.Fields[2]))
			want := fmt.Sprint(span(sample, sample+steps), span(100+sample+first, 100+sample+last+1), span(200+sample+last, 200+sample+last+1))
			if got != want {
				t.Errorf("%s: sample %d is %s, want %s", data, sample, got, want)
			}
		}
	}
}

// cases lists all choices of numbers below each of sizes.
func cases(sizes ...int) [][]int {
	all := [][]int{nil}
	for _, n := range sizes {
		var longer [][]int
		for _, c := range all {
			for k := range n {
				longer = append(longer, append(slices.Clone(c), k))
			}
		}
		all = longer
	}
	return all
}

// TestForecastsOfVisibleRowsAreRefused opens windows whose targets are rows of the dataset
// that their inputs are from.
func TestForecastsOfVisibleRowsAreRefused(t *testing.T) {
	s := shelf{"a:x": numbered(0, 9), "a:y": numbered(9, 9), "b:x": numbered(0, 9), "a:w": storage.From(make([]float32, 36), 9, 4)}
	for _, part := range []struct{ expr string }{{"[:, :3]"}, {"[:, 3:]"}, {"[:, 2:]"}, {"[:-2]"}, {"[2:]"}} {
		base, _ := s["a:w"].(storage.Array)
		v, err := base.View.Index(part.expr)
		if err != nil {
			t.Fatal(err)
		}
		s["a:w"+part.expr] = base.With(v)
	}
	for data, refused := range map[string]bool{
		"x: x, y: x":                             false, // an autoencoder
		"x: x, y: x, steps: 2":                   true,
		"x: x, y: x, steps: 2, y_steps: 1":       true,
		"x: x, y: x, steps: 2, y_ahead: 0":       false,
		"x: x, y: x, steps: 2, y_ahead: 1":       false,
		"x: {a: y, b: x}, y: x, steps: 2":        true,
		"x: x, y: y, steps: 2":                   false,
		"x: x, y: x, y_file: b, steps: 2":        false,
		"x: 'w[:, :3]', y: 'w[:, 3:]', steps: 2": false,
		"x: 'w[:, :3]', y: 'w[:, 2:]', steps: 2": true,
		"x: 'w[:-2]', y: 'w[2:]', steps: 2":      false, // shifted by hand
		"x: 'w[:-2]', y: 'w[2:]', steps: 3":      true,
	} {
		c, err := parsed("{file: a, " + data + "}")
		if err == nil {
			_, err = dataconfig.Open(c, 1, s)
		}
		if said := err != nil && strings.Contains(err.Error(), "is an input and a target"); said != refused || !refused && err != nil {
			t.Errorf("%s: %v; refused: %v", data, err, refused)
		}
	}
}

// TestDataTroubleSaysWhere lists what a configuration can get wrong about files.
func TestDataTroubleSaysWhere(t *testing.T) {
	for data, want := range map[string]string{
		"file: a, x: none, y: y":                                            "no none",
		"file: [a, b], y_file: a, x: x, y: y":                               "2 files of inputs and 1 of targets",
		"file: a, x: x, y: '*/y'":                                           "*/y has more stars than the path of inputs, which has 0",
		"file: a, x: /f/*/x, y: /f/*/y":                                     "nothing matches /f/*/x",
		"file: a, x: word, y: y, categorical: values":                       "a: word holds strings; categorical: values takes integers",
		"file: a, x: x, y: list":                                            "x is [20 1] and list is [3]",
		"file: a, x: x, y: y, rows: parity":                                 "row 0 is listed twice",
		"file: a, x: x, y: y, rows: word":                                   "compare them, as in word==val",
		"file: a, x: x, y: y, rows: parity==x":                              `compare int64 with "x"`,
		"file: a, x: x, y: y, rows: marks>true":                             "bools are compared by == and !=",
		"file: a, x: x, y: y, rows: 'x>1'":                                  "want one element for each of 20 rows",
		"file: a, x: x, y: y, rows: '[3]'":                                  "want a range",
		"file: a, x: x, y: y, rows: 'parity>7'":                             "none were selected",
		"file: a, x: x, y: y, split: 'attr:none'":                           "has an attribute none",
		"file: a, x: x, y: y, split: 'attr:kind'":                           "20 samples to train on and 0 to validate on",
		"file: a, x: x, y: y, split: 0.001":                                 "leaves one side",
		"file: a, x: x, y: y, steps: 21":                                    "none of 1 parts is 21 steps long",
		"file: a, x: empty, y: empty, y_ahead: 0":                           "has no rows",
		"file: a, x: x, y: y, steps: 2, split: 0.01":                        "want some of both",
		"file: a, x: /ragged, y: kinds, split: 'mask:/ragged'":              "rows of different lengths select no samples",
		"file: a, x: x, y: y, val_file: a, val_x: /e/e0/late, val_y: kinds": "/e/e0/late is [2] and kinds is [3]",
		"file: a, x: x, y: y, val_file: a, val_x: parity, val_y: y":         "they must be alike",
		"file: a, x: '/e/*/late', y: '/e/*/late', split: 'mask:/e/*/marks'": "no /e/e0/marks",
	} {
		c, err := parsed("{" + data + "}")
		if err == nil {
			_, err = dataconfig.Open(c, 1, library())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
}

// TestSeveralInputsAndTargets opens episodes with two inputs, one of them rows of
// different lengths, two targets and weights, and reads every field by its name.
func TestSeveralInputsAndTargets(t *testing.T) {
	s := shelf{}
	for k, n := range []int{3, 2} {
		e := fmt.Sprintf("a:/e/%d", k)
		s[e+"/state"], s[e+"/class"], s[e+"/box"] = numbered(10*k, n), storage.From(make([]int64, n), n), numbered(100*k, n)
		rows, err := dataset.Offsets("words", storage.From([]float32{1, 2, 3, 4, 5, 6}, 6), storage.From([]int64{0, 1, 4, 6}[:n+1], n+1))
		if err != nil {
			t.Fatal(err)
		}
		s[e+"/words"], s[e+"/w"] = &rows, storage.From([]float32{0.5, 1, 2}[:n], n)
	}
	data := "{file: a, x: {words: /e/*/words, state: /e/*/state}, y: {class: /e/*/class, box: /e/*/box}, weights: /e/*/w, lengths: {words: auto}, length: 2, split: 'mask:[2:]'}"
	d, err := dataconfig.Open(parse(t, data), 1, s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(d.Train.Fields()), "[state float32[1] words float32[2] box float32[1] class int64[] weights float32[] words lengths int64[]]"; got != want {
		t.Errorf("fields %s, want %s", got, want)
	}
	if schema, err := dataset.SchemaOf(d.Train.Fields()); err != nil || fmt.Sprint(schema) != "{[0 1] [2 3] [-1 5] 4}" {
		t.Errorf("schema %v, %v", schema, err)
	}
	for side, want := range map[dataset.Dataset]map[string]string{
		d.Train: {"state": "[0 1 10 11]", "words": "[1 0 2 3 1 0 2 3]", "box": "[0 1 100 101]", "weights": "[0.5 1 0.5 1]", "words lengths": "[1 2 1 2]"},
		d.Val:   {"state": "[2]", "words": "[5 6]", "box": "[2]", "weights": "[2]", "words lengths": "[2]"},
	} {
		for b, err := range dataset.Load(t.Context(), side, dataset.Options{BatchSize: 8, Shuffle: dataset.None}) {
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range want {
				a, ok := b.Field(name)
				values, err := storage.Read[float64](a)
				if got := fmt.Sprint(values); !ok || err != nil || got != want {
					t.Errorf("%s: %s, %v; want %s", name, got, err, want)
				}
			}
		}
	}
	if n, _, err := d.CountClasses(t.Context(), "class", nil, dataset.Options{BatchSize: 2}); n != 1 || err != nil {
		t.Errorf("%d classes, %v; want 1", n, err)
	}
	if n, err := d.EstimateNormalize(t.Context(), "words", dataset.Options{BatchSize: 2}); !n.IsIdentity() || err != nil {
		t.Errorf("normalization of floats %v, %v; want none", n, err)
	}
}

// TestFieldsThatCannotBeAreErrors lists names and lengths that fit no input.
func TestFieldsThatCannotBeAreErrors(t *testing.T) {
	for data, want := range map[string]string{
		"file: a, x: {a: x, b: x}, y: {a: y}":                    `"a" names two fields`,
		"file: a, x: x, y: {weights: y}":                         `"weights" names two fields`,
		"file: a, x: {a: x, b: x}, y: y, lengths: list":          "name the one that list is for",
		"file: a, x: {first: x, b: x}, y: y, lengths: {fist: l}": "did you mean first?",
		"file: a, x: {a: x, b: x}, y: y, normalize: {c: none}":   "no such input",
		"file: a, x: x, y: y, lengths: auto":                     "is for rows of different lengths",
		"file: a, x: x, y: y, weights: list":                     "x is [20 1] and list is [3]",
		"file: a, x: x, y: y, lengths: {x: list}":                "x is [20 1] and list is [3]",
		"file: a, x: {a: x}, y: y, val_x: x, val_y: y":           "val_x and val_y have other names",
		"file: a, x: [3], y: y":                                  "want a path, a list of paths, or names",
		"file: a, x: [x, ''], y: y":                              "want a path, a list of paths, or names",
		"file: a, x: x, y: [y, y]":                               "only x takes lists of columns",
		"file: a, x: [x, x], y: y, lengths: list":                "rows of different lengths are no columns",
		"file: a, x: [x, list], y: y":                            "x is [20 1] and list is [3]",
		"file: a, x: [x, /ragged], y: y":                         "which are an input of their own",
		"file: a, x: [x, none], y: y":                            "no none",
		"file: a, x: x, y: y, categorical: hot":                  `no encoding "hot"`,
		"file: a, x: [x, word], y: y, categories: {wort: [a]}":   "did you mean word?",
		"file: a, x: [x, word], y: y, categories: {word: [val]}": `a: word: row 0 is "train", which is not one of the 1 categories val; leave such rows out`,
	} {
		c, err := parsed("{" + data + "}")
		if err == nil {
			_, err = dataconfig.Open(c, 1, library())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
}

func TestPathsAreReadFromText(t *testing.T) {
	for text, want := range map[string]string{
		"train/images": "[{ train/images []}]", "": "[]", "a==b": "[{ a==b []}]",
		"image=/a/b,state=/c": "[{image /a/b []} {state /c []}]", "age,sex": "[{ age [sex]}]",
		"a[:,1:3],b": "[{ a[:,1:3] [b]}]", "t=age,sex,i=image": "[{t age [sex]} {i image []}]",
	} {
		p, err := dataconfig.ParsePaths(text)
		if fmt.Sprint([]dataconfig.NamedPath(p)) != want || err != nil || p.String() != text {
			t.Errorf("%q: %v, %v; want %s", text, []dataconfig.NamedPath(p), err, want)
		}
	}
	if _, err := dataconfig.ParsePaths("image=/a/b,"); err == nil {
		t.Error("an empty path is read")
	}
}

// TestConfigSurvivesJSON writes configurations as a run file keeps them.
func TestConfigSurvivesJSON(t *testing.T) {
	for _, data := range []string{
		"{file: a, x: x, y: y, split: 0.25}",
		"{file: [a, b], y_file: [c, d], x: x, y: y, split: 'attr:kind', rows: ['[3:]', 'fold<2']}",
		"{file: a, x: x, x_offsets: o, x_columns: c, y: y, length: 7, split: 'mask:m'}",
		"{file: a, x: x, y: y, steps: 8, y_steps: 1, val_file: [e], val_y_file: f, val_x: x, val_y: y, val_rows: m, memory_mb: 9, window: 3}",
		"{file: a, x: {image: i, text: t}, y: {class: c, box: b}, weights: w, lengths: {text: auto}, x_offsets: {text: o}, normalize: {image: {mean: [2, 0], std: [1, 2]}, text: none}, resident: yes}",
	} {
		c := parse(t, data)
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back dataconfig.Config
		if err := json.Unmarshal(text, &back); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got, want := fmt.Sprintf("%+v", back), fmt.Sprintf("%+v", c); got != want {
			t.Errorf("%s: came back as %s, want %s", data, got, want)
		}
	}
}

// parse reads a configuration from YAML and checks it.
func parse(t *testing.T, text string) dataconfig.Config {
	t.Helper()
	c, err := parsed(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func parsed(text string) (c dataconfig.Config, err error) {
	doc, err := config.ParseYAML([]byte(text))
	if err == nil {
		err = doc.Decode(&c)
	}
	if err == nil {
		err = c.Check()
	}
	return c, err
}

// TestInputsHaveALastAxisOfOneAsAsked adds and removes the channel of grey images.
func TestInputsHaveALastAxisOfOneAsAsked(t *testing.T) {
	s := shelf{"a:/grey": storage.From([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2), "a:/channel": storage.From([]float32{1, 2, 3, 4}, 2, 2, 1)}
	for _, c := range []struct {
		path string
		want []int
		have string
	}{
		{"/grey", []int{2, 2, 1}, "[x float32[2 2 1]]"},
		{"/grey", []int{2, 2}, "[x float32[2 2]]"},
		{"/grey", []int{2, 1}, "[x float32[2 2]]"},
		{"/grey", []int{2}, "[x float32[2 2]]"},
		{"/channel", []int{2}, "[x float32[2]]"},
	} {
		d, _, err := dataconfig.Config{}.Inputs(s, []dataconfig.Source{{NamedPath: dataconfig.NamedPath{Name: "x", Path: c.path}, File: "a", Shape: c.want}})
		if err != nil {
			t.Fatal(err)
		}
		if have := fmt.Sprint(d.Fields()); have != c.have {
			t.Errorf("%s for samples of %v: %s, want %s", c.path, c.want, have, c.have)
		}
	}
}

// TestClassNamesThatAreIntegersAreTheLabels wants labels from 1 to become classes from 0, and other labels to be an error.
func TestClassNamesThatAreIntegersAreTheLabels(t *testing.T) {
	x := dataset.NamedArray{Name: "x", Array: storage.From(make([]float32, 4), 4)}
	for _, c := range []struct {
		labels, want []int64
	}{{[]int64{1, 3, 2, 1}, []int64{0, 2, 1, 0}}, {[]int64{0, 3, 2, 1}, nil}} {
		y := dataset.NamedArray{Name: "y", Role: dataset.Target, Array: storage.From(c.labels, 4)}
		config := dataconfig.Config{X: dataconfig.Path("x"), Y: dataconfig.Path("y"), ClassNames: dataconfig.ClassNames{"y": {"1", "2", "3"}}}
		d, err := dataconfig.New(config, 1, []dataset.NamedArray{x, y}, nil)
		if (err == nil) != (c.want != nil) {
			t.Errorf("labels %v: %v", c.labels, err)
		}
		if err != nil {
			continue
		}
		for b, err := range dataset.Load(t.Context(), d.Train, dataset.Options{BatchSize: 4, Shuffle: dataset.None}) {
			if got, read := storage.Read[int64](b.Fields[1]); err != nil || read != nil || !slices.Equal(got, c.want) {
				t.Errorf("labels %v: %v, %v; want %v", c.labels, got, err, c.want)
			}
		}
	}
}

// TestShuffledRowsAreNoted where all parts say that their rows were written in random order.
func TestShuffledRowsAreNoted(t *testing.T) {
	files := shelf{"a:v": numbered(0, 4), "b:v": numbered(4, 4), "a:v@" + dataconfig.ShuffleAttribute: []any{uint64(7)}}
	c := dataconfig.Config{File: dataconfig.Names{"a", "b"}, X: dataconfig.Path("v")}
	for _, all := range []bool{false, true} {
		if all {
			files["b:v/data@"+dataconfig.ShuffleAttribute] = []any{uint64(7)}
		}
		d, err := dataconfig.Open(c, 1, files)
		if err != nil {
			t.Fatal(err)
		}
		if noted := strings.Contains(strings.Join(d.Notes, "\n"), "random order"); noted != all {
			t.Errorf("notes %q; of all parts %v", d.Notes, all)
		}
	}
}
