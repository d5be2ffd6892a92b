package serializetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

// Limits of what a fuzzed file may cost.
const (
	fuzzBudget = 16 << 20         // bytes that a reader may make of nothing
	fuzzMemory = 64 << 20         // bytes allocated, beside some for each byte of the file and of its arrays
	fuzzTime   = 10 * time.Second // of the processors
	fuzzWhole  = 1 << 20          // bytes of an array that is read whole
	fuzzArrays = 16 << 20
)

// AddSeeds adds the files that the patterns match to the seeds of a fuzz target. A pattern
// that matches none is an error.
func AddSeeds(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatalf("no seeds match %s: %v", pattern, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

// FuzzTarget returns the body of a fuzz target, which reads the bytes as a file of the named
// format in memory. Whatever they are:
//
//   - an error has a text, which is that of one error,
//   - memory is bounded by the budget, the size of the file and the elements that are read,
//     and CPU time by ten seconds,
//   - a second reading gives the same entries, elements and errors,
//   - a part of an array has the elements that the whole has there.
//
// Files of the folder that follow names may be opened.
func FuzzTarget(format string, follow ...string) func(t *testing.T, b []byte) {
	options := serialize.Options{Format: format, Follow: strings.Join(follow, "")}
	return func(t *testing.T, b []byte) {
		start, before := storagetest.CPUTime(t), Allocated()
		first := readFuzzed(t, options, b)
		used := int(Allocated() - before)
		if limit := fuzzMemory + 64*len(b) + 8*first.bytes; used > limit {
			t.Errorf("%s: reading %d bytes took %d bytes of memory, and its arrays have %d", format, len(b), used, first.bytes)
		}
		if took := storagetest.CPUTime(t) - start; took > fuzzTime {
			t.Errorf("%s: reading %d bytes took %v of CPU time", format, len(b), took)
		}
		second := readFuzzed(t, options, b)
		if !maps.Equal(first.meta, second.meta) || len(first.entries) != len(second.entries) {
			t.Errorf("%s: %d entries and metadata %q; read again %d and %q", format, len(first.entries), first.meta, len(second.entries), second.meta)
			return
		}
		for i, e := range first.entries {
			if again := second.entries[i]; e != again {
				t.Errorf("%s: entry %s\nread again: %s", format, e, again)
			}
		}
	}
}

// TestDamage changes a bit of up to 1,000 bytes of each file, and cuts the file short at 100
// of them. What is left is read as [FuzzTarget] reads it: it is an error or data.
func TestDamage(t *testing.T, format string, names ...string) {
	target := FuzzTarget(format)
	for _, name := range names {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		step := 1 + len(whole)/1000
		for k := 0; k*step < len(whole); k++ {
			at := k * step
			b := bytes.Clone(whole)
			b[at] ^= byte(1 << (k % 8))
			target(t, b)
			if k%10 == 0 {
				target(t, whole[:at])
			}
		}
	}
}

// Allocated returns how many bytes the process has allocated since it started.
func Allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A fuzzedFile is what a file was found to hold.
type fuzzedFile struct {
	meta    map[string]string
	entries []string
	bytes   int // of elements that were read
}

func readFuzzed(t *testing.T, options serialize.Options, b []byte) (x fuzzedFile) {
	options.Budget = storage.NewBudget(fuzzBudget)
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "fuzzed", options)
	if err != nil {
		x.add(t, "open", "", err)
		return x
	}
	defer f.Close()
	x.meta = f.Meta()
	for e, err := range f.All() {
		var text string
		switch {
		case err != nil:
		case e.Elements != nil:
			text, err = x.values(e.Elements)
		default:
			text, err = x.elements(t, e)
		}
		x.add(t, fmt.Sprintf("%q %q", e.Name, e.Shared), text, err)
	}
	return x
}

// add notes what was read of an entry.
func (x *fuzzedFile) add(t *testing.T, name, text string, err error) {
	if err != nil {
		text += " error: " + err.Error()
		if message := strings.TrimSpace(err.Error()); message == "" || isJoined(err) {
			t.Errorf("%s: the text of the error is %q; want one sentence", name, message)
		}
	}
	x.entries = append(x.entries, name+" "+text)
}

// isJoined reports whether err was made by errors.Join of several, whose text has as many
// lines.
func isJoined(err error) bool {
	for err != nil {
		if list, ok := err.(interface{ Unwrap() []error }); ok && len(list.Unwrap()) > 1 && strings.Contains(fmt.Sprintf("%T", err), "join") {
			return true
		}
		err = errors.Unwrap(err)
	}
	return false
}

// values reads elements that are not numbers, if they are few.
func (x *fuzzedFile) values(e *serialize.Elements) (string, error) {
	if e.View.Len() > 1<<12 {
		return fmt.Sprint(e.Type, e.View.Shape), nil
	}
	list, err := e.Values(e.View)
	if err == nil && len(list) != e.View.Len() {
		err = fmt.Errorf("%d values of %d", len(list), e.View.Len())
	}
	text := fmt.Sprintf("%s %v %q", e.Type, e.View.Shape, list)
	x.bytes += len(text)
	return text, err
}

// elements reads an array, or one element if it is large, and then a part of it.
func (x *fuzzedFile) elements(t *testing.T, e serialize.Entry) (string, error) {
	a := e.Array
	if !a.Within(a.Data.Len() / a.Type.Size()) {
		t.Errorf("%q: %v reaches outside %d bytes", e.Name, a, a.Data.Len())
	}
	text := fmt.Sprintf("%v %v %q", a.Type, a.Shape, e.Attrs)
	if a.NBytes() > fuzzWhole || x.bytes > fuzzArrays {
		for axis := range a.Shape {
			a.View = slice(t, a.View, axis, 0, 1)
		}
	}
	whole, err := x.read(a)
	if err != nil {
		return text, err
	}
	if axis := slices.IndexFunc(a.Shape, func(n int) bool { return n > 1 }); axis >= 0 {
		from, to := a.Shape[axis]/2, a.Shape[axis]
		part, err := x.read(a.With(slice(t, a.View, axis, from, to)))
		v := slice(t, views.Of(a.Shape...), axis, from, to)
		want := make([]byte, v.Len()*a.Type.Size())
		storage.Gather(want, whole, a.Type, v)
		if err != nil || !bytes.Equal(part, want) {
			t.Errorf("%q: elements from %d of axis %d of %v%v: %x, %v; the whole has %x there", e.Name, from, axis, a.Type, a.Shape, part, err, want)
		}
	}
	return fmt.Sprintf("%s %x", text, whole), nil
}

func slice(t *testing.T, v views.View, axis, from, to int) views.View {
	part, err := v.Slice(axis, from, to, 1)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// read returns the elements of a in row-major order.
func (x *fuzzedFile) read(a storage.Array) ([]byte, error) {
	x.bytes += a.NBytes()
	got, err := a.To(storage.CPU)
	if err != nil {
		return nil, err
	}
	b, _ := got.Bytes()
	return b, nil
}
