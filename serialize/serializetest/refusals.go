package serializetest

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func one(e serialize.Entry, err error) iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) { yield(e, err) }
}

func (x examiner) refusals(t *testing.T) {
	w := named{"w", storage.From([]float32{1, 2}, 2)}
	save := func(meta map[string]string, list ...named) error {
		return serialize.Save(x.file(t), x.Name, serialize.Contents{Entries: all(list), Meta: meta})
	}
	for _, typ := range dtype.All() {
		if slices.Contains(x.Types, typ) {
			continue
		}
		a, err := storage.Make(storage.CPU, typ, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := save(nil, named{"w", a}); !errors.Is(err, dtype.ErrType) {
			t.Errorf("saving %v: %v, want dtype.ErrType", typ, err)
		}
	}
	if err := save(map[string]string{"a": "b"}, w); (err == nil) != x.Meta {
		t.Errorf("saving metadata: %v; Format.Meta is %v", err, x.Meta)
	}
	if err := save(nil, w, w); err == nil {
		t.Error("saving a name twice succeeds; Save should take its entries from Format.Checked, Collect or Only")
	}
	if err := save(nil, w, named{"v", w.Array}); (err != nil) != x.Single {
		t.Errorf("saving two arrays: %v; Format.Single is %v", err, x.Single)
	}
	if err := save(nil); (err != nil) != x.Single {
		t.Errorf("saving no array: %v; Format.Single is %v", err, x.Single)
	}
	e := serialize.Entry{Name: "w", Array: w.Array, Attrs: map[string]any{"unit": "m"}}
	if err := serialize.Save(x.file(t), x.Name, serialize.Contents{Entries: one(e, nil)}); (err == nil) != x.Attrs {
		t.Errorf("saving attributes: %v; Format.Attrs is %v", err, x.Attrs)
	}
	if err := serialize.Save(x.file(t), x.Name, serialize.Contents{Entries: one(e, errBroken)}); !errors.Is(err, errBroken) {
		t.Errorf("saving an entry with an error: %v, want that error", err)
	}
}

// failures saves what cannot be read, over a file that can.
func (x examiner) failures(t *testing.T) {
	name := x.file(t)
	old := named{"w", storage.From([]float32{1, 2}, 2)}
	x.save(t, name, nil, old)
	broken := storage.Array{Data: brokenSource{}, Type: dtype.Float32, View: views.Of(2)}
	err := serialize.Save(name, x.Name, serialize.Contents{Entries: all([]named{{"w", broken}})})
	if !errors.Is(err, errBroken) {
		t.Errorf("saving an array that cannot be read: %v, want its error", err)
	}
	x.check(t, name, map[string]string{}, old)
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("left beside the file: %v, %v", entries, err)
	}
}

var errBroken = errors.New("broken")

type brokenSource struct{}

func (brokenSource) Len() int                                      { return 8 }
func (brokenSource) Device() storage.Device                        { return storage.File("broken") }
func (brokenSource) ReadView([]byte, dtype.Type, views.View) error { return errBroken }

func (x examiner) closing(t *testing.T) {
	name := x.file(t)
	x.save(t, name, nil, named{"w", storage.From([]float32{1, 2}, 2)})
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var a storage.Array
	for e := range f.All() {
		a = e.Array
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Errorf("closing, twice: %v", err)
	}
	if a.Data.Device() == storage.CPU {
		return
	}
	if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) {
		t.Errorf("read after closing: %v, want storage.ErrState", err)
	}
}
