package serializetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

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
