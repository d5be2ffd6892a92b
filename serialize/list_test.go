package serialize_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestListsKeepLittleOfEachEntry adds 100,000 entries. A list keeps its names, shapes and strides,
// and not an Entry and a View of each, which take 250 bytes.
func TestListsKeepLittleOfEachEntry(t *testing.T) {
	const count, most = 100_000, 180 // bytes
	a := storage.From([]float32{1, 2, 3, 4}, 4)
	used := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := used()
	list := serialize.NewList(count, nil, func() error { return nil })
	for i := range count {
		e := serialize.Entry{Name: fmt.Sprintf("layer%06d.weight", i), Array: a.With(views.Of(4))}
		if err := list.Add(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	kept := (used() - before) / count
	t.Logf("%d bytes", kept)
	if kept > most {
		t.Errorf("%d bytes are kept of an entry, want at most %d", kept, most)
	}
	e, err := list.Lookup("layer012345.weight")
	if err != nil || e.Array.Data != a.Data || !slices.Equal(e.Shape(), []int{4}) || list.Len() != count {
		t.Errorf("%v, %v", e, err)
	}
}

// TestNamesThatAreMostOfATextAreNotCopied, and others are, which would keep the text.
func TestNamesThatAreMostOfATextAreNotCopied(t *testing.T) {
	text := "a long name: 1"
	for end, copied := range map[int]bool{len("a long name"): false, len("a"): true} {
		list := serialize.NewList(1, nil, func() error { return nil })
		list.NamesIn(len(text), end)
		name := list.Keep(text[:end])
		if got := unsafe.StringData(name) != unsafe.StringData(text); got != copied || name != text[:end] {
			t.Errorf("%q of %q is copied: %v, want %v", name, text, got, copied)
		}
	}
}
