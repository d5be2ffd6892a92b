package serializetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// EveryType returns arrays of the given types in every kind of layout, under names in several
// scripts: a scalar, none, one and all elements, transposed and sliced views, shared elements,
// and elements that a file has big-endian.
func EveryType(types []dtype.Type) []serialize.Entry {
	r := rand.New(rand.NewPCG(7, 7))
	var list []serialize.Entry
	for _, typ := range types {
		a := random(r, typ, 4, 6)
		turned, _ := a.Transpose()
		part, _ := a.Slice(1, 1, 6, 2)
		row, _ := a.Select(0, 2)
		one, _ := row.Select(0, 1)
		none, _ := a.Slice(0, 2, 2, 1)
		wide, _ := row.Broadcast(3, 6)
		swapped := bigEndian(a)
		add := func(name string, b storage.Array, shared string) {
			if shared != "" {
				shared = typ.String() + shared
			}
			list = append(list, serialize.Entry{Name: fmt.Sprintf("%v/%s", typ, name), Array: b, Shared: shared})
		}
		add("ganz", a, "s")
		add("転置", a.With(turned), "s")
		add("частьь", a.With(part), "s")
		add("ganz.wieder", a, "s")
		add("row", a.With(row), "")
		add("scalar ∅", a.With(one), "")
		add("пусто", a.With(none), "")
		add("breit", a.With(wide), "")
		add("big-endian", swapped, "")
	}
	return list
}

// everyType saves the arrays of EveryType.
func (x examiner) everyType(t *testing.T) { x.everyTypeIn(t, x.file(t), map[string]string{}) }

// TestTypes saves the arrays of [EveryType] in a file of that name, for formats that do not take what
// [TestFormat] saves otherwise. It does not compare metadata.
func TestTypes(t *testing.T, format, name string) {
	f, err := serialize.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	if f.Types == nil {
		f.Types = dtype.All()
	}
	examiner{Format: f}.everyTypeIn(t, filepath.Join(t.TempDir(), name), nil)
}

func (x examiner) everyTypeIn(t *testing.T, name string, meta map[string]string) {
	list := EveryType(x.Types)
	want := make([]named, len(list))
	for i, e := range list {
		want[i] = named{e.Name, e.Array}
	}
	if !x.Single {
		if err := serialize.Save(name, x.Name, serialize.Contents{Entries: serialize.Entries(list...)}); err != nil {
			t.Fatal(err)
		}
		x.check(t, name, meta, want...)
		x.verify(t, name, len(list))
		return
	}
	for _, n := range want {
		x.save(t, name, nil, n)
		x.check(t, name, meta, n)
	}
}

// verify checks an intact file, if the format has checksums.
func (x examiner) verify(t *testing.T, name string, arrays int) {
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, ok := f.(serialize.Verifier)
	if !ok {
		return
	}
	seen := map[string]bool{}
	for name, err := range v.Verify(context.Background()) {
		if err != nil {
			t.Errorf("verify %q: %v", name, err)
		}
		if seen[name] {
			t.Errorf("verify names %q twice", name)
		}
		seen[name] = true
	}
	if delete(seen, ""); len(seen) != arrays {
		t.Errorf("verify names %d of %d arrays", len(seen), arrays)
	}
}

// bigEndian returns an array that reads its elements from big-endian bytes.
func bigEndian(a storage.Array) storage.Array {
	var b bytes.Buffer
	swap := storage.Array{Data: serialize.Normalize(serialize.AsSource(a.Data), a.Type, binary.BigEndian), Type: a.Type, View: a.View}
	if _, err := swap.WriteTo(&b); err != nil { // reversed, if the machine is little-endian
		panic(err)
	}
	a.Data = serialize.Normalize(serialize.AsSource(storage.Wrap(b.Bytes())), a.Type, binary.BigEndian)
	return a
}

// TestLarge saves an array of more than 4 GiB and a small one behind it, as far as possible to a
// sparse file, and reads the end of the first and all of the second.
func TestLarge(t *testing.T, format string) {
	f, err := serialize.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	const n = 4<<30 + 3
	big := storage.Array{Data: MostlyZeros(n), Type: dtype.Uint8, View: views.Of(n)}
	contents := serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		_ = yield(serialize.Entry{Name: "big", Array: big}, nil) && (f.Single || yield(serialize.Entry{Name: "after", Array: storage.From([]float32{1, 2, 3}, 3)}, nil))
	}}
	x := examiner{Format: f}
	name := x.file(t)
	if f.SaveFile != nil {
		err = f.SaveFile(name, contents)
	} else {
		NeedSparse(t)
		err = saveSparse(name, f, contents)
	}
	if errors.Is(err, views.ErrShape) {
		t.Skipf("not a format of arrays of any shape: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for e, err := range in.All() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Array.Len() != n {
			if got, err := storage.Read[float32](e.Array); err != nil || fmt.Sprint(got) != "[1 2 3]" {
				t.Errorf("%s: %v, %v", e.Name, got, err)
			}
			continue
		}
		end, err := e.Array.Slice(0, n-3, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := storage.Read[uint8](e.Array.With(end)); err != nil || fmt.Sprint(got) != "[0 0 7]" {
			t.Errorf("the end of %s: %v, %v", e.Name, got, err)
		}
	}
}

// TestSpace saves 16 PiB and wants an error before they are written.
func TestSpace(t *testing.T, format string) {
	f, err := serialize.ByName(format)
	if err != nil {
		t.Fatal(err)
	}
	const n = 16 << 50
	list := serialize.Arrays(func(yield func(string, storage.Array) bool) {
		yield("a", storage.Array{Data: MostlyZeros(n), Type: dtype.Uint8, View: views.Of(n)})
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // and a disk that is not full
	defer cancel()
	name := examiner{Format: f}.file(t)
	err = serialize.Save(name, format, serialize.Contents{Entries: list, Context: ctx})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v: want that there is no space", err)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// MostlyZeros is a Source of that many bytes: zeros, and a 7 at the end.
type MostlyZeros int

func (z MostlyZeros) Len() int             { return int(z) }
func (MostlyZeros) Device() storage.Device { return storage.File("zeros") }
func (z MostlyZeros) ReadView(dst []byte, t dtype.Type, v views.View) error {
	clear(dst[:v.Len()*t.Size()])
	if lo, hi := v.Bounds(); v.Contiguous() && hi == int(z)-1 {
		dst[hi-lo] = 7
	}
	return nil
}

// NeedSparse skips a test that would fill the disk where files have no holes.
func NeedSparse(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sparse")
	err := os.WriteFile(name, nil, 0o600)
	if err == nil {
		err = os.Truncate(name, 1<<30)
	}
	info, statErr := os.Stat(name)
	if err = errors.Join(err, statErr); err != nil {
		t.Skipf("no file with holes: %v", err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Blocks > 1<<10 {
		t.Skip("files of this disk have no holes; the test would write 4 GiB")
	}
}

// saveSparse saves to a file in which blocks of zeros are holes.
func saveSparse(name string, f serialize.Format, c serialize.Contents) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w := &holeWriter{f: out}
	if err := f.Save(w, c); err != nil {
		return err
	}
	return out.Truncate(w.at)
}

type holeWriter struct {
	f  *os.File
	at int64
}

var zeros [1 << 16]byte

func (w *holeWriter) Write(b []byte) (int, error) {
	written := 0
	for len(b) > 0 {
		part := b[:min(len(b), len(zeros))]
		if !bytes.Equal(part, zeros[:len(part)]) {
			if n, err := w.f.WriteAt(part, w.at); err != nil {
				return written + n, err
			}
		}
		w.at += int64(len(part))
		written += len(part)
		b = b[len(part):]
	}
	return written, nil
}

var _ io.Writer = (*holeWriter)(nil)
