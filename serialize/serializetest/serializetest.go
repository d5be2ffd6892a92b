// Package serializetest examines formats of package serialize.
package serializetest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

// Options say what a format can hold. What it cannot, it must refuse.
type Options struct {
	Types  []dtype.Type // that it can; all if nil
	Single bool         // whether a file holds one array
	Meta   bool         // whether it holds metadata
	// Names that arrays can have, besides a few that every format must take.
	Names []string
}

// A named is an array with a name.
type named struct {
	name string
	storage.Array
}

func all(list []named) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for _, n := range list {
			if !yield(n.name, n.Array) {
				return
			}
		}
	}
}

// TestFormat reports all that the named format does other than package
// serialize says. It writes files below a temporary directory.
func TestFormat(t *testing.T, format string, o Options) {
	f, err := serialize.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	x := examiner{Options: o, format: f}
	if x.Types == nil {
		x.Types = dtype.All()
	}
	t.Run("types and shapes come back", x.roundTrips)
	t.Run("layouts and places come back", x.layouts)
	t.Run("names and metadata come back", x.names)
	t.Run("what does not fit is refused", x.refusals)
	t.Run("a failed save leaves the old file", x.failures)
	t.Run("closing ends reading", x.closing)
	t.Run("damaged files are errors or data", x.damage)
}

type examiner struct {
	Options
	format serialize.Format
}

func (x examiner) file(t *testing.T) string {
	return filepath.Join(t.TempDir(), "file"+x.format.Extensions[0])
}

func (x examiner) save(t *testing.T, name string, meta map[string]string, list ...named) {
	t.Helper()
	if err := serialize.Save(name, x.format.Name, serialize.Contents{Arrays: all(list), Meta: meta}); err != nil {
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
	if got := f.Meta(); !maps.Equal(got, meta) {
		t.Errorf("metadata %q, want %q", got, meta)
	}
	left := map[string]storage.Array{}
	for _, n := range list {
		left[n.name] = n.Array
	}
	for name, got := range f.All() {
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
			t.Errorf("%q: %v%v comes back as % x, want % x", name, want.Type, want.Shape, a[:min(64, len(a))], b[:min(64, len(b))])
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

func (x examiner) roundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var list []named
	for _, typ := range x.Types {
		for i, shape := range [][]int{{}, {1}, {7}, {0}, {2, 3}, {3, 0, 2}, {2, 1, 3, 2}, {70, 33}} {
			list = append(list, named{fmt.Sprintf("%v.%d", typ, i), random(r, typ, shape...)})
		}
	}
	if !x.Single {
		name := x.file(t)
		x.save(t, name, map[string]string{}, list...)
		x.check(t, name, map[string]string{}, list...)
		x.check(t, x.empty(t), map[string]string{})
		return
	}
	for _, n := range list {
		name := x.file(t)
		x.save(t, name, nil, n)
		x.check(t, name, map[string]string{}, n)
	}
}

func (x examiner) empty(t *testing.T) string {
	name := x.file(t)
	x.save(t, name, nil)
	return name
}

func (x examiner) layouts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	a := random(r, x.Types[len(x.Types)/2], 4, 5, 6)
	turned, _ := a.Transpose(2, 0, 1)
	flipped, _ := a.Flip(0, 2)
	part, _ := a.Slice(1, 1, 5, 2)
	wide, _ := a.Broadcast(2, 4, 5, 6)
	there, err := a.To(storagetest.NewDevice("fake:0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []named{
		{"turned", a.With(turned)}, {"flipped", a.With(flipped)}, {"part", a.With(part)}, {"wide", a.With(wide)},
		{"there", there}, {"part.there", there.With(part)},
	} {
		name := x.file(t)
		x.save(t, name, nil, n)
		x.check(t, name, map[string]string{}, n)
		x.lazily(t, name, n)
	}
}

// lazily reads a file's array through views, where it is a Source.
func (x examiner) lazily(t *testing.T, name string, n named) {
	f, err := serialize.Open(name)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for _, got := range f.All() {
		if _, ok := got.Data.(storage.Source); ok && got.Contiguous() {
			want, err := n.To(storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			storagetest.TestSource(t, got, want)
		}
	}
}

func (x examiner) names(t *testing.T) {
	if x.Single {
		return
	}
	r := rand.New(rand.NewPCG(3, 3))
	var list []named
	for _, name := range append([]string{"w", "hidden.weight", "layers.0.bias", "with space", "größe"}, x.Names...) {
		list = append(list, named{name, random(r, dtype.Float32, 2)})
	}
	meta := map[string]string{}
	if x.Meta {
		meta = map[string]string{"format": "a", "empty": "", "long": string(bytes.Repeat([]byte("x"), 20_000)), "größe": "\"1\"\n\\ä"}
	}
	name := x.file(t)
	x.save(t, name, meta, list...)
	x.check(t, name, meta, list...)
}

func (x examiner) refusals(t *testing.T) {
	one := named{"w", storage.From([]float32{1, 2}, 2)}
	save := func(meta map[string]string, list ...named) error {
		return serialize.Save(x.file(t), x.format.Name, serialize.Contents{Arrays: all(list), Meta: meta})
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
	if err := save(map[string]string{"a": "b"}, one); (err == nil) != x.Meta {
		t.Errorf("saving metadata: %v", err)
	}
	if err := save(nil, one, one); err == nil {
		t.Error("saving a name twice succeeds")
	}
	if err := save(nil, one, named{"v", one.Array}); (err != nil) != x.Single {
		t.Errorf("saving two arrays: %v", err)
	}
	if err := save(nil); (err != nil) != x.Single {
		t.Errorf("saving no array: %v", err)
	}
}

// failures saves what cannot be read, over a file that can.
func (x examiner) failures(t *testing.T) {
	name := x.file(t)
	old := named{"w", storage.From([]float32{1, 2}, 2)}
	x.save(t, name, nil, old)
	broken := storage.Array{Data: brokenSource{}, Type: dtype.Float32, View: views.Of(2)}
	err := serialize.Save(name, x.format.Name, serialize.Contents{Arrays: all([]named{{"w", broken}})})
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
	for _, a = range f.All() {
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

// damage reads files that are cut short, and such with bytes changed. The
// content of what can still be read does not matter; memory does.
func (x examiner) damage(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	list := []named{{"w", random(r, dtype.Float32, 3, 4)}, {"b", random(r, dtype.Int64, 5)}}
	if x.Single {
		list = list[:1]
	}
	name := x.file(t)
	x.save(t, name, nil, list...)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tries := 0
	try := func(b []byte) {
		tries++
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		Drain(name)
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/300 {
		try(whole[:n])
	}
	for range 500 {
		b := slices.Clone(whole)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = []byte{0, 0xff, 0x7f, byte(r.Uint32())}[r.IntN(4)]
		}
		try(b)
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / uint64(tries); got > 8<<20 {
		t.Errorf("a damaged file of %d bytes takes %d bytes of memory on average, want at most 8 MiB", len(whole), got)
	}
}

// Drain opens the named file and reads what it holds, up to 64 MiB an array,
// and returns the first error. It is what a fuzz target calls.
func Drain(name string) error {
	f, err := serialize.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Meta()
	var first error
	for _, a := range f.All() {
		if !a.Within(a.Data.Len() / a.Type.Size()) {
			return fmt.Errorf("%v reaches outside %d bytes: %w", a, a.Data.Len(), views.ErrShape)
		}
		if a.Len()*a.Type.Size() > 64<<20 {
			continue
		}
		if _, err := a.To(storage.CPU); first == nil {
			first = err
		}
	}
	return first
}
