package dlpack_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A tensor is DLTensor as another library's headers have it.
type tensor struct {
	data           uintptr
	device, id     int32
	ndim           int32
	code, bits     uint8
	lanes          uint16
	shape, strides *int64
	offset         uint64
}

// A managed is DLManagedTensorVersioned.
type managed struct {
	major, minor     uint32
	context, deleter uintptr
	flags            uint64
	tensor
}

// A way is one of the two structs that tensors are exported in.
type way struct {
	name   string
	export func(dlpack.Tensor, func()) (unsafe.Pointer, error)
	take   func(unsafe.Pointer) (dlpack.Tensor, func() error, error)
}

var ways = []way{{"versioned", dlpack.Export, dlpack.Import}, {"unversioned", dlpack.ExportUnversioned, dlpack.ImportUnversioned}}

// drawn returns an array of random bytes on d.
func drawn(t *testing.T, d storage.Device, typ dtype.Type, n int) storage.Array {
	t.Helper()
	r, raw := rand.New(rand.NewPCG(1, 2)), make([]byte, n*typ.Size())
	for i := range raw {
		raw[i] = byte(r.Uint32() & 1) // also bools
	}
	a, err := storage.Array{Data: storage.Wrap(raw), Type: typ, View: views.Of(n)}.To(d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// layouts are ways for 24 elements to lie.
func layouts(t *testing.T) map[string]views.View {
	all := map[string]views.View{"one element": {Offset: 5}}
	for _, expr := range []string{"...", "1:3, 2", "::-1, :, ::-2", ":, 1:1", "2, 1, 3", "None, 1, ..., None"} {
		v, err := views.Of(4, 3, 2).Index(expr)
		if expr == "2, 1, 3" {
			v, err = views.Of(4, 3, 2).Select(0, 1)
		}
		if all[expr] = v; err != nil {
			t.Fatal(err)
		}
	}
	all["transposed"], _ = views.Of(4, 3, 2).Transpose()
	all["repeated"], _ = views.View{Offset: 3, Shape: []int{1}, Stride: []int{1}}.Broadcast(5, 4)
	return all
}

// raw returns the bytes of a's elements in row-major order.
func raw(t *testing.T, a storage.Array) []byte {
	t.Helper()
	host, err := a.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := host.Bytes()
	return b
}

// TestImportUndoesExport for every type, layout, struct and kind of memory: the
// same elements in the same place, kept until they are released, deleted once.
func TestImportUndoesExport(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Deferred)
	for _, d := range []storage.Device{storage.CPU, gpus[0], gpus[1]} {
		for _, w := range ways {
			var trips []*trip
			for _, typ := range dtype.All() {
				for name, v := range layouts(t) {
					a := drawn(t, d, typ, 24).With(v)
					trips = append(trips, begin(t, fmt.Sprintf("%s, %v, %v, %s", w.name, d, typ, name), w, a))
				}
			}
			runtime.GC() // only the tensors keep the memory now
			for _, trip := range trips {
				trip.end(t, w, d)
			}
		}
	}
}

// A trip is an array on its way through a tensor.
type trip struct {
	what    string
	tensor  unsafe.Pointer
	was     storage.Array // without its data
	raw     []byte
	deleted int
}

func begin(t *testing.T, what string, w way, a storage.Array) *trip {
	trip := &trip{what: what, raw: bytes.Clone(raw(t, a))}
	var err error
	if trip.tensor, err = w.export(dlpack.Tensor{Array: a}, func() { trip.deleted++ }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	a.Data = nil
	trip.was = a
	return trip
}

func (trip *trip) end(t *testing.T, w way, d storage.Device) {
	back, release, err := w.take(trip.tensor)
	if err != nil {
		t.Fatalf("%s: %v", trip.what, err)
	}
	was := trip.was
	if back.Type != was.Type || back.Data.Device() != d || !slices.Equal(back.Shape, was.Shape) || !slices.Equal(back.Stride, was.Stride) {
		t.Errorf("%s: came back as %v with strides %v, was %v%v with %v", trip.what, back.Array, back.Stride, was.Type, was.Shape, was.Stride)
	}
	if got := raw(t, back.Array); !bytes.Equal(got, trip.raw) || back.ReadOnly || trip.deleted != 0 {
		t.Errorf("%s: elements % x, want % x; deleted %d times", trip.what, got, trip.raw, trip.deleted)
	}
	if err := release(); err != nil || trip.deleted != 1 {
		t.Errorf("%s: released with %v, deleted %d times", trip.what, err, trip.deleted)
	}
}

// TestMemoryIsShared lets each side see what the other wrote.
func TestMemoryIsShared(t *testing.T) {
	eachDevice(t, func(t *testing.T, d kernels.Runner) {
		for _, w := range ways {
			ours := drawn(t, d, dtype.Float32, 6)
			half, _ := ours.View.Slice(0, 1, 6, 2)
			p, err := w.export(dlpack.Tensor{Array: ours.With(half)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			theirs, release, err := w.take(p)
			if err != nil {
				t.Fatal(err)
			}
			fill(t, d, theirs.Array, 7)
			if got, err := storage.Read[float32](ours); err != nil || got[0] == 7 || got[1] != 7 || got[2] == 7 || got[5] != 7 {
				t.Errorf("%s: the other side wrote 7 to every second, we see %v, %v", w.name, got, err)
			}
			fill(t, d, ours, 9)
			if got, err := storage.Read[float32](theirs.Array); err != nil || fmt.Sprint(got) != "[9 9 9]" {
				t.Errorf("%s: we wrote 9, the other side sees %v, %v", w.name, got, err)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		}
	})
}

func eachDevice(t *testing.T, f func(t *testing.T, d kernels.Runner)) {
	t.Run("cpu", func(t *testing.T) { f(t, kernels.CPU) })
	t.Run("cuda", func(t *testing.T) { f(t, cudatest.Devices(t, cudatest.Deferred)[1]) })
}

func fill(t *testing.T, d kernels.Runner, a storage.Array, x float64) {
	t.Helper()
	if err := d.Run(kernels.Fill, &kernels.Call{Options: kernels.FillOptions{Value: x}, Out: []storage.Array{a}}); err != nil {
		t.Fatal(err)
	}
}

// TestStructsAreDLPacks reads what is exported as another library would.
func TestStructsAreDLPacks(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Eager)[1]
	columns, _ := views.Of(4, 6).Slice(1, 1, 5, 2)
	there := drawn(t, gpu, dtype.BFloat16, 24).With(columns)
	p, err := dlpack.Export(dlpack.Tensor{Array: there, ReadOnly: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := (*managed)(p)
	if m.major != 1 || m.flags != 1 || m.data != uintptr(gpu.Address(there.Data))+2 || m.device != 2 || m.id != 1 ||
		m.ndim != 2 || m.code != 4 || m.bits != 16 || m.lanes != 1 || m.offset != 0 ||
		fmt.Sprint(unsafe.Slice(m.shape, 2), unsafe.Slice(m.strides, 2)) != "[4 2] [6 2]" {
		t.Errorf("exported as %+v, data at %#x", *m, gpu.Address(there.Data))
	}
	back, release, err := dlpack.Import(p)
	if err != nil || !back.ReadOnly {
		t.Errorf("read-only memory came back as %+v, %v", back, err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// TestImportsAreChecked changes one thing of a good tensor at a time.
func TestImportsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(m *managed)
		kind   error
	}{
		"no data":           {func(m *managed) { m.data = 0 }, storage.ErrState},
		"unaligned":         {func(m *managed) { m.offset = 2 }, storage.ErrState},
		"major version":     {func(m *managed) { m.major = 2 }, storage.ErrState},
		"opaque":            {func(m *managed) { m.code = 3 }, dtype.ErrType},
		"code":              {func(m *managed) { m.code = 200 }, dtype.ErrType},
		"bits":              {func(m *managed) { m.bits = 24 }, dtype.ErrType},
		"bits of a bool":    {func(m *managed) { m.code, m.bits = 6, 1 }, dtype.ErrType},
		"lanes":             {func(m *managed) { m.lanes = 4 }, dtype.ErrType},
		"no lanes":          {func(m *managed) { m.lanes = 0 }, dtype.ErrType},
		"device":            {func(m *managed) { m.device = 10 }, storage.ErrDevice},
		"no device":         {func(m *managed) { m.device = 0 }, storage.ErrDevice},
		"GPU":               {func(m *managed) { m.device, m.id = 2, 7 }, storage.ErrDevice},
		"GPU -1":            {func(m *managed) { m.device, m.id = 2, -1 }, storage.ErrDevice},
		"negative rank":     {func(m *managed) { m.ndim = -1 }, views.ErrShape},
		"rank":              {func(m *managed) { m.ndim = math.MaxInt32 }, views.ErrShape},
		"no shape":          {func(m *managed) { m.shape = nil }, views.ErrShape},
		"negative size":     {func(m *managed) { *m.shape = -1 }, views.ErrShape},
		"size":              {func(m *managed) { *m.shape = math.MaxInt64 }, views.ErrShape},
		"size in bytes":     {func(m *managed) { *m.shape = 1 << 60 }, views.ErrShape},
		"size without axes": {func(m *managed) { *m.shape, m.strides = 1<<61, nil }, views.ErrShape},
		"stride":            {func(m *managed) { *m.strides = math.MaxInt64 }, views.ErrShape},
		"least stride":      {func(m *managed) { *m.strides = math.MinInt64 }, views.ErrShape},
		"below address 0":   {func(m *managed) { *m.strides = -1 << 58 }, views.ErrShape},
		"offset":            {func(m *managed) { m.offset = 1<<64 - 8 - uint64(m.data) }, views.ErrShape},
		"offset, round":     {func(m *managed) { m.offset = 1<<64 - 8 }, views.ErrShape},
	} {
		deleted := 0
		p, err := dlpack.Export(dlpack.Tensor{Array: drawn(t, storage.CPU, dtype.Float32, 12).With(views.Of(4, 3))}, func() { deleted++ })
		if err != nil {
			t.Fatal(err)
		}
		m := (*managed)(p)
		good, shape, strides := *m, *m.shape, *m.strides
		test.change(m)
		_, _, err = dlpack.Import(p)
		if !errors.Is(err, test.kind) || strings.Contains(err.Error(), "\n") || deleted != 0 {
			t.Errorf("%s: error %v, deleted %d times; want one line that is %v, and the tensor left to its owner", name, err, deleted, test.kind)
		}
		*m, *good.shape, *good.strides = good, shape, strides
		_, release, err := dlpack.Import(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := release(); err != nil || deleted != 1 {
			t.Errorf("%s: %v, deleted %d times", name, err, deleted)
		}
	}
	for _, w := range ways {
		if _, _, err := w.take(nil); !errors.Is(err, storage.ErrState) {
			t.Errorf("%s: NULL is imported with %v", w.name, err)
		}
	}
}

// TestOtherWaysToSayTheSame are understood: no strides, an offset, pinned memory,
// no deleter.
func TestOtherWaysToSayTheSame(t *testing.T) {
	for name, change := range map[string]func(m *managed){
		"no strides": func(m *managed) { m.strides = nil },
		"offset":     func(m *managed) { m.data, m.offset = m.data-8, 8 },
		"pinned":     func(m *managed) { m.device, m.id = 3, 1 },
		"minor":      func(m *managed) { m.minor = 77 },
	} {
		a := drawn(t, storage.CPU, dtype.Int16, 12).With(views.View{Offset: 4, Shape: []int{4, 2}, Stride: []int{2, 1}})
		p, err := dlpack.Export(dlpack.Tensor{Array: a}, nil)
		if err != nil {
			t.Fatal(err)
		}
		change((*managed)(p))
		back, release, err := dlpack.Import(p)
		if err != nil || !bytes.Equal(raw(t, back.Array), raw(t, a)) {
			t.Errorf("%s: came back as %v, %v", name, back.Array, err)
			continue
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatCannotBeExportedIsNamed(t *testing.T) {
	a := drawn(t, storage.CPU, dtype.Float32, 4)
	inFile := storage.Array{Data: fileSource{}, Type: dtype.Float32, View: views.Of(4)}
	for name, test := range map[string]struct {
		t    dlpack.Tensor
		kind error
	}{
		"in a file": {dlpack.Tensor{Array: inFile}, storage.ErrDevice},
		"outside":   {dlpack.Tensor{Array: a.With(views.Of(5))}, views.ErrShape},
		"nothing":   {dlpack.Tensor{}, storage.ErrState},
	} {
		for _, w := range ways {
			if _, err := w.export(test.t, nil); !errors.Is(err, test.kind) {
				t.Errorf("%s, %s: error %v, want one that is %v", name, w.name, err, test.kind)
			}
		}
	}
	if _, err := dlpack.ExportUnversioned(dlpack.Tensor{Array: a, ReadOnly: true}, nil); !errors.Is(err, storage.ErrState) {
		t.Errorf("read-only memory is exported without saying so: %v", err)
	}
}

// fileSource is an array's place in a file.
type fileSource struct{ storage.Storage }

func (fileSource) Len() int               { return 16 }
func (fileSource) Device() storage.Device { return storage.File("x.h5") }

// TestReleasingWaitsForOurWork on memory of a producer that passes no deleter.
func TestReleasingWaitsForOurWork(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	lent := drawn(t, d, dtype.Float32, 4)
	p, err := dlpack.Export(dlpack.Tensor{Array: lent}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := (*managed)(p)
	deleter := m.deleter
	m.deleter = 0
	ours, release, err := dlpack.Import(p)
	if err != nil {
		t.Fatal(err)
	}
	written, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, d, ours.Array, 7)
	if err := errors.Join(written.Record(d.Stream()), release()); err != nil {
		t.Fatal(err)
	}
	if done, err := written.Done(); !done || err != nil {
		t.Errorf("released before we have written: done %v, %v", done, err)
	}
	m.deleter = deleter
	if _, release, err = dlpack.Import(p); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(release(), written.Close()); err != nil {
		t.Error(err)
	}
}

// TestDeletedTensorsReleaseMemory of the memory that they kept.
func TestDeletedTensorsReleaseMemory(t *testing.T) {
	for _, w := range ways {
		raw := new([64]byte)
		gone := make(chan struct{})
		runtime.AddCleanup(raw, func(gone chan struct{}) { close(gone) }, gone)
		p, err := w.export(dlpack.Tensor{Array: storage.Array{Data: storage.Wrap(raw[:]), Type: dtype.Uint8, View: views.Of(64)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw = nil
		_, release, err := w.take(p)
		if err := errors.Join(err, release()); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Errorf("%s: the memory is kept", w.name)
		}
	}
}

// TestDeletingWaitsForTheConsumer: its stream still reads what was exported.
func TestDeletingWaitsForTheConsumer(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	a := drawn(t, d, dtype.Uint8, 16)
	p, err := dlpack.Export(dlpack.Tensor{Array: a}, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	read, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	seen, err := d.Pin(16)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{d.ExternalStreamWait(theirs.Handle()), theirs.Download(seen, a.Data, 0, 16), read.Record(theirs)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, release, err := dlpack.Import(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if done, err := read.Done(); !done || err != nil {
		t.Errorf("deleted while the consumer's stream still reads: done %v, %v", done, err)
	}
}
