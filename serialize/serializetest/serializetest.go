// Package serializetest examines formats of package serialize.
//
// The tests of a format call [TestFormat] or, if it is only read, [Open] and [CheckArrays] with
// files of its own program; [TestDamage], [TestAttacks] and [FuzzTarget] with files that are damaged
// or hostile; and [TestLarge] and [TestSpace] with sizes that do not fit into memory or on disk.
package serializetest

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
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
	t.Run("entries may be made again", x.madeAgain)
	t.Run("only this format matches", x.matches)
	t.Run("files are read from memory and archives", x.readers)
	t.Run("what does not fit is refused", x.refusals)
	t.Run("a failed save leaves the old file", x.failures)
	t.Run("closing ends reading", x.closing)
	t.Run("damaged files are errors or data", x.damage)
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
	for e := range f.All() {
		got := e.Array
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
	for _, name := range append([]string{"w", "hidden.weight", "layers.0.bias", "with space", "größe"}, x.extra...) {
		list = append(list, named{name, random(r, dtype.Float32, 2)})
	}
	meta := map[string]string{}
	if x.Meta {
		meta = map[string]string{"format": "a", "empty": "", "long": string(bytes.Repeat([]byte("x"), 20_000)), "größe": "\"1\"\n\\ä"}
	}
	name := x.file(t)
	x.save(t, name, meta, list...)
	x.check(t, name, meta, list...)
	x.lookup(t, name, list...)
}

// lookup finds each array by its name, and none by another.
func (x examiner) lookup(t *testing.T, name string, list ...named) {
	f, err := serialize.Open(name)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for _, n := range list {
		e, err := serialize.Lookup(f, n.name)
		if err != nil || e.Name != n.name || e.Array.Type != n.Type || !bytes.Equal(content(t, e.Array), content(t, n.Array)) {
			t.Errorf("lookup %q: %q, %v, %v", n.name, e.Name, e.Array, err)
		}
	}
	if e, err := serialize.Lookup(f, "no such array"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lookup of a name that is not there: %q, %v; want an error of kind fs.ErrNotExist", e.Name, err)
	}
}

func (x examiner) attributes(t *testing.T) {
	if !x.Attrs {
		return
	}
	want := map[string]any{"unit": "m/s", "names": []string{"a", "größe"}, "scale": storage.From([]float64{0.5})}
	e := serialize.Entry{Name: "w", Array: storage.From([]float32{1, 2}, 2), Attrs: want}
	name := x.file(t)
	if err := serialize.Save(name, x.Name, serialize.Contents{Entries: one(e, nil)}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		scale, ok := e.Attrs["scale"].(storage.Array)
		if !ok || len(e.Attrs) != len(want) || e.Attrs["unit"] != want["unit"] || !reflect.DeepEqual(e.Attrs["names"], want["names"]) ||
			!bytes.Equal(content(t, scale), content(t, want["scale"].(storage.Array))) {
			t.Errorf("attributes %v, want %v", e.Attrs, want)
		}
	}
}

// sharing saves entries that share their elements: under all names they are read as they
// were and, where the format stores them once, as shared.
func (x examiner) sharing(t *testing.T) {
	if x.Single {
		return
	}
	a := random(rand.New(rand.NewPCG(6, 6)), dtype.Float32, 100, 100)
	turned, _ := a.Transpose()
	list := []serialize.Entry{
		{Name: "embedding", Array: a, Shared: "e"}, {Name: "head", Array: a, Shared: "e"},
		{Name: "turned", Array: a.With(turned), Shared: "e"}, {Name: "apart", Array: a},
	}
	if x.Attrs {
		list = append(list, serialize.Entry{Name: "unit", Array: a, Shared: "e", Attrs: map[string]any{"unit": "m"}})
	}
	name := x.saveEntries(t, list)
	var want []named
	for _, e := range list {
		want = append(want, named{e.Name, e.Array})
	}
	x.check(t, name, map[string]string{}, want...)
	if !x.Shares {
		return
	}
	x.checkShared(t, name, list)
	for i := range list {
		list[i].Shared = ""
	}
	apart := x.saveEntries(t, list)
	const elements = 100 * 100 * 4
	if saved := size(t, apart) - size(t, name); saved < elements*3/4 {
		t.Errorf("sharing %d bytes saves %d", elements, saved)
	}
}

// saveEntries saves entries to a new file, and returns its name.
func (x examiner) saveEntries(t *testing.T, list []serialize.Entry) string {
	t.Helper()
	name := x.file(t)
	if err := serialize.Save(name, x.Name, serialize.Contents{Entries: serialize.Entries(list...)}); err != nil {
		t.Fatal(err)
	}
	return name
}

// checkShared reports where the entries of a file do not share what those of sharing share, or
// have other strides and attributes.
func (x examiner) checkShared(t *testing.T, name string, list []serialize.Entry) {
	byShared, attrs := map[string][]string{}, map[string]int{}
	for e, err := range Open(t, name).All() {
		if err != nil {
			t.Fatal(err)
		}
		attrs[e.Name] = len(e.Attrs)
		if e.Shared == "" { // with nothing
			e.Shared = "alone: " + e.Name
		}
		byShared[e.Shared] = append(byShared[e.Shared], e.Name)
		saved := slices.IndexFunc(list, func(l serialize.Entry) bool { return l.Name == e.Name })
		if x.Views && !slices.Equal(e.Array.Stride, list[saved].Array.Stride) {
			t.Errorf("%q: strides %v are not kept", e.Name, e.Array.Stride)
		}
	}
	together := []string{"embedding", "head"}
	if x.Views {
		together = append(together, "turned")
	}
	if x.Views && x.Attrs {
		together = append(together, "unit")
	}
	for _, names := range byShared {
		slices.Sort(names)
		if len(names) > 1 && !slices.Equal(names, together) || len(names) == 1 && slices.Contains(together, names[0]) {
			t.Errorf("%q share elements; want %q, and no others", names, together)
		}
	}
	if attrs["embedding"] != 0 || attrs["head"] != 0 || x.Attrs && attrs["unit"] != 1 {
		t.Errorf("numbers of attributes %v; want one, of unit", attrs)
	}
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func one(e serialize.Entry, err error) iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) { yield(e, err) }
}

// matches looks at a file of the format with the eyes of every registered one.
func (x examiner) matches(t *testing.T) {
	name := x.file(t)
	x.save(t, name, nil, named{"w", storage.From([]float32{1, 2}, 2)})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(b)
	own := x.Match(r, r.Size())
	for _, other := range serialize.Formats() {
		f, err := serialize.ByName(other)
		if err == nil && f.Match != nil && other != x.Name && f.Match(r, r.Size()) >= own {
			t.Errorf("%s matches as well as %s does", other, x.Name)
		}
	}
	for _, size := range []int64{0, 1, 7} {
		if c := x.Match(io.NewSectionReader(r, 0, size), size); c != serialize.NoMatch {
			t.Errorf("the first %d bytes alone match: %v; Match should want more than a signature", size, c)
		}
	}
	if f, err := serialize.Detect(r, r.Size()); err != nil || f.Name != x.Name {
		t.Errorf("detected as %q, %v", f.Name, err)
	}
}

// madeAgain saves entries that are collected, and the same entries that are made again whenever
// they are asked for, which gives the same file. An entry that cannot be made again is an error,
// if it is asked for.
func (x examiner) madeAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 5))
	turned, _ := random(r, dtype.Float32, 3, 5).Transpose()
	list := []named{{"w", random(r, dtype.Float32, 7, 3)}, {"c", random(r, dtype.Float32)}, {"a", random(r, dtype.Float32, 3, 5).With(turned)}}
	if x.Single {
		list = list[:1]
	}
	asked := false
	made := func(broken error) serialize.Contents {
		asked = false
		return serialize.Contents{Entries: all(list), At: func(i int) (serialize.Entry, error) {
			asked = true
			return serialize.Entry{Name: list[i].name, Array: list[i].Array}, broken
		}}
	}
	var contents [2][]byte
	for i, c := range []serialize.Contents{{Entries: all(list)}, made(nil)} {
		name := x.file(t)
		err := serialize.Save(name, x.Name, c)
		if err == nil {
			contents[i], err = os.ReadFile(name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(contents[0], contents[1]) {
		t.Errorf("%d bytes of entries that are collected, and %d others of the same that are made again", len(contents[0]), len(contents[1]))
	}
	if err := serialize.Save(x.file(t), x.Name, made(errBroken)); asked && !errors.Is(err, errBroken) {
		t.Errorf("saving entries that cannot be made again: %v, want that error", err)
	}
}

// readers writes a file to memory and reads it from there, and from a zip archive
// where it is stored without compression among other things.
func (x examiner) readers(t *testing.T) {
	list := []named{{"w", random(rand.New(rand.NewPCG(5, 5)), dtype.Float32, 70, 33)}, {"b", storage.From([]float32{3}, 1)}}
	if x.Single {
		list = list[:1]
	}
	var b bytes.Buffer
	if err := serialize.Write(&b, x.Name, serialize.Contents{Entries: all(list)}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "memory")
	if err != nil {
		t.Fatal(err)
	}
	x.compare(t, f, map[string]string{}, list...)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	x.inArchive(t, b.Bytes(), list)
}

// inArchive reads a file from within a zip archive, and a slice of its first array.
func (x examiner) inArchive(t *testing.T, file []byte, list []named) {
	in := archived(t, file)
	f, err := serialize.OpenReader(in, in.Size(), "archive.zip/inner")
	if err != nil {
		t.Fatal(err)
	}
	x.compare(t, f, map[string]string{}, list...)
	var last storage.Array
	for e := range f.All() {
		if last = e.Array; e.Name != list[0].name && !x.Single {
			continue
		}
		part, err := e.Array.Slice(0, 60, 2, -7)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := list[0].Slice(0, 60, 2, -7)
		if !bytes.Equal(content(t, e.Array.With(part)), content(t, list[0].With(want))) {
			t.Error("a slice from within an archive differs")
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := last.To(storage.CPU); !errors.Is(err, storage.ErrState) {
		t.Errorf("read after closing: %v, want storage.ErrState; arrays from Sections report it", err)
	}
}

// archived returns the second of two copies of a file in a zip archive.
func archived(t *testing.T, file []byte) *io.SectionReader {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"readme", "inner"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(archive.Bytes())
	r, err := zip.NewReader(in, in.Size())
	if err != nil {
		t.Fatal(err)
	}
	at, err := r.File[1].DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	return io.NewSectionReader(in, at, int64(r.File[1].UncompressedSize64))
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

// damage reads files that are cut short or have some bytes changed. The
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

// Drain opens the named file, reads what it holds, up to 64 MiB an array, and returns
// the first error. It is what a fuzz target calls.
func Drain(name string, options ...serialize.Options) error {
	f, err := serialize.Open(name, options...)
	if err != nil {
		return err
	}
	defer f.Close()
	return drain(f)
}

func drain(f serialize.File) error {
	f.Meta()
	var first error
	for e, err := range f.All() {
		if err != nil {
			return e.Wrap(err)
		}
		if err := drainEntry(e); first == nil {
			first = e.Wrap(err)
		}
	}
	return first
}

// drainEntry reads the elements of an entry, unless they are too many.
func drainEntry(e serialize.Entry) error {
	if e.Elements != nil {
		if e.Elements.View.Len() > 1<<16 {
			return nil
		}
		_, err := e.Elements.Values(e.Elements.View)
		return err
	}
	a := e.Array
	if !a.Within(a.Data.Len() / a.Type.Size()) {
		return fmt.Errorf("%v reaches outside %d bytes: %w", a, a.Data.Len(), views.ErrShape)
	}
	if a.NBytes() > 64<<20 {
		return nil
	}
	_, err := a.To(storage.CPU)
	return err
}
