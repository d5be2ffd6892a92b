package hdf5stream_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5stream"
)

// TestPlansKeepLittle of many datasets, and no copy of their names, also while they are written.
func TestPlansKeepLittle(t *testing.T) {
	const n, most = 20_000, 300 // bytes a dataset
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(strings.Repeat("layer.", 100), i)
	}
	var before, after runtime.MemStats
	heap := func(m *runtime.MemStats) { runtime.GC(); runtime.ReadMemStats(m) }
	heap(&before)
	plan, shape := hdf5stream.New(), []int{2, 3}
	for _, name := range names {
		d, err := plan.Root().Declare(name, dtype.Float32, shape)
		if err != nil {
			t.Fatal(err)
		}
		d.SetAttr("sum", uint32(0))
	}
	if err := plan.Plan(); err != nil {
		t.Fatal(err)
	}
	if err := plan.WriteMetadata(onceWriter(func() { heap(&after) }), nil); err != nil {
		t.Fatal(err)
	}
	if kept := (int(after.HeapAlloc) - int(before.HeapAlloc)) / n; kept > most {
		t.Errorf("%d bytes are kept of each dataset, more than %d", kept, most)
	}
	runtime.KeepAlive(names)
}

// onceWriter returns a writer that calls a function at the first write.
func onceWriter(f func()) io.Writer { return writerFunc(sync.OnceFunc(f)) }

type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) { f(); return len(b), nil }
