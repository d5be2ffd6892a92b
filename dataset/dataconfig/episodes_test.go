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

// TestWindowsStayWithinEpisodes however the file marks 20 rows as episodes of 7, 1, 8 and 4.
func TestWindowsStayWithinEpisodes(t *testing.T) {
	files := library()
	ids := []int64{5, 5, 5, 5, 5, 5, 5, 9, 5, 5, 5, 5, 5, 5, 5, 5, 0, 0, 0, 0}
	words := make([]string, 20)
	for k, id := range ids {
		words[k] = string('a' + rune(id))
	}
	files["a:ids"], files["a:words"] = storage.From(ids, 20), words
	files["a:lengths"] = storage.From([]int32{7, 1, 8, 4}, 4)
	files["a:starts"] = storage.From([]int64{0, 7, 8, 16}, 4)
	files["a:offsets"] = storage.From([]int64{0, 7, 8, 16, 20}, 5)
	for _, path := range []string{"ids", "words", "lengths", "starts", "offsets"} {
		c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("x"), Steps: 4, Episodes: path}
		data, err := dataconfig.Open(c, 1, files)
		if err != nil {
			t.Fatal(path, err)
		}
		if got, want := numbers(t, data.Train), []int{0, 1, 2, 3, 8, 9, 10, 11, 12, 16}; !slices.Equal(got, want) {
			t.Errorf("%s: windows from rows %v, want %v", path, got, want)
		}
		c.Rows = dataconfig.Names{"[2:11]"}
		if data, err = dataconfig.Open(c, 1, files); err != nil {
			t.Fatal(path, err)
		}
		if got, want := numbers(t, data.Train), []int{2, 3}; !slices.Equal(got, want) {
			t.Errorf("%s: of rows 2 to 10, windows from rows %v, want %v", path, got, want)
		}
	}
	files["a:wrong"], files["a:late"], files["a:floats"] = storage.From([]int64{7, 1, 8}, 3), storage.From([]int64{0, 9, 30}, 3), storage.From([]float32{1}, 1)
	for path, kind := range map[string]error{"wrong": views.ErrShape, "late": views.ErrShape, "floats": nil} {
		c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("x"), Steps: 4, Episodes: path}
		if _, err := dataconfig.Open(c, 1, files); err == nil || kind != nil && !errors.Is(err, kind) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// TestFramesOfWindows: inputs have some rows of a window, and know which.
func TestFramesOfWindows(t *testing.T) {
	c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Paths{{Name: "all", Path: "x"}, {Name: "some", Path: "x"}}, Steps: 8,
		Frames: dataconfig.Paths{{Name: "some", Path: "1::3"}}}
	if err := c.CheckSamples(); err != nil {
		t.Fatal(err)
	}
	data, err := dataconfig.Open(c, 1, library())
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range dataset.Load(t.Context(), data.Train, dataset.Options{BatchSize: 4}) {
		if err != nil {
			t.Fatal(err)
		}
		all, some := storage.Elements[float32](b.Fields[0]), storage.Elements[float32](b.Fields[1])
		for k, row := range b.Rows {
			for i, step := range []int{1, 4, 7} {
				if got := some[k*3+i]; got != all[k*8+step] || got != float32(row+step) {
					t.Errorf("sample %d, frame %d: %v; the window has %v", row, i, got, all[k*8:k*8+8])
				}
			}
		}
	}
	if at := dataset.Locate(data.Train, 1, 5, 2); at.Row != 12 {
		t.Errorf("frame 2 of sample 5 is row %d, want 12", at.Row)
	}
	for slice, steps := range map[string]int{"8:": 8, "::-1": 8, "3": 8, "::5": 1, "x": 8} {
		c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Path("x"), Steps: steps, Frames: dataconfig.Path(slice)}
		err := c.CheckSamples()
		if err == nil {
			_, err = dataconfig.Open(c, 1, library())
		}
		if err == nil {
			t.Errorf("frames %q of %d steps: no error", slice, steps)
		}
	}
	c.Frames[0].Name = "sum"
	if err := c.CheckSamples(); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("frames of an input that is not there: %v", err)
	}
}

// TestWindowsBeyondEpisodes begin before their episode or end after it, with copies of its first and last row, in
// every order, and wherever rows are stored.
func TestWindowsBeyondEpisodes(t *testing.T) {
	files := library()
	files["a:lengths"] = storage.From([]int32{7, 1, 8, 4}, 4)
	c := dataconfig.Config{File: dataconfig.Names{"a"}, X: dataconfig.Paths{{Name: "all", Path: "x"}, {Name: "some", Path: "x"}}, Steps: 5,
		Y: dataconfig.Path("x"), YAhead: new(1), Frames: dataconfig.Paths{{Name: "some", Path: "::2"}}, Episodes: "lengths", PadBefore: 4, PadAfter: 2}
	for _, test := range []struct {
		path     string
		episodes [][2]int
	}{
		{"x", [][2]int{{0, 6}, {7, 7}, {8, 15}, {16, 19}}}, {"/e/*/x", [][2]int{{0, 5}, {6, 7}, {8, 16}}}, // as groups, one shorter than a window
	} {
		path, want := test.path, [][9]float32(nil) // five rows, three of them again, and the next one
		for _, bounds := range test.episodes {
			for start := bounds[0] - 4; start+5 <= bounds[1]+2; start++ {
				var rows [9]float32
				for k, at := range []int{0, 1, 2, 3, 4, 0, 2, 4, 5} {
					rows[k] = float32(min(max(start+at, bounds[0]), bounds[1]))
				}
				want = append(want, rows)
			}
		}
		if c.X[0].Path, c.X[1].Path, c.Y = path, path, dataconfig.Path(path); path != "x" {
			c.Episodes = ""
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		data, err := dataconfig.Open(c, 1, files)
		if err != nil {
			t.Fatal(err)
		}
		if data.Train.Len() != len(want) {
			t.Fatalf("%d windows, want %d", data.Train.Len(), len(want))
		}
		seen := 0
		for b, err := range dataset.Load(t.Context(), data.Train, dataset.Options{BatchSize: 4, Shuffle: dataset.Exact}) {
			if err != nil {
				t.Fatal(err)
			}
			for k, row := range b.Rows {
				var got [9]float32
				copy(got[:], storage.Elements[float32](b.Fields[0])[k*5:][:5])
				copy(got[5:], storage.Elements[float32](b.Fields[1])[k*3:][:3])
				copy(got[8:], storage.Elements[float32](b.Fields[2])[k:][:1])
				if seen++; got != want[row] {
					t.Errorf("%s: window %d: rows %v, want %v", path, row, got, want[row])
				}
				for i := range 5 {
					if at := dataset.Locate(data.Train, 0, row, i); path == "x" && float32(at.Row) != want[row][i] {
						t.Errorf("row %d of window %d is said to be row %d, want %v", i, row, at.Row, want[row][i])
					}
				}
			}
		}
		if seen != len(want) {
			t.Errorf("%d samples of %d", seen, len(want))
		}
	}
	for _, wrong := range []dataconfig.Config{{PadBefore: 5}, {PadAfter: -1}} {
		c := c
		c.PadBefore, c.PadAfter, c.YAhead, c.Y = wrong.PadBefore, wrong.PadAfter, nil, nil
		if err := c.CheckSamples(); !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
