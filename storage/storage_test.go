package storage_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/views"
)

func TestDevicesKeepTheirPromises(t *testing.T) {
	t.Run("cpu", func(t *testing.T) { storagetest.TestDevice(t, storage.CPU) })
	t.Run("fake", func(t *testing.T) { storagetest.TestDevice(t, storagetest.NewDevice("fake:0")) })
}

// index applies an index expression to an array.
func index(t *testing.T, a storage.Array, expr string) storage.Array {
	t.Helper()
	part, err := a.Index(expr)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// counted returns 0, 1, … as an array.
func counted[T uint8 | int32 | float32 | float64](shape ...int) storage.Array {
	elems := make([]T, views.Of(shape...).Len())
	for i := range elems {
		elems[i] = T(i)
	}
	return storage.From(elems, shape...)
}

func TestCopyTakesAnyLayoutTypeAndDevice(t *testing.T) {
	fake := storagetest.NewDevice("fake:0")
	r := rand.New(rand.NewPCG(1, 1))
	looks := []string{"...", "::-1", ":, ::-1", "1:3, 2:", "::2, ::3", "1:1"}
	for range 500 {
		from := counted[int32](4, 6)
		if r.IntN(2) == 0 {
			from = counted[float64](4, 6)
		}
		from = index(t, from, looks[r.IntN(len(looks))])
		want, err := storage.Read[float32](from)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 {
			if from, err = from.To(fake); err != nil {
				t.Fatal(err)
			}
		}
		to := counted[float32](from.Shape...)
		if r.IntN(2) == 0 { // lying the other way round, and backwards
			flipped := counted[float32](from.Shape[1], from.Shape[0])
			v, _ := flipped.Transpose()
			v, _ = v.Flip(0)
			to = flipped.With(v)
		} else if r.IntN(2) == 0 {
			if to, err = to.To(fake); err != nil {
				t.Fatal(err)
			}
		}
		if err := from.CopyTo(to); err != nil {
			t.Fatal(err)
		}
		if got, err := storage.Read[float32](to); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v to %v: %v, %v; want %v", from, to, got, err, want)
		}
	}
}

// TestEmptyArraysAreCopiedFromAndToAnyOffset copies arrays without elements, whose offsets are
// beyond their memory.
func TestEmptyArraysAreCopiedFromAndToAnyOffset(t *testing.T) {
	for _, from := range []storage.Array{counted[int32](0, 6), counted[float32](0, 6)} {
		from, to := index(t, from, ":, ::-1"), index(t, counted[int32](0, 6), ":, ::-1")
		if err := from.CopyTo(to); err != nil || to.Offset == 0 {
			t.Errorf("%v to offset %d: %v", from, to.Offset, err)
		}
	}
}

func TestCopyWithinOneStorageReadsBeforeItWrites(t *testing.T) {
	a := counted[float32](8)
	if err := index(t, a, ":6").CopyTo(index(t, a, "2:")); err != nil {
		t.Fatal(err)
	}
	if got, want := storage.Elements[float32](a), []float32{0, 1, 0, 1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("shifted: %v, want %v", got, want)
	}
	b := counted[float32](4)
	if err := index(t, b, "::-1").CopyTo(b); err != nil {
		t.Fatal(err)
	}
	if got, want := storage.Elements[float32](b), []float32{3, 2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("reversed: %v, want %v", got, want)
	}
	bytes := dtype.Bytes([]uint32{1, 2, 3, 4})
	wide, narrow := storage.Array{Data: storage.Wrap(bytes), Type: dtype.Uint32, View: views.Of(4)}, storage.From(bytes[4:8], 4)
	if err := wide.CopyTo(narrow); err != nil || !slices.Equal(bytes[4:8], []byte{1, 2, 3, 4}) {
		t.Errorf("narrowed in place: % x, %v", bytes, err)
	}
}

// TestNarrowingInPlaceReadsBeforeItWrites converts elements into bytes that
// later elements lie in, at positions that none of them has.
func TestNarrowingInPlaceReadsBeforeItWrites(t *testing.T) {
	const n = 1 << 18 // uint32s: more than is converted at a time
	words := make([]uint32, n)
	for i := range words {
		words[i] = uint32(i)
	}
	data := storage.Wrap(dtype.Bytes(words))
	wide := storage.Array{Data: data, Type: dtype.Uint32, View: views.Of(n)}
	narrow := storage.Array{Data: data, Type: dtype.Uint8, View: views.Of(n)}
	narrow.Offset = n
	if err := wide.CopyTo(narrow); err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read[uint8](narrow)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if x != uint8(i) {
			t.Fatalf("element %d is %d, want %d", i, x, uint8(i))
		}
	}
}

func TestReadingADeviceFetchesLittleMoreThanItKeeps(t *testing.T) {
	fake := storagetest.NewDevice("fake:0")
	image, err := storage.Make(fake, dtype.Uint8, 4096, 16384) // 64 MiB
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index(t, image, "::256, :64").To(storage.CPU); err != nil {
		t.Fatal(err)
	}
	if got := fake.Down.Load(); got > 32<<20 {
		t.Errorf("fetched %d bytes for 1024 elements, want at most half of the array", got)
	}
}

func TestMovesAreRefusedWithTheirKind(t *testing.T) {
	a, fake := counted[float32](2, 3), storagetest.NewDevice("fake:0")
	there, err := a.To(fake)
	if err != nil {
		t.Fatal(err)
	}
	broadcast1, _ := storage.From([]float32{1}).Broadcast(2, 3)
	beyond := a.With(views.Of(7))
	for name, test := range map[string]struct {
		err  error
		kind error
	}{
		"shapes":         {a.CopyTo(counted[float32](3, 2)), views.ErrShape},
		"broadcast":      {a.CopyTo(storage.From([]float32{1}).With(broadcast1)), views.ErrShape},
		"outside":        {beyond.CopyTo(counted[float32](7)), views.ErrShape},
		"outside, into":  {counted[float32](7).CopyTo(beyond), views.ErrShape},
		"strided upload": {index(t, a, ":, ::2").CopyTo(index(t, there, ":, ::2")), storage.ErrDevice},
		"to a file":      {func() error { _, err := a.To(storage.File("x")); return err }(), storage.ErrDevice},
		"no type":        {func() error { _, err := storage.Make(storage.CPU, dtype.Invalid, 1); return err }(), dtype.ErrType},
		"too large":      {func() error { _, err := storage.Make(storage.CPU, dtype.Float64, 1<<60); return err }(), views.ErrShape},
		"negative":       {func() error { _, err := storage.Make(storage.CPU, dtype.Float64, -1); return err }(), views.ErrShape},
	} {
		if !errors.Is(test.err, test.kind) || strings.Contains(test.err.Error(), "\n") {
			t.Errorf("%s: %v; want one line that is %v", name, test.err, test.kind)
		}
	}
}

func TestWritingCountsVersions(t *testing.T) {
	a := counted[float32](4)
	v := a.Data.(storage.Versioned)
	before := v.Version()
	if _, err := storage.Read[int64](a); err != nil || v.Version() != before {
		t.Errorf("reading: %v, version %d, was %d", err, v.Version(), before)
	}
	if err := storage.Fill(a, float32(3)); err != nil || v.Version() == before {
		t.Errorf("filling: %v, and the version stays %d", err, before)
	}
	if got, want := storage.Elements[float32](a), []float32{3, 3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("filled with %v, want %v", got, want)
	}
	before = v.Version()
	if err := index(t, a, "::-1").CopyTo(a); err != nil || v.Version() == before {
		t.Errorf("copying: %v, and the version stays %d", err, before)
	}
}

func TestHostMemoryIsAligned(t *testing.T) {
	for size := range 300 {
		s, err := storage.CPU.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		if b := s.(storage.Host).Bytes(); len(b) != size || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%64 != 0 {
			t.Errorf("%d bytes at %p for %d", len(b), b, size)
		}
	}
}

// TestMemoryThatThereIsNotIsAnError and no end of the process, of which a library
// is a part.
func TestMemoryThatThereIsNotIsAnError(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is asked how much there is")
	}
	for _, size := range []int{1 << 46, math.MaxInt} {
		if _, err := storage.Make(storage.CPU, dtype.Uint8, size); !errors.Is(err, storage.ErrState) {
			t.Errorf("%d bytes: error %v", size, err)
		}
		if _, err := storage.Empty(dtype.Uint8, size); !errors.Is(err, storage.ErrState) {
			t.Errorf("room for %d bytes: error %v", size, err)
		}
	}
}

func TestPoolReusesMemory(t *testing.T) {
	pool := storage.NewPool(storage.CPU)
	get := func(size int) storage.Storage {
		s, err := pool.Get(size)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, size := range []int{0, 1, 64, 65, 100, 4096, 4097, 1 << 20, 1<<20 + 1, 123_456_7} {
		s := get(size)
		if s.Len() < size || s.Len() > max(64, size+size/8+8) {
			t.Errorf("asked for %d bytes, got %d", size, s.Len())
		}
		pool.Put(s)
		if again := get(size); &again.(storage.Host).Bytes()[0] != &s.(storage.Host).Bytes()[0] {
			t.Errorf("%d bytes were not used again", size)
		}
	}
	s := get(5000)
	if got := testing.AllocsPerRun(100, func() { pool.Put(s); s = get(5000) }); got > 1 {
		t.Errorf("getting what was put allocates %v times, want once: the storage", got)
	}
}

// TestRecycledMemoryIsRefused holds that arrays of memory that was put back in a
// pool, as results of a step are when it ends, never show what is there next.
func TestRecycledMemoryIsRefused(t *testing.T) {
	pool := storage.NewPool(storage.CPU)
	s, err := pool.Get(16)
	if err != nil {
		t.Fatal(err)
	}
	result := storage.Array{Data: s, Type: dtype.Float32, View: views.Of(2, 2)}
	if err := storage.Fill(result, float32(1)); err != nil {
		t.Fatal(err)
	}
	pool.Put(s)
	next, err := pool.Get(16)
	if err != nil {
		t.Fatal(err)
	}
	if err := storage.Fill(result.With(views.Of(2, 2)), float32(2)); !errors.Is(err, storage.ErrState) {
		t.Errorf("Fill: %v, want ErrState", err)
	}
	other, empty := storage.From(make([]float32, 4), 2, 2), result.With(views.Of(0, 2))
	elems, err := storage.Read[float32](result)
	if elems != nil || !errors.Is(err, storage.ErrState) {
		t.Errorf("Read: %v, %v; want nil and ErrState", elems, err)
	}
	for act, err := range map[string]error{
		"CopyTo":    result.CopyTo(other),
		"copied to": other.CopyTo(result),
		"To":        errOf(result.To(storage.CPU)),
		"To, empty": errOf(empty.To(storage.CPU)),
		"WriteTo":   errOf(result.WriteTo(io.Discard)),
	} {
		if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "step") {
			t.Errorf("%s: %v, want ErrState that says the step has ended", act, err)
		}
	}
	if _, ok := result.Bytes(); ok {
		t.Error("Bytes lends recycled memory")
	}
	for act, f := range map[string]func(){
		"Elements":  func() { storage.Elements[float32](result) },
		"Put twice": func() { pool.Put(s) },
	} {
		if !panics(f) {
			t.Errorf("%s of recycled memory does not panic", act)
		}
	}
	if err := storage.CheckAlive(next); err != nil {
		t.Errorf("memory that was taken from the pool again: %v", err)
	}
}

func errOf[T any](_ T, err error) error { return err }

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return
}

// TestReadRefusesWhatDoesNotFit holds that Read gives values or an error, never both.
func TestReadRefusesWhatDoesNotFit(t *testing.T) {
	numbers := storage.From([]int64{1, 300, -1}, 3)
	if got, err := storage.Read[uint8](numbers); got != nil || !errors.Is(err, dtype.ErrType) || !strings.Contains(err.Error(), "element 1 is 300") {
		t.Errorf("300 as uint8: %v, %v; want nil and an error that names it", got, err)
	}
	if got, err := storage.Read[int16](numbers); !slices.Equal(got, []int16{1, 300, -1}) || err != nil {
		t.Errorf("as int16: %v, %v", got, err)
	}
	if err := storage.Fill(storage.From(make([]uint8, 3), 3), int64(300)); !errors.Is(err, dtype.ErrType) {
		t.Errorf("fill uint8 with 300: %v, want ErrType", err)
	}
	wrapped := storage.From(make([]uint8, 3), 3)
	if err := numbers.CopyTo(wrapped); err != nil || !slices.Equal(storage.Elements[uint8](wrapped), []uint8{1, 44, 255}) {
		t.Errorf("CopyTo: %v, %v; want it to wrap as NumPy's astype", wrapped, err)
	}
	outside := storage.Array{Data: storage.Wrap(make([]byte, 8)), Type: dtype.Uint8, View: views.View{Shape: []int{9}, Stride: []int{1}}}
	if got, err := storage.Read[uint8](outside); got != nil || !errors.Is(err, views.ErrShape) {
		t.Errorf("beyond the storage: %v, %v; want nil and ErrShape", got, err)
	}
}

// TestShapesBeyondCountingAreErrors has views whose sizes multiply beyond 2^63,
// as files may declare them, in arrays that nobody checked.
func TestShapesBeyondCountingAreErrors(t *testing.T) {
	for _, shape := range [][]int{{0, 1 << 34, 1 << 34}, {1 << 34, 0, 1 << 34}, {1 << 40, 1 << 40}} {
		a := storage.Array{Data: storage.Wrap(make([]byte, 8)), Type: dtype.Uint8, View: views.View{Shape: shape, Stride: make([]int, len(shape))}}
		if got, err := storage.Read[uint8](a); got != nil || !errors.Is(err, views.ErrShape) {
			t.Errorf("%v: read %v, %v; want ErrShape", shape, got, err)
		}
		if _, err := a.To(storagetest.NewDevice("fake:0")); !errors.Is(err, views.ErrShape) {
			t.Errorf("%v: to a device: %v; want ErrShape", shape, err)
		}
	}
}

// write makes a file of the given bytes.
func write(t *testing.T, b []byte) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestMappedFileIsASource(t *testing.T) {
	want := counted[float32](4, 5, 6)
	f := write(t, append([]byte("odd"), dtype.Bytes(storage.Elements[float32](want))...)) // elements are not aligned
	m, err := storage.Map(f)
	if err != nil {
		t.Fatal(err)
	}
	f.Close() // the mapping does not need it
	data, err := m.Range(3, int64(4*want.Len()))
	if err != nil {
		t.Fatal(err)
	}
	a := storage.Array{Data: data, Type: dtype.Float32, View: want.View}
	storagetest.TestSource(t, a, want)
	if got, want := a.String(), "float32[4 5 6] on file:"+f.Name(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, span := range [][2]int64{{-1, 1}, {0, 484}, {1 << 62, 1 << 62}, {0, -1}} {
		if _, err := m.Range(span[0], span[1]); !errors.Is(err, storage.ErrState) {
			t.Errorf("range %v: %v, want ErrState", span, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), f.Name()) {
		t.Errorf("read after closing: %v, want ErrState that names the file", err)
	}
}

func TestCutFileIsAnErrorNotACrash(t *testing.T) {
	for _, left := range []int64{0, 100, 1 << 20, 1<<22 - 1} { // the last within a page, where no fault occurs
		f := write(t, make([]byte, 1<<22))
		m, err := storage.Map(f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Range(0, 1<<22)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(f.Name(), left); err != nil {
			t.Fatal(err)
		}
		a := storage.Array{Data: data, Type: dtype.Uint8, View: views.Of(1<<11, 1<<11)}
		for _, expr := range []string{"...", "::-1, ::3"} {
			if _, err := index(t, a, expr).To(storage.CPU); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), f.Name()) {
				t.Errorf("cut to %d bytes, %s: %v; want ErrState that names the file", left, expr, err)
			}
		}
	}
}

func TestEmptyFileIsMapped(t *testing.T) {
	m, err := storage.Map(write(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Range(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	storagetest.TestSource(t, storage.Array{Data: data, Type: dtype.Float64, View: views.Of(0, 3)}, counted[float64](0, 3))
}

// TestMappingLivesAsLongAsItsArrays drops everything but an array, then that.
func TestMappingLivesAsLongAsItsArrays(t *testing.T) {
	f := write(t, []byte{1, 2, 3, 4})
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip("no /proc to see mappings in")
		}
		return strings.Contains(string(maps), f.Name())
	}
	m, err := storage.Map(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Range(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	a := storage.Array{Data: data, Type: dtype.Uint8, View: views.Of(2)}
	m, data = nil, nil
	for range 3 {
		runtime.GC()
	}
	if got, err := storage.Read[uint8](a); err != nil || !slices.Equal(got, []uint8{2, 3}) {
		t.Errorf("%v, %v; want [2 3]", got, err)
	}
	if !mapped() {
		t.Error("not mapped while an array can reach it")
	}
	a = storage.Array{}
	for range 100 {
		if runtime.GC(); !mapped() {
			return
		}
		runtime.Gosched()
	}
	t.Error("still mapped when no array can reach it")
}

func BenchmarkGather(b *testing.B) {
	image := counted[uint8](64, 28, 28)
	floats := counted[float32](1024, 1024)
	half, _ := image.View.Slice(2, 7, 21, 2)
	turned, _ := floats.Transpose()
	for name, a := range map[string]storage.Array{"uint8 strided": image.With(half), "float32 transposed": floats.With(turned)} {
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, a.NBytes())
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				storage.Gather(dst, a.Data.(storage.Host).Bytes(), a.Type, a.View)
			}
		})
	}
}

// TestCopyKnowsOneMemoryUnderTwoStorages: the same elements, turned around in place, are
// at other positions of each.
func TestCopyKnowsOneMemoryUnderTwoStorages(t *testing.T) {
	elems := []int64{0, 1, 2, 3, 4, 5, 6, 7}
	from, to := storage.From(elems[4:], 4), storage.From(elems, 8)
	var err error
	if from.View, err = from.Flip(0); err != nil {
		t.Fatal(err)
	}
	if to.View, err = to.Slice(0, 4, 8, 1); err != nil {
		t.Fatal(err)
	}
	if err := from.CopyTo(to); err != nil || !slices.Equal(elems, []int64{0, 1, 2, 3, 7, 6, 5, 4}) {
		t.Errorf("%v, error %v", elems, err)
	}
}

// A torn device fails where it copies by itself.
type torn struct{ storage.Device }

var errTorn = errors.New("torn")

func (torn) CopyFrom(dst, src storage.Array) (bool, error) { return false, errTorn }

// A homed storage says that it is a device's.
type homed struct {
	storage.Storage
	device storage.Device
}

func (h homed) Device() storage.Device { return h.device }

// TestFailuresOfPeerCopiesAreReturned: they are not hidden by a copy through the host.
func TestFailuresOfPeerCopiesAreReturned(t *testing.T) {
	d := torn{storagetest.NewDevice("fake:0")}
	there := func() storage.Array {
		a, err := storage.Make(d, dtype.Int64, 3)
		if err != nil {
			t.Fatal(err)
		}
		a.Data = homed{a.Data, d}
		return a
	}
	from, to := there(), there()
	if err := from.CopyTo(to); !errors.Is(err, errTorn) {
		t.Errorf("error %v, want %v", err, errTorn)
	}
}

// TestLargeReadsOfTruncatedFiles are errors, as small ones are.
func TestLargeReadsOfTruncatedFiles(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const n = 1 << 20
	if err := f.Truncate(n); err != nil {
		t.Fatal(err)
	}
	m, err := storage.Map(f)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	data, err := m.Range(0, n)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, n)
	if err := data.ReadView(dst, dtype.Uint8, views.Of(n)); err != nil {
		t.Error(err)
	}
	if err := f.Truncate(n / 2); err != nil {
		t.Fatal(err)
	}
	if err := data.ReadView(dst, dtype.Uint8, views.Of(n)); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "truncated to 524288 bytes") {
		t.Errorf("of a truncated file: %v", err)
	}
	m.Close()
	if err := data.ReadView(dst, dtype.Uint8, views.Of(n)); !errors.Is(err, storage.ErrState) {
		t.Errorf("of a closed one: %v", err)
	}
}
