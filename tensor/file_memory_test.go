package tensor_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/tensor"
)

// residentMemory returns the bytes of memory of this process that are of no file, and false if the system does not say.
func residentMemory() (int, bool) {
	status, err := os.ReadFile("/proc/self/status")
	found := regexp.MustCompile(`RssAnon:\s*(\d+) kB`).FindSubmatch(status)
	if err != nil || found == nil {
		return 0, false
	}
	kib, err := strconv.Atoi(string(found[1]))
	return kib << 10, err == nil
}

// TestWritingNeedsLessMemoryThanTheFile standardizes 320 MiB in chunks, where 16 MiB may be read at once.
func TestWritingNeedsLessMemoryThanTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 640 MiB")
	}
	if _, ok := residentMemory(); !ok {
		t.Skip("no /proc/self/status")
	}
	const rows, columns, most = 20480, 4096, 160 << 20
	defer tensor.SetReadLimit(tensor.SetReadLimit(16 << 20))
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // what other tests have left is not to hide garbage
	one := storage.From([]float32{1.5}, 1)
	constant, _ := one.View.Broadcast(rows, columns)
	layout := hdf5write.Layout{Chunks: []int{64, columns}}
	_, _, a := inFile(t, one.With(constant), layout)
	w, err := hdf5write.Create(filepath.Join(t.TempDir(), "y.h5"), hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.CreateDataset("/y", dtype.Float32, []int{rows, columns}, layout)
	if err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	before, _ := residentMemory()
	peak, done, stopped := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			now, _ := residentMemory()
			peak = max(peak, now)
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	x := tensor.FromArray(a)
	err = x.Sub(x.Mean(0)).AddScalar(2).Sqrt().WriteTo(t.Context(), d)
	close(done)
	<-stopped
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	used := peak - before
	t.Logf("%d MiB more memory for %d MiB", used>>20, a.NBytes()>>20)
	if used > most {
		t.Errorf("%d MiB more memory for %d MiB; want at most %d", used>>20, a.NBytes()>>20, most>>20)
	}
}
