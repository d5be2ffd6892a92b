package propose_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/propose"
)

var random = rand.New(rand.NewPCG(1, 2))

// numbers is an array whose elements are f of row and position.
func numbers(path string, t dtype.Type, rows int, row []int, f func(row, k int) float64) propose.Array {
	size := 1
	for _, n := range row {
		size *= n
	}
	a := propose.Array{Path: path, Rows: []int{rows}, Row: row, Type: t, Stored: t.String()}
	a.Sample.Blocks = []int{rows}
	for i := range rows {
		for k := range size {
			a.Sample.Values = append(a.Sample.Values, f(i, k))
		}
	}
	return a
}

func texts(path string, rows int, f func(row int) string) propose.Array {
	a := propose.Array{Path: path, Rows: []int{rows}, Kind: propose.Texts, Stored: "string"}
	a.Sample.Blocks = []int{rows}
	for i := range rows {
		a.Sample.Texts = append(a.Sample.Texts, f(i))
	}
	return a
}

func noise(int, int) float64 { return random.NormFloat64() }

// nuisances returns columns that nobody trains on, by kind.
func nuisances(path string) map[string]propose.Array {
	order := random.Perm(60)
	number := func(f func(row int) float64) propose.Array {
		return numbers(path, dtype.Int64, 60, nil, func(row, _ int) float64 { return f(row) })
	}
	return map[string]propose.Array{
		"row numbers":            number(func(row int) float64 { return float64(row) }),
		"shuffled row numbers":   number(func(row int) float64 { return float64(order[row] + 1000) }),
		"rising numbers":         number(func(row int) float64 { return float64(row*row + 7) }),
		"a constant":             number(func(int) float64 { return 3 }),
		"a constant string":      texts(path, 60, func(int) string { return "human" }),
		"unique strings":         texts(path, 60, func(row int) string { return fmt.Sprint("AAAC", order[row]) }),
		"missing values":         numbers(path, dtype.Float32, 60, nil, func(int, int) float64 { return math.NaN() }),
		"a constant of two axes": numbers(path, dtype.Float32, 60, []int{5}, func(int, int) float64 { return 1 }),
		"rows of episodes": func() propose.Array {
			a := number(func(row int) float64 { return float64(10957 + row%20) })
			a.Rows, a.Sample.Blocks = []int{20, 20, 20}, []int{20, 20, 20}
			return a
		}(),
		"references": {Path: path, Rows: []int{60}, Kind: propose.Other, Stored: "reference"},
	}
}

// TestNuisancesAreNeverProposed: whatever their name, identifiers, unique strings, constants and row numbers are neither
// inputs nor targets: beside data, and beside data with a target.
func TestNuisancesAreNeverProposed(t *testing.T) {
	x := numbers("/features", dtype.Float32, 60, []int{6}, noise)
	y := texts("/cell_type", 60, func(row int) string { return []string{"B", "T"}[row*7%2] })
	for _, name := range []string{"/id", "/label", "/y", "/x", "/target", "/class", "/images", "/actions", "/value", "/obs/index"} {
		for what, column := range nuisances(name) {
			for _, beside := range [][]propose.Array{{x}, {x, y}, {y}} {
				arrays := append(slices.Clone(beside), column)
				for i := range arrays {
					arrays[i].Rows, arrays[i].Sample.Blocks = column.Rows, column.Sample.Blocks
				}
				proposals, err := propose.From(propose.File{Arrays: arrays}, propose.Wishes{})
				if err != nil && len(beside) == 2 {
					t.Errorf("%s as %s: %v, though there are inputs and a target", what, name, err)
				}
				for _, p := range proposals {
					if slices.Contains(slices.Concat(p.X, p.Y), name) {
						t.Errorf("%s as %s beside %d arrays: proposed %v -> %v", what, name, len(beside), p.X, p.Y)
					}
				}
			}
		}
	}
}

// TestHeldOutArraysAreForValidation: neither validation nor test data is trained on, in whatever order the names are made.
func TestHeldOutArraysAreForValidation(t *testing.T) {
	for _, names := range [][4]string{ // inputs and targets to train on, and of validation
		{"/x_train", "/y_train", "/x_test", "/y_test"},
		{"/train/images", "/train/labels", "/val/images", "/val/labels"},
		{"/trainxdata", "/traindata", "/validxdata", "/validdata"},
		{"/Xtrain", "/Ytrain", "/Xtest", "/Ytest"},
		{"/trainX", "/trainY", "/testX", "/testY"},
		{"/features_training", "/labels_training", "/features_testing", "/labels_testing"},
		{"/x_train", "/y_train", "/x_test", ""}, // no validation data without its targets
	} {
		var arrays []propose.Array
		for i, name := range names {
			rows := 60 - 40*(i/2)
			if name == "" {
				continue
			}
			if i%2 == 0 {
				arrays = append(arrays, numbers(name, dtype.Float32, rows, []int{6}, noise))
			} else {
				arrays = append(arrays, numbers(name, dtype.Uint8, rows, []int{4}, func(row, k int) float64 { return float64((row*7 + k*3) % 5 % 2) }))
			}
		}
		slices.Reverse(arrays)
		proposals, err := propose.From(propose.File{Arrays: arrays}, propose.Wishes{})
		if err != nil {
			t.Errorf("%v: %v", names, err)
			continue
		}
		for i, p := range proposals {
			if slices.Contains(names[2:], p.X[0]) || slices.Contains(names[2:], p.Y[0]) || i == 0 && (p.X[0] != names[0] || p.Y[0] != names[1] || strings.Contains(fmt.Sprint(p.Data), "{val_x "+names[2]) != (names[3] != "")) {
				t.Errorf("%v: proposal %d is %v -> %v, %v", names, i, p.X, p.Y, p.Data)
			}
		}
	}
}

// TestEmptyStringsAreNoClass: they are missing labels, and a class among others named as targets are comes first.
func TestEmptyStringsAreNoClass(t *testing.T) {
	x := numbers("/x", dtype.Float32, 60, []int{100, 2}, wave(100, 2, true))
	port := texts("/port", 60, func(row int) string { return []string{"", "C", "Q", "S"}[row*7%4] })
	proposals, err := propose.From(propose.File{Arrays: []propose.Array{x, port}}, propose.Wishes{})
	if err != nil {
		t.Fatal(err)
	}
	p := proposals[0]
	if want := "/port, 3 classes (C, Q, S)"; p.Target.Text != want || p.Goal.Reason != "3 names of classes" || p.Model[len(p.Model)-1] != "- dense: 3" {
		t.Errorf("target %q, goal %q, model %v; want %q and 3 outputs", p.Target.Text, p.Goal.Reason, p.Model, want)
	}
	survived := numbers("/survived", dtype.Int64, 60, nil, func(row, _ int) float64 { return float64(row % 2) })
	fare := numbers("/fare", dtype.Float32, 60, nil, noise)
	if proposals, err = propose.From(propose.File{Arrays: []propose.Array{port, survived, fare}}, propose.Wishes{}); err != nil || proposals[0].Y[0] != "/survived" {
		t.Errorf("%v, %v; want /survived as target", proposals, err)
	}
}

// wave is a signal of several channels.
func wave(samples, channels int, last bool) func(row, k int) float64 {
	return func(row, k int) float64 {
		t, c := k%samples, k/samples
		if last {
			t, c = k/channels, k%channels
		}
		return math.Sin(float64(t)/float64(4+row%3)+float64(row*channels+c)) + 0.1*random.NormFloat64()
	}
}

// TestSignalsAreNeverImages: signals are convolved along their samples, not as images, in either order of the axes.
func TestSignalsAreNeverImages(t *testing.T) {
	y := numbers("/y", dtype.Int64, 12, nil, func(row, _ int) float64 { return float64(row % 2) })
	for _, name := range []string{"/x", "/data", "/ecg", "/signals"} {
		for _, typ := range []dtype.Type{dtype.Float32, dtype.Int16} {
			for _, channels := range []int{1, 2, 12, 19} {
				for _, samples := range []int{100, 400} {
					for _, last := range []bool{false, true} {
						row := []int{channels, samples}
						if last {
							row = []int{samples, channels}
						}
						x := numbers(name, typ, 12, row, wave(samples, channels, last))
						proposals, err := propose.From(propose.File{Arrays: []propose.Array{x, y}}, propose.Wishes{})
						if err != nil {
							t.Fatalf("%s %v%v: %v", name, typ, row, err)
						}
						model := strings.Join(proposals[0].Model, " ")
						if !strings.Contains(model, "conv1d") || strings.Contains(model, "permute") != last {
							t.Errorf("%s %v%v: proposed %s", name, typ, row, model)
						}
					}
				}
			}
		}
	}
}

// TestSplits: the file's own split comes first, then groups, which stay whole, then uneven classes.
func TestSplits(t *testing.T) {
	const rows = 60
	column := func(path string, f func(row int) float64) propose.Array {
		return numbers(path, dtype.Int64, rows, nil, func(row, _ int) float64 { return f(row) })
	}
	mask := func(path string, f func(row int) bool) propose.Array {
		a := column(path, func(row int) float64 {
			if f(row) {
				return 1
			}
			return 0
		})
		a.Type, a.Stored = dtype.Bool, "bool"
		return a
	}
	words := func(list ...string) propose.Array {
		return texts("/split", rows, func(row int) string { return list[row*len(list)/rows] })
	}
	patients := column("/patient_id", func(row int) float64 { return float64(row / 4 * 13) })
	folds := column("/fold", func(row int) float64 { return float64(row / 4 % 5) })
	torn := column("/fold", func(row int) float64 { return float64(row % 5) })
	even := column("/y", func(row int) float64 { return float64(row % 2) })
	rare := column("/y", func(row int) float64 { return float64(row / 53) })
	steps := column("/data/*/y", func(row int) float64 { return float64(row % 2) })
	episodes := func(path string) propose.Array {
		return texts(path, 5, func(row int) string { return fmt.Sprint("demo_", row) })
	}
	sampled := texts("/patient", rows/2, func(row int) string { return fmt.Sprint(row / 4) }) // other rows than the folds
	sampled.Rows = []int{rows}
	for _, c := range []struct {
		name   string
		y      propose.Array
		beside []propose.Array
		split  string
	}{
		{"nothing", even, nil, "0.1"},
		{"uneven classes", rare, nil, "{fraction: 0.1, stratify: true}"},
		{"patients", even, []propose.Array{patients}, "{fraction: 0.2, group: /patient_id}"},
		{"patients, uneven classes", rare, []propose.Array{patients}, "{fraction: 0.2, group: /patient_id, stratify: true}"},
		{"folds that keep patients whole", even, []propose.Array{patients, folds}, `"mask:/fold==4"`},
		{"folds that do not", even, []propose.Array{patients, torn}, "{fraction: 0.2, group: /patient_id}"},
		{"words", even, []propose.Array{words("train", "val", "test"), patients}, "column:/split"},
		{"words without val", even, []propose.Array{words("train", "test")}, `"mask:/split==test"`},
		{"numbers of parts", even, []propose.Array{column("/partition", func(row int) float64 { return float64(row / 20) })}, `{valid: "/partition==1", train: "/partition==0"}`},
		{"masks", even, []propose.Array{mask("/mask/train", func(row int) bool { return row < 40 }), mask("/mask/valid", func(row int) bool { return row > 50 })}, "{valid: /mask/valid, train: /mask/train}"},
		{"one mask", even, []propose.Array{mask("/is_val", func(row int) bool { return row > 50 })}, "mask:/is_val"},
		{"a mask of training", even, []propose.Array{mask("/is_train", func(row int) bool { return row > 50 })}, `"mask:/is_train==false"`},
		{"a validation set", even, []propose.Array{numbers("/val/x", dtype.Float32, 9, []int{3}, noise)}, "0.1"}, // without its targets
		{"folds beside groups that were sampled elsewhere", even, []propose.Array{sampled, folds}, "{fraction: 0.2, group: /patient}"},
		{"words that train does not know", even, []propose.Array{words("trn", "val")}, "0.1"},
		{"numbers of parts from 1", even, []propose.Array{column("/partition", func(row int) float64 { return float64(1 + row/20) })}, `{valid: "/partition==2", train: "/partition==1"}`},
		{"names of episodes", steps, []propose.Array{episodes("/mask/20_percent_train"), episodes("/mask/20_percent_valid"), episodes("/mask/train"), episodes("/mask/valid")}, "{valid: /mask/valid, train: /mask/train}"},
	} {
		x := numbers(strings.Replace(c.y.Path, "y", "x", 1), dtype.Float32, rows, []int{3}, noise)
		proposals, err := propose.From(propose.File{Arrays: append([]propose.Array{x, c.y}, c.beside...)}, propose.Wishes{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got string
		for _, s := range proposals[0].Data {
			if s.Key == "split" {
				got = s.Value
			}
		}
		if strings.Trim(got, `"`) != strings.Trim(c.split, `"`) {
			t.Errorf("%s: split %s, want %s", c.name, got, c.split)
		}
	}
}

// TestMissingValues: missing values are filled in inputs and left out in targets.
func TestMissingValues(t *testing.T) {
	gaps := func(path string, row []int) propose.Array {
		return numbers(path, dtype.Float32, 60, row, func(row, k int) float64 {
			if row == 7 {
				return math.NaN()
			}
			return random.NormFloat64()
		})
	}
	whole := func(path string, row []int) propose.Array { return numbers(path, dtype.Float32, 60, row, noise) }
	series := numbers("/x", dtype.Float32, 400, []int{3}, func(row, _ int) float64 { return math.Sin(float64(row) / 20) })
	series.Axes = []string{"time", "column"}
	for k := range 3 { // no column is whole
		series.Sample.Values[100+4*k] = math.NaN()
	}
	categories := numbers("/y", dtype.Int8, 60, nil, func(row, _ int) float64 { return float64(row%3 - 1) })
	categories.Names = []string{"a", "b"}
	for name, c := range map[string]struct {
		arrays []propose.Array
		want   string
	}{
		"nothing":                 {[]propose.Array{whole("/x", []int{3}), whole("/y", nil)}, ""},
		"inputs":                  {[]propose.Array{gaps("/x", []int{3}), whole("/y", nil)}, "mean"},
		"targets":                 {[]propose.Array{whole("/x", []int{3}), gaps("/y", nil)}, "ignore"},
		"both":                    {[]propose.Array{gaps("/x", []int{3}), gaps("/y", nil)}, "{x: mean, y: ignore}"},
		"rows without a category": {[]propose.Array{whole("/x", []int{3}), categories}, "ignore"},
		"a series":                {[]propose.Array{series}, "{x: previous, y: ignore}"},
	} {
		proposals, err := propose.From(propose.File{Arrays: c.arrays}, propose.Wishes{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		for _, s := range proposals[0].Data {
			if s.Key == "missing" {
				got = s.Value
			}
		}
		if got != c.want {
			t.Errorf("%s: missing %q, want %q", name, got, c.want)
		}
	}
}

// TestPixelsHaveClasses: maps of integers are classes with a cross entropy over the outputs of a pixel, and one mark of places
// without a class is ignored; floats and other negative numbers are refused.
func TestPixelsHaveClasses(t *testing.T) {
	images := numbers("/images", dtype.Uint8, 40, []int{16, 16}, func(row, k int) float64 { return float64((row*7 + k*k) % 256) })
	labels := func(typ dtype.Type, from float64) propose.Array {
		return numbers("/masks", typ, 40, []int{16, 16}, func(row, k int) float64 { return float64((row+k/16)/3%4) + from })
	}
	for _, c := range []struct {
		masks propose.Array
		want  string // in the error
	}{{labels(dtype.Uint8, 0), ""}, {labels(dtype.Float32, 0), "cross entropy takes integers from 0"}, {labels(dtype.Int16, -1), ""}, {labels(dtype.Int16, -3), "4 classes of places from -3 as int16"}} {
		proposals, err := propose.From(propose.File{Arrays: []propose.Array{images, c.masks}}, propose.Wishes{})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: error %v, want %q", c.masks.Type, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		p, loss, classes := proposals[0], "cross_entropy", 4
		if c.masks.Type == dtype.Int16 {
			loss, classes = "{cross_entropy: {ignore_index: -1}}", 3
		}
		if last := p.Model[len(p.Model)-1]; p.Task != propose.Segment || p.Loss != loss || last != fmt.Sprintf("- conv2d: {out_channels: %d, kernel_size: 1}", classes) {
			t.Errorf("%v: task %s, loss %s, last layer %s", c.masks.Type, p.Task, p.Loss, last)
		}
	}
}

// TestMeasuresFollowTheTarget: each form of a target has its task, loss and metrics, and a reason of both.
func TestMeasuresFollowTheTarget(t *testing.T) {
	const rows, length = 60, 24
	integers := func(path string, typ dtype.Type, row []int, f func(row, k int) float64) propose.Array {
		return numbers(path, typ, rows, row, f)
	}
	tokens := integers("/tokens", dtype.Int16, []int{length}, func(row, k int) float64 {
		if k > 15+row%8 {
			return 0
		}
		return float64(1 + (row*31+k*k*7)%90)
	})
	signal := numbers("/ecg", dtype.Float32, rows, []int{100, 3}, wave(100, 3, true))
	image := integers("/images", dtype.Uint8, []int{16, 16}, func(row, k int) float64 { return float64((row*7 + k*k) % 256) })
	table := numbers("/x", dtype.Float32, rows, []int{6}, noise)
	for _, c := range []struct {
		name                string
		x, y                propose.Array
		task                propose.Task
		loss, metrics, last string
	}{
		{"labels of tokens", tokens, integers("/tags", dtype.Int8, []int{length}, func(row, k int) float64 {
			if k > 15+row%8 {
				return -100
			}
			return float64((row + k) % 5)
		}), propose.Segment, "{cross_entropy: {ignore_index: -100}}", "[{iou: {ignore_index: -100}}]", "- conv1d: {out_channels: 5, kernel_size: 1}"},
		{"labels of tokens without a name that says so", tokens, integers("/z", dtype.Uint8, []int{length}, func(row, k int) float64 { return float64((row + k) % 4) }), propose.Segment, "cross_entropy", "[iou]", "- conv1d: {out_channels: 4, kernel_size: 1}"},
		{"a label of a sentence", tokens, integers("/label", dtype.Int64, nil, func(row, _ int) float64 { return float64(row * 7 % 3) }), propose.Classify, "cross_entropy", "", "- dense: 3"},
		{"a number of a sentence", tokens, numbers("/score", dtype.Float32, rows, nil, noise), propose.Regress, "mse", "[mae, r2]", "- dense: 1"},
		{"labels of steps", signal, integers("/labels", dtype.Uint8, []int{100}, func(row, k int) float64 { return float64((row + k/20) % 4) }), propose.Segment, "cross_entropy", "[iou]", "- conv1d: {out_channels: 4, kernel_size: 1}"},
		{"labels of pixels, one of which is void", image, integers("/masks", dtype.Uint8, []int{16, 16}, func(row, k int) float64 {
			if k%16 == 0 {
				return 255
			}
			return float64((row + k/40) % 3)
		}), propose.Segment, "{cross_entropy: {ignore_index: 255}}", "[{iou: {ignore_index: 255}}]", "- conv2d: {out_channels: 3, kernel_size: 1}"},
		{"masks", image, integers("/masks", dtype.Uint8, []int{16, 16}, func(row, k int) float64 { return float64((row + k/40) % 2) }), propose.Segment, "bce_with_logits", "[{iou: {masks: true}}]", "- conv2d: {out_channels: 1, kernel_size: 1}"},
		{"uneven classes", table, integers("/y", dtype.Int64, nil, func(row, _ int) float64 { return float64(row / 53) }), propose.Classify, "cross_entropy", "[f1]", "mlp"},
		{"numbers", table, numbers("/y", dtype.Float32, rows, nil, noise), propose.Regress, "mse", "[mae, r2]", "- dense: 1"},
	} {
		proposals, err := propose.From(propose.File{Arrays: []propose.Array{c.x, c.y}}, propose.Wishes{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p := proposals[0]
		if p.Task != c.task || p.Loss != c.loss || p.Metrics != c.metrics || p.Model[len(p.Model)-1] != c.last || p.LossWhy == "" || (p.Metrics == "") != (p.MetricsWhy == "") {
			t.Errorf("%s: task %s, loss %s (%s), metrics %s (%s), last layer %s", c.name, p.Task, p.Loss, p.LossWhy, p.Metrics, p.MetricsWhy, p.Model[len(p.Model)-1])
		}
	}
}

// TestTokensAreCountedWhole: the table of an embedding has a row for the largest integer of the file, which a sample may lack, and of
// its validation data.
func TestTokensAreCountedWhole(t *testing.T) {
	tokens := func(path string) propose.Array {
		return numbers(path, dtype.Int32, 60, []int{20}, func(row, k int) float64 { return float64((row*31 + k*7) % 50) })
	}
	labels := func(path string) propose.Array {
		return numbers(path, dtype.Int32, 60, nil, func(row, _ int) float64 { return float64(row % 3) })
	}
	largest := map[string]float64{"/train/tokens": 60, "/val/tokens": 70}
	f := propose.File{Arrays: []propose.Array{tokens("/train/tokens"), labels("/train/labels"), tokens("/val/tokens"), labels("/val/labels")}}
	f.Largest = func(path string) (float64, error) { return largest[path], nil }
	proposals, err := propose.From(f, propose.Wishes{})
	if err != nil || !strings.Contains(proposals[0].Model[0], "num_embeddings: 71,") {
		t.Fatalf("%v, %v; want a table of 71 rows", proposals, err)
	}
	largest["/val/tokens"] = 1e9
	if _, err = propose.From(f, propose.Wishes{}); err == nil || !strings.Contains(err.Error(), "number the words from 0") {
		t.Errorf("%v; want a refusal of a table of this size", err)
	}
}

// TestTargetsHaveLosses: targets of several forms have losses of their own.
func TestTargetsHaveLosses(t *testing.T) {
	image := func(path string, rows int) propose.Array {
		return numbers(path, dtype.Uint8, rows, []int{16, 16}, func(row, k int) float64 { return float64((row*7 + k*k) % 256) })
	}
	var arrays []propose.Array
	for i, part := range []string{"/train", "/val"} {
		rows := 60 - 40*i
		arrays = append(arrays, image(part+"/images", rows), numbers(part+"/kinds", dtype.Uint8, rows, nil, func(row, _ int) float64 { return float64(row % 3) }),
			numbers(part+"/places", dtype.Float32, rows, []int{2}, noise))
	}
	proposals, err := propose.From(propose.File{Arrays: arrays}, propose.Wishes{X: []string{"/train/images"}, Y: []string{"/train/kinds", "/train/places"}})
	if err != nil {
		t.Fatal(err)
	}
	p := proposals[0]
	want := []string{"y_kinds: {loss: cross_entropy}   # labels of classes, whose accuracy is shown", "y_places: {loss: mse, metrics: [mae, r2]}   # numbers"}
	if !slices.Equal(p.Targets, want) || !strings.Contains(fmt.Sprint(p.Data), "{val_y {y_kinds: /val/kinds, y_places: /val/places} }") {
		t.Errorf("targets %q, data %v", p.Targets, p.Data)
	}
}
