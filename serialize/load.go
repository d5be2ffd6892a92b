package serialize

import (
	"runtime"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Load reads all arrays of f into host memory, row-major, on several goroutines. Small arrays
// share allocations of slabSize bytes, so one that is kept may keep others. The error names
// the first array that cannot be read.
func Load(f File) ([]Entry, error) {
	list, err := Collect(f)
	if err != nil {
		return nil, err
	}
	slabs := slabsOf(list)
	err = parallel.Do(len(slabs), min(runtime.GOMAXPROCS(0), len(slabs)), func(i int) error { return loadSlab(slabs[i]) })
	if err != nil {
		return nil, err
	}
	return list, nil
}

const (
	slabSize      = 32 << 20
	slabAlignment = 64 // of each array in a slab
)

// slabsOf divides entries of numbers into parts of about slabSize bytes.
func slabsOf(list []Entry) (slabs [][]*Entry) {
	filled := slabSize
	for i := range list {
		if list[i].Elements != nil {
			continue
		}
		if filled >= slabSize {
			slabs, filled = append(slabs, nil), 0
		}
		last := len(slabs) - 1
		slabs[last] = append(slabs[last], &list[i])
		filled += slabBytes(list[i].Array)
	}
	return slabs
}

// slabBytes returns what an array takes in a slab.
func slabBytes(a storage.Array) int {
	return (a.NBytes() + slabAlignment - 1) &^ (slabAlignment - 1)
}

// loadSlab reads arrays into one allocation, which is not cleared before.
func loadSlab(entries []*Entry) error {
	total := 0
	for _, e := range entries {
		total += slabBytes(e.Array)
	}
	slab, err := storage.Empty(dtype.Uint8, total)
	if err != nil {
		return err
	}
	bytes, _ := slab.Bytes()
	for _, e := range entries {
		a := e.Array
		n := a.NBytes()
		to := storage.Array{Data: storage.Wrap(bytes[:n:n]), Type: a.Type, View: views.Of(a.Shape...)}
		bytes = bytes[slabBytes(a):]
		if err := a.CopyTo(to); err != nil {
			return e.Wrap(err)
		}
		e.Array = to
	}
	return nil
}
