// Package serializetest examines formats of package serialize.
//
// The tests of a format call [TestFormat] or, if it is only read, [Open] and [CheckArrays] with
// files of its own program; [TestDamage], [TestFlippedBits], [TestAttacks] and [FuzzTarget] with files
// that are damaged or hostile; and [TestLarge] and [TestSpace] with sizes that do not fit into memory or on disk.
package serializetest

import (
	"bytes"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A named array.
type named struct {
	name string
	storage.Array
}

func all(list []named) iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) {
		for _, n := range list {
			if !yield(serialize.Entry{Name: n.name, Array: n.Array}, nil) {
				return
			}
		}
	}
}

// TestAll runs TestFormat for every registered format that is both read and written, but
// those of tables, which hold too little of what it saves.
func TestAll(t *testing.T) {
	for _, name := range serialize.Formats() {
		if f, err := serialize.ByName(name); err != nil {
			t.Error(err)
		} else if f.Open != nil && (f.Save != nil || f.SaveFile != nil) && !f.Table {
			t.Run(name, func(t *testing.T) { TestFormat(t, name) })
		}
	}
}

// TestFormat reports where the named format does not do what package serialize says.
// It writes files below a temporary directory. Names are names that arrays can have,
// besides a few that every format must take.
func TestFormat(t *testing.T, format string, names ...string) {
	f, err := serialize.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	x := examiner{Format: f, extra: names}
	if x.Types == nil {
		x.Types = dtype.All()
	}
	t.Run("types and shapes are kept", x.roundTrips)
	t.Run("every type in every layout is kept", x.everyType)
	t.Run("layouts and devices do not matter", x.layouts)
	t.Run("names and metadata are kept", x.names)
	t.Run("attributes are kept", x.attributes)
	t.Run("elements that are shared are kept", x.sharing)
	t.Run("only this format matches", x.matches)
	t.Run("files are read from memory and archives", x.readers)
	t.Run("what does not fit is refused", x.refusals)
	t.Run("a failed save leaves the old file", x.failures)
	t.Run("closing ends reading", x.closing)
	t.Run("damaged files are errors or data", x.damage)
	t.Run("flipped bits are found or change nothing", x.flips)
}

type examiner struct {
	serialize.Format
	extra []string // names
}

func (x examiner) file(t *testing.T) string {
	return filepath.Join(t.TempDir(), "file"+x.Extensions[0])
}

func (x examiner) save(t *testing.T, name string, meta map[string]string, list ...named) {
	t.Helper()
	if err := serialize.Save(name, x.Name, serialize.Contents{Entries: all(list), Meta: meta}); err != nil {
		t.Errorf("save: %v", err)
	}
}

// check opens the named file and reports how it differs from list.
func (x examiner) check(t *testing.T, name string, meta map[string]string, list ...named) {
	t.Helper()
	f, err := serialize.Open(name)
	if err != nil {
		t.Errorf("open: %v", err)
		return
	}
	defer f.Close()
	x.compare(t, f, meta, list...)
}

// compare reports how an open file differs from list. Nil metadata are not compared.
func (x examiner) compare(t *testing.T, f serialize.File, meta map[string]string, list ...named) {
	t.Helper()
	if got := f.Meta(); !maps.Equal(got, meta) && meta != nil {
		t.Errorf("metadata %q, want %q", got, meta)
	}
	left := map[string]storage.Array{}
	for _, n := range list {
		left[n.name] = n.Array
	}
	for e, err := range f.All() {
		if err != nil {
			t.Errorf("%q: %v", e.Name, err)
			continue
		}
		name, got := e.Name, e.Array
		want, ok := left[name]
		if x.Single && len(list) == 1 {
			name, want, ok = list[0].name, list[0].Array, true
		}
		if !ok {
			t.Errorf("array %q was not saved, or comes twice", name)
			continue
		}
		delete(left, name)
		if got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
			t.Errorf("%q: %v%v, want %v%v", name, got.Type, got.Shape, want.Type, want.Shape)
			continue
		}
		if a, b := content(t, got), content(t, want); !bytes.Equal(a, b) {
			t.Errorf("%q: %v%v is % x, want % x", name, want.Type, want.Shape, a[:min(64, len(a))], b[:min(64, len(b))])
		}
	}
	for name, want := range left {
		t.Errorf("%q: %v is missing", name, want)
	}
}

func content(t *testing.T, a storage.Array) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := a.WriteTo(&b); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

// random returns an array whose bits are random but, in floats, no NaN, which
// formats may quieten.
func random(r *rand.Rand, typ dtype.Type, shape ...int) storage.Array {
	elems := make([]float64, views.Of(shape...).Len())
	for i := range elems {
		elems[i] = r.NormFloat64() * 50
	}
	a, err := storage.Make(storage.CPU, typ, shape...)
	if err == nil {
		err = storage.From(elems, shape...).CopyTo(a)
	}
	if err != nil {
		panic(err)
	}
	return a
}
