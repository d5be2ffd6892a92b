package npy_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestVerifyAllocatesLittleForEachArray holds that many small arrays are read into one buffer.
func TestVerifyAllocatesLittleForEachArray(t *testing.T) {
	const count, most = 2000, 4 << 10 // bytes for each array
	var b bytes.Buffer
	err := serialize.Write(&b, "npz", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for i := range count {
			if !yield(serialize.Entry{Name: fmt.Sprint(i), Array: storage.From([]float32{1, 2, 3, 4}, 4)}, nil) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "many.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	arrays := 0
	for name, err := range serialize.Verify(context.Background(), f) {
		if err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if name != "" {
			arrays++
		}
	}
	runtime.ReadMemStats(&after)
	if arrays != count {
		t.Errorf("%d arrays, want %d", arrays, count)
	}
	if used := int(after.TotalAlloc - before.TotalAlloc); used > count*most {
		t.Errorf("%d bytes allocated for each array, want at most %d", used/count, most)
	}
}
