package serialize_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

// counted returns an array of the numbers from 0 on.
func counted(shape ...int) storage.Array {
	elems := make([]float32, views.Of(shape...).Len())
	for i := range elems {
		elems[i] = float32(i)
	}
	return storage.From(elems, shape...)
}

// TestPlansKeepSharedElements: what entries share is one storage, and reading each planned
// view gives the elements of its entry.
func TestPlansKeepSharedElements(t *testing.T) {
	a := counted(6, 4)
	must := func(v views.View, err error) storage.Array {
		if err != nil {
			t.Fatal(err)
		}
		return a.With(v)
	}
	turned := must(a.Transpose())
	flipped := must(a.Flip(0))
	top, middle, bottom := must(a.Slice(0, 0, 3, 1)), must(a.Slice(0, 2, 4, 1)), must(a.Slice(0, 4, 6, 1))
	columns := must(a.Slice(1, 0, 4, 3))
	wide, _ := a.Broadcast(2, 6, 4)
	for name, c := range map[string]struct {
		arrays   []storage.Array
		shared   string
		storages []int // their lengths
		strides  [][]int
	}{
		"tied":                   {[]storage.Array{a, a}, "s", []int{24}, [][]int{{4, 1}, {4, 1}}},
		"not said to be shared":  {[]storage.Array{a, a}, "", []int{24, 24}, [][]int{{4, 1}, {4, 1}}},
		"transposed":             {[]storage.Array{turned}, "", []int{24}, [][]int{{1, 4}}},
		"whole and transposed":   {[]storage.Array{a, turned}, "s", []int{24}, [][]int{{4, 1}, {1, 4}}},
		"flipped":                {[]storage.Array{a, flipped, flipped}, "s", []int{24, 24}, [][]int{{4, 1}, {4, 1}, {4, 1}}},
		"parts that overlap":     {[]storage.Array{bottom, middle, top}, "s", []int{16, 8}, [][]int{{4, 1}, {4, 1}, {4, 1}}},
		"parts that do not":      {[]storage.Array{bottom, top}, "s", []int{12, 8}, [][]int{{4, 1}, {4, 1}}},
		"few elements of many":   {[]storage.Array{columns}, "s", []int{12}, [][]int{{2, 1}}},
		"few elements and all":   {[]storage.Array{columns, a}, "s", []int{24}, [][]int{{4, 3}, {4, 1}}},
		"broadcast":              {[]storage.Array{a.With(wide)}, "", []int{24}, [][]int{{0, 4, 1}}},
		"empty":                  {[]storage.Array{counted(0, 3), counted(0, 3)}, "s", []int{0, 0}, [][]int{{3, 1}, {3, 1}}},
		"another type, the same": {[]storage.Array{a, {Data: a.Data, Type: dtype.Int32, View: a.View}}, "s", []int{24, 24}, [][]int{{4, 1}, {4, 1}}},
	} {
		var entries []serialize.Entry
		for i, x := range c.arrays {
			entries = append(entries, serialize.Entry{Name: fmt.Sprint(i), Array: x, Shared: c.shared})
		}
		plan := serialize.NewPlan(entries)
		var lengths []int
		for _, a := range plan.Storages {
			lengths = append(lengths, a.Len())
		}
		slices.Sort(lengths)
		slices.Sort(c.storages)
		if !slices.Equal(lengths, c.storages) {
			t.Errorf("%s: storages of %v elements, want %v", name, lengths, c.storages)
		}
		for i := range entries {
			p := plan.Views[i]
			if !slices.Equal(p.View.Stride, c.strides[i]) {
				t.Errorf("%s: entry %d has strides %v, want %v", name, i, p.View.Stride, c.strides[i])
			}
			var written bytes.Buffer
			if _, err := plan.Storages[p.Storage].WriteTo(&written); err != nil {
				t.Fatal(err)
			}
			got := storage.Array{Data: storage.Wrap(written.Bytes()), Type: c.arrays[i].Type, View: p.View}
			var x, y bytes.Buffer
			_, err1 := got.WriteTo(&x)
			_, err2 := c.arrays[i].WriteTo(&y)
			if err := errors.Join(err1, err2); err != nil || !bytes.Equal(x.Bytes(), y.Bytes()) {
				t.Errorf("%s: entry %d is % x, %v; want % x", name, i, x.Bytes(), err, y.Bytes())
			}
		}
	}
}

// TestViewsOfFilesAreChecked before anything is made of them.
func TestViewsOfFilesAreChecked(t *testing.T) {
	in := serialize.Input{Options: serialize.Options{Budget: storage.NewBudget(1 << 20)}}
	for name, c := range map[string]struct {
		shape, stride []int
		offset        int
		kind          error
	}{
		"row-major":               {[]int{2, 3}, []int{3, 1}, 0, nil},
		"transposed":              {[]int{3, 2}, []int{1, 3}, 0, nil},
		"a scalar at the end":     {nil, nil, 5, nil},
		"empty, anywhere":         {[]int{0, 5}, []int{1 << 60, 1}, 1 << 60, nil},
		"broadcast":               {[]int{100, 6}, []int{0, 1}, 0, nil},
		"one too far":             {[]int{2, 3}, []int{3, 1}, 1, views.ErrShape},
		"a negative stride":       {[]int{6}, []int{-1}, 5, views.ErrShape},
		"a negative offset":       {[]int{1}, []int{1}, -1, views.ErrShape},
		"a negative size":         {[]int{-1}, []int{1}, 0, views.ErrShape},
		"strides missing":         {[]int{2, 3}, []int{3}, 0, views.ErrShape},
		"overflow of the reach":   {[]int{3}, []int{math.MaxInt / 2}, 4, views.ErrShape},
		"overflow of the count":   {[]int{math.MaxInt, math.MaxInt}, []int{0, 0}, 0, views.ErrShape},
		"more than the budget":    {[]int{1 << 40, 6}, []int{0, 1}, 0, storage.ErrState},
		"offset after everything": {[]int{1}, []int{1}, 6, views.ErrShape},
	} {
		v, err := in.View(dtype.Float32, c.shape, c.stride, c.offset, 24)
		if !errors.Is(err, c.kind) || err == nil && !slices.Equal(v.Shape, c.shape) {
			t.Errorf("%s: %v, %v; want %v", name, v, err, c.kind)
		}
	}
}

// TestListsFindEntriesByName, and have each name once.
func TestListsFindEntriesByName(t *testing.T) {
	closed := 0
	l := serialize.NewList(2, nil, func() error { closed++; return nil })
	if err := errors.Join(l.Add(serialize.Entry{Name: "a", Array: counted(2)}, nil), l.Add(serialize.Unsupported("b", []int{2, 4}, "float4_e2m1"))); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(serialize.Entry{Name: "a"}, nil); !errors.Is(err, storage.ErrState) {
		t.Errorf("a name twice: %v", err)
	}
	if e, err := serialize.Lookup(l, "a"); err != nil || e.Array.Len() != 2 {
		t.Errorf("a: %v, %v", e, err)
	}
	if e, err := serialize.Lookup(l, "b"); !errors.Is(err, dtype.ErrType) || e.Elements == nil || !slices.Equal(e.Elements.View.Shape, []int{2, 4}) {
		t.Errorf("elements of an unknown type: %+v, %v", e, err)
	}
	want := `no array "c"; there are ["a" "b"]`
	if _, err := serialize.Lookup(l, "c"); !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("a name that is not there: %v, want %s", err, want)
	}
	l.Close()
	l.Close()
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}

// TestLoadReadsAllArrays, and returns the error of one that cannot be read.
func TestLoadReadsAllArrays(t *testing.T) {
	l := serialize.NewList(0, nil, func() error { return nil })
	for i := range 100 {
		if err := l.Add(serialize.Entry{Name: fmt.Sprint(i), Array: counted(i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	list, err := serialize.Load(l)
	if err != nil || len(list) != 100 {
		t.Fatal(len(list), err)
	}
	for i, e := range list {
		if e.Name != fmt.Sprint(i) || e.Array.Len() != i || e.Array.Data.Device() != storage.CPU {
			t.Errorf("entry %d: %s %v", i, e.Name, e.Array)
		}
	}
	if err := l.Add(serialize.Unsupported("x", nil, "float4")); err != nil {
		t.Fatal(err)
	}
	if _, err := serialize.Load(l); !errors.Is(err, dtype.ErrType) {
		t.Errorf("with an array that cannot be read: %v", err)
	}
}

// TestMissingNamesAreNotListedWithoutEnd: an error about a name shows the first ones and the number of
// the others, and the nearest.
func TestMissingNamesAreNotListedWithoutEnd(t *testing.T) {
	l := serialize.NewList(0, nil, func() error { return nil })
	for i := range 12 {
		l.Add(serialize.Entry{Name: fmt.Sprintf("layer%d", i), Array: counted(1)}, nil)
	}
	want := `no array "layer99"; did you mean layer9?; there are ["layer0" "layer1" "layer2" "layer3" "layer4" "layer5" "layer6" "layer7" "layer8"] and 3 others`
	if _, err := serialize.Find(l, "layer99"); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestViewsOfOneStorage: the time of many views of one storage grows with their number. Comparing each with
// all before it took 20 seconds.
func TestViewsOfOneStorage(t *testing.T) {
	const n = 60_000
	a := counted(n, 1)
	list := []serialize.Entry{{Name: "all", Array: a, Shared: "a"}}
	for i := range n {
		row, err := a.Slice(0, i, i+1, 1)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, serialize.Entry{Name: fmt.Sprint(i), Array: a.With(row), Shared: "a"})
	}
	start := storagetest.CPUTime(t)
	plan, rows := serialize.NewPlan(list), serialize.NewRowMajorPlan(list)
	if len(plan.Storages) != 1 || len(rows.Storages) != n+1 {
		t.Errorf("%d and %d storages; want 1 and %d", len(plan.Storages), len(rows.Storages), n+1)
	}
	var known serialize.Aliases
	for _, e := range list {
		if first := known.Of(e); first != "" {
			t.Fatalf("%s is %s", e.Name, first)
		}
	}
	if first := known.Of(list[n]); first != list[n].Name {
		t.Errorf("%s is %q", list[n].Name, first)
	}
	if took := storagetest.CPUTime(t) - start; took > 5*time.Second {
		t.Errorf("%v of processor time", took)
	}
}
