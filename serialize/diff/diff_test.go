package diff_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/diff"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/views"
)

// file returns a file of arrays in memory.
func file(t *testing.T, arrays map[string]storage.Array) serialize.File {
	l := serialize.NewList(len(arrays), nil, func() error { return nil })
	names := make([]string, 0, len(arrays))
	for name := range arrays {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := l.Add(serialize.Entry{Name: name, Array: arrays[name]}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestIntegersAreGivenExactly: float64 has fewer digits.
func TestIntegersAreGivenExactly(t *testing.T) {
	a, b := storage.From([]int64{1<<62 + 1}, 1), storage.From([]int64{-1<<62 - 2}, 1)
	r, err := diff.Files(context.Background(), file(t, map[string]storage.Array{"n": a}), file(t, map[string]storage.Array{"n": b}), diff.Options{})
	if err != nil || r.Differ[0].Integers != [2]string{"4611686018427387905", "-4611686018427387906"} {
		t.Errorf("%+v, %v", r.Differ, err)
	}
}

// Example compares two files that differ in one element.
func Example() {
	list := func(x float32) serialize.File {
		l := serialize.NewList(1, nil, func() error { return nil })
		l.Add(serialize.Entry{Name: "w", Array: storage.From([]float32{1, 2, x, 4}, 2, 2)}, nil)
		return l
	}
	r, err := diff.Files(context.Background(), list(3), list(3.5), diff.Options{})
	d := r.Differ[0]
	fmt.Println(d.Name, d.Different, d.Worst, d.Absolute, d.ULP, err)
	// Output: w 1 [1 0] 0.5 2.097152e+06 <nil>
}

// TestDifferencesAreMeasured in all the ways that a report has.
func TestDifferencesAreMeasured(t *testing.T) {
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	next := func(x float32, n int) float32 {
		for range n {
			x = math.Nextafter32(x, inf)
		}
		return x
	}
	f32 := func(xs ...float32) storage.Array { return storage.From(xs, len(xs)) }
	for name, c := range map[string]struct {
		a, b      storage.Array
		o         diff.Options
		different int
		absolute  float64
		ulp       float64
		worst     []int
	}{
		"equal":               {a: f32(1, 2), b: f32(1, 2)},
		"NaN equals NaN":      {a: f32(nan, 2), b: f32(nan, 2)},
		"zeros of both signs": {a: f32(0), b: f32(float32(math.Copysign(0, -1)))},
		"one ULP":             {a: f32(1, 2), b: f32(1, next(2, 1)), different: 1, absolute: float64(next(2, 1) - 2), ulp: 1, worst: []int{1}},
		"ULPs over zero":      {a: f32(next(0, 2)), b: f32(-next(0, 3)), different: 1, absolute: 5 * math.SmallestNonzeroFloat32, ulp: 5, worst: []int{0}},
		"NaN and a number":    {a: f32(nan), b: f32(1), different: 1, absolute: math.Inf(1), ulp: math.Inf(1), worst: []int{0}},
		"infinite":            {a: f32(inf, 1), b: f32(inf, 1)},
		"infinite and others, within no tolerance": {a: f32(1, -inf, nan, inf), b: f32(inf, inf, inf, inf), o: diff.Options{Relative: 0.1}, different: 3,
			absolute: math.Inf(1), ulp: math.Inf(1), worst: []int{0}},
		"within the tolerance": {a: f32(1, 100), b: f32(1, 100.5), o: diff.Options{Relative: 0.01}},
		"beyond the tolerance": {a: f32(1, 100), b: f32(1.5, 100.5), o: diff.Options{Relative: 0.01}, different: 1, absolute: 0.5, ulp: 1 << 22, worst: []int{0}},
		"tolerance of b":       {a: f32(3), b: f32(4), o: diff.Options{Relative: 0.25}},
		"tolerance not of a":   {a: f32(4), b: f32(3), o: diff.Options{Relative: 0.25}, different: 1, absolute: 1, ulp: 1 << 22, worst: []int{0}},
		"absolute tolerance":   {a: f32(1, 100), b: f32(1.25, 101), o: diff.Options{Absolute: 0.5}, different: 1, absolute: 1, ulp: 1 << 17, worst: []int{1}},
		"relative, not absolute": {a: storage.From([]float64{1, 1000}, 2), b: storage.From([]float64{2, 1010}, 2),
			different: 2, absolute: 10, ulp: 1 << 52, worst: []int{0}},
		"large integers":              {a: storage.From([]int64{1<<62 + 1}, 1), b: storage.From([]int64{1 << 62}, 1), different: 1, absolute: 1, ulp: math.NaN(), worst: []int{0}},
		"large integers of two types": {a: storage.From([]int64{1<<62 + 1, 5}, 2), b: storage.From([]uint64{1<<62 + 3, 5}, 2), o: diff.Options{IgnoreTypes: true}, different: 1, absolute: 2, ulp: math.NaN(), worst: []int{0}},
		"a large integer and a float": {a: storage.From([]int64{1<<62 + 1, 5}, 2), b: storage.From([]float64{1 << 62, 5}, 2), o: diff.Options{IgnoreTypes: true}, different: 1, absolute: 1, ulp: math.NaN(), worst: []int{0}},
		"NaN in one part":             {a: storage.From([]complex128{complex(math.NaN(), 1)}, 1), b: storage.From([]complex128{complex(math.NaN(), 2)}, 1), different: 1, absolute: math.Inf(1), ulp: math.NaN(), worst: []int{0}},
		"NaN and infinite parts": {a: storage.From([]complex128{complex(math.NaN(), math.Inf(1)), 1}, 2), b: storage.From([]complex128{complex(math.NaN(), math.Inf(1)), 2}, 2),
			different: 1, absolute: 1, ulp: math.NaN(), worst: []int{1}},
		"complex":           {a: storage.From([]complex64{1 + 3i}, 1), b: storage.From([]complex64{1}, 1), different: 1, absolute: 3, ulp: math.NaN(), worst: []int{0}},
		"bools":             {a: storage.From([]bool{true}, 1), b: storage.From([]bool{false}, 1), different: 1, absolute: 1, ulp: math.NaN(), worst: []int{0}},
		"empty":             {a: f32(), b: f32()},
		"half precision":    {a: storage.From([]dtype.BF16{dtype.BF16From(1)}, 1), b: storage.From([]dtype.BF16{dtype.BF16From(1) + 3}, 1), different: 1, absolute: 3.0 / 128, ulp: 3, worst: []int{0}},
		"eight bits":        {a: storage.From([]dtype.F8E5M2{dtype.F8E5M2From(-1)}, 1), b: storage.From([]dtype.F8E5M2{dtype.F8E5M2From(1)}, 1), different: 1, absolute: 2, ulp: 120, worst: []int{0}},
		"types are ignored": {a: f32(1, 2), b: storage.From([]float64{1, 2}, 2), o: diff.Options{IgnoreTypes: true}},
	} {
		r, err := diff.Files(context.Background(), file(t, map[string]storage.Array{"w": c.a}), file(t, map[string]storage.Array{"w": c.b}), c.o)
		if err != nil {
			t.Fatal(err)
		}
		if c.different == 0 {
			if !r.Same() || r.Equal != 1 {
				t.Errorf("%s: %+v", name, r)
			}
			continue
		}
		if len(r.Differ) != 1 {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		d := r.Differ[0]
		if d.Different != c.different || d.Absolute != c.absolute || d.ULP != c.ulp && !(math.IsNaN(d.ULP) && math.IsNaN(c.ulp)) || !slices.Equal(d.Worst, c.worst) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestManyElementsAreComparedInBlocks: the last one counts, through other strides as well.
func TestManyElementsAreComparedInBlocks(t *testing.T) {
	xs, ys := make([]float32, 1<<20), make([]float64, 1<<20)
	for i := range xs {
		xs[i], ys[(i%1024)*1024+i/1024] = float32(i), float64(i)
	}
	ys[len(ys)-1]++
	y := storage.From(ys, 1024, 1024)
	turned, _ := y.Transpose()
	r, err := diff.Files(context.Background(), file(t, map[string]storage.Array{"w": storage.From(xs, 1024, 1024)}), file(t, map[string]storage.Array{"w": y.With(turned)}), diff.Options{IgnoreTypes: true})
	if err != nil || len(r.Differ) != 1 || r.Differ[0].Different != 1 || !slices.Equal(r.Differ[0].Worst, []int{1023, 1023}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTheIndexOfADifferenceIsThatOfTheShape, in whatever order arrays of three axes are stored.
func TestTheIndexOfADifferenceIsThatOfTheShape(t *testing.T) {
	shape, want := []int{2, 3, 4}, []int{1, 0, 3}
	as := func(order []int, x float32) storage.Array {
		stored := make([]int, len(shape))
		for axis, k := range order {
			stored[k] = shape[axis]
		}
		a := storage.From(make([]float32, 24), stored...)
		a.View, _ = a.Transpose(order...)
		one := a
		for axis, i := range want {
			one.View, _ = one.Slice(axis, i, i+1, 1)
		}
		if err := storage.Fill(one, x); err != nil {
			t.Fatal(err)
		}
		return a
	}
	orders := [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}
	for _, p := range orders {
		for _, q := range orders {
			a, b := as(p, 1), as(q, 2)
			r, err := diff.Files(context.Background(), file(t, map[string]storage.Array{"w": a}), file(t, map[string]storage.Array{"w": b}), diff.Options{})
			if err != nil || len(r.Differ) != 1 || r.Differ[0].Different != 1 || !slices.Equal(r.Differ[0].Worst, want) {
				t.Errorf("%v and %v: %+v, %v", p, q, r, err)
			}
		}
	}
}

// TestNamesShapesAndTypesAreCompared, and the worst arrays come first.
func TestNamesShapesAndTypesAreCompared(t *testing.T) {
	one := storage.From([]float32{1}, 1)
	a := file(t, map[string]storage.Array{"only a": one, "shape": one, "type": one, "little": storage.From([]float32{1, 100}, 2), "much": one, "same": one})
	b := file(t, map[string]storage.Array{"only b": one, "shape": storage.From([]float32{1}, 1, 1), "type": storage.From([]float64{1}, 1), "little": storage.From([]float32{1, 101}, 2), "much": storage.From([]float32{-1}, 1), "same": one})
	r, err := diff.Files(context.Background(), a, b, diff.Options{})
	var names []string
	for _, d := range r.Differ {
		names = append(names, d.Name)
	}
	if err != nil || fmt.Sprint(names, r.OnlyA, r.OnlyB, r.Equal, r.Same()) != "[shape much little type] [only a] [only b] 1 false" {
		t.Errorf("%v %v %v %d, %v", names, r.OnlyA, r.OnlyB, r.Equal, err)
	}
}

// TestArraysThatCannotBeReadDiffer.
func TestArraysThatCannotBeReadDiffer(t *testing.T) {
	l := serialize.NewList(1, nil, func() error { return nil })
	if err := l.Add(serialize.Unsupported("w", []int{2}, "float4")); err != nil {
		t.Fatal(err)
	}
	r, err := diff.Files(context.Background(), l, l, diff.Options{})
	if err != nil || len(r.Differ) != 1 || !errors.Is(r.Differ[0].Err, dtype.ErrType) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestNamesOfLoneArrays compares files with one array each under different names, on request.
func TestNamesOfLoneArrays(t *testing.T) {
	one := func(name string, values ...float32) map[string]storage.Array {
		return map[string]storage.Array{name: storage.From(values, len(values))}
	}
	two := one("w", 1, 2)
	two["b"] = storage.From([]float32{1, 2}, 2)
	for _, test := range []struct {
		a, b                   map[string]storage.Array
		equal, differ, onlyOne int
	}{
		{one("x", 1, 2), one("y", 1, 2), 1, 0, 0},
		{one("x", 1, 2), one("y", 1, 3), 0, 1, 0},
		{two, one("y", 1, 2), 0, 0, 3},
		{one("y", 1, 2), two, 0, 0, 3},
		{one("b", 1, 2), two, 1, 0, 1},
	} {
		r, err := diff.Files(context.Background(), file(t, test.a), file(t, test.b), diff.Options{IgnoreNames: true})
		if err != nil || r.Equal != test.equal || len(r.Differ) != test.differ || len(r.OnlyA)+len(r.OnlyB) != test.onlyOne {
			t.Errorf("%v and %v: %+v, %v", test.a, test.b, r, err)
		}
	}
	if r, _ := diff.Files(context.Background(), file(t, one("x", 1)), file(t, one("y", 1)), diff.Options{}); r.Same() {
		t.Error("arrays of different names are equal without IgnoreNames")
	}
}

// TestManyTextsAreComparedInRows finds a difference beyond the first rows that are read.
func TestManyTextsAreComparedInRows(t *testing.T) {
	texts := func(other int) serialize.File {
		v := views.Of(3000, 7)
		most := 0
		t.Cleanup(func() {
			if most > 1<<14 {
				t.Errorf("%d elements were read at a time", most)
			}
		})
		l := serialize.NewList(1, nil, func() error { return nil })
		err := l.Add(serialize.Entry{Name: "names", Elements: &serialize.Elements{View: v, Type: "string", Values: func(v views.View) (all []any, err error) {
			most = max(most, v.Len())
			for k := range v.Positions() {
				all = append(all, fmt.Sprint(k == other))
			}
			return all, nil
		}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	r, err := diff.Files(context.Background(), texts(20000), texts(-1), diff.Options{})
	if err != nil || len(r.Differ) != 1 || r.Differ[0].Different != 1 || !slices.Equal(r.Differ[0].Worst, []int{2857, 1}) {
		t.Errorf("%+v, %v; want one difference at [2857 1]", r, err)
	}
}

// TestWhatWasNeverWrittenIsNotRead compares arrays of 4 TiB of which a few chunks are stored.
func TestWhatWasNeverWrittenIsNotRead(t *testing.T) {
	const side = 1 << 20
	chunks := hdf5write.Layout{Chunks: []int{64, 64}}
	save := func(x float32) serialize.File {
		name := filepath.Join(t.TempDir(), "sparse.h5")
		w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		for _, path := range []string{"/none", "/some"} {
			d, err := w.CreateDataset(path, dtype.Float32, []int{side, side}, chunks)
			if err == nil && path == "/some" {
				err = errors.Join(d.WriteAt([]int{70, 1000}, storage.From([]float32{1, 2, 3}, 1, 3)), d.WriteAt([]int{side / 2, side / 2}, storage.From([]float32{x}, 1, 1)),
					d.WriteAt([]int{side - 1, side - 1}, storage.From([]float32{4}, 1, 1)))
			}
			if err == nil {
				err = d.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute) // reading all would take hours
	defer stop()
	a, b := save(5), save(6)
	if r, err := diff.Files(ctx, a, a, diff.Options{}); err != nil || r.Equal != 2 || !r.Same() {
		t.Errorf("a file and itself: %+v, %v", r, err)
	}
	r, err := diff.Files(ctx, a, b, diff.Options{})
	if err != nil || r.Equal != 1 || len(r.Differ) != 1 {
		t.Fatalf("one element is another: %+v, %v", r, err)
	}
	if d := r.Differ[0]; d.Name != "some" || d.Different != 1 || !slices.Equal(d.Worst, []int{side / 2, side / 2}) || d.X != 5 || d.Y != 6 {
		t.Errorf("%+v: want element [%d %[2]d], 5 and 6", d, side/2)
	}
}

// TestFillValuesAreCompared counts all elements if those that were never written differ.
func TestFillValuesAreCompared(t *testing.T) {
	open := func(x float32) serialize.File {
		array := storage.Array{Data: filled{x}, Type: dtype.Float32, View: views.Of(1<<20, 1<<20)}
		return file(t, map[string]storage.Array{"w": array})
	}
	r, err := diff.Files(t.Context(), open(1), open(2), diff.Options{})
	if err != nil || len(r.Differ) != 1 || r.Differ[0].Different != 1<<40 || r.Differ[0].Absolute != 1 {
		t.Errorf("%+v, %v: want all elements to differ by 1", r, err)
	}
}

// filled is a source whose elements were never written.
type filled struct{ x float32 }

func (filled) Len() int                                      { return 4 << 40 }
func (filled) Device() storage.Device                        { return storage.File("filled") }
func (filled) ReadView([]byte, dtype.Type, views.View) error { return errors.New("was read") }
func (f filled) FillValue(views.View) (element []byte, ok bool) {
	return dtype.Bytes([]float32{f.x}), true
}
