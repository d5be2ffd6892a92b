// Package storagetest examines implementations of package storage's interfaces,
// and has a device to try things on.
package storagetest

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Fake is a device whose memory Go cannot address, as that of a GPU. It
// counts what crosses its border.
type Fake struct {
	name                                 string
	Allocs, Uploads, Downloads, Up, Down atomic.Int64 // calls, and bytes each way
}

// NewDevice returns a device of the given name, such as "fake:0".
func NewDevice(name string) *Fake { return &Fake{name: name} }

type memory struct {
	bytes  []byte
	device *Fake
}

func (m *memory) Len() int               { return len(m.bytes) }
func (m *memory) Device() storage.Device { return m.device }

func (f *Fake) String() string { return f.name }

// Alloc fills the memory with garbage, to show who relies on zeros.
func (f *Fake) Alloc(size int) (storage.Storage, error) {
	if size < 0 {
		return nil, fmt.Errorf("%s: allocate %d bytes: %w", f, size, storage.ErrState)
	}
	f.Allocs.Add(1)
	return &memory{bytes.Repeat([]byte{0xa5}, size), f}, nil
}

// Upload copies src to this device.
func (f *Fake) Upload(dst storage.Storage, offset int, src []byte) error {
	b, err := f.bytes(dst, offset, len(src))
	if err == nil {
		f.Uploads.Add(1)
		f.Up.Add(int64(copy(b, src)))
	}
	return err
}

// Download copies from this device to dst.
func (f *Fake) Download(dst []byte, src storage.Storage, offset int) error {
	b, err := f.bytes(src, offset, len(dst))
	if err == nil {
		f.Downloads.Add(1)
		f.Down.Add(int64(copy(dst, b)))
	}
	return err
}

func (f *Fake) bytes(s storage.Storage, offset, n int) ([]byte, error) {
	m, ok := s.(*memory)
	if !ok || m.device != f {
		return nil, fmt.Errorf("%s: storage of %v: %w", f, s.Device(), storage.ErrDevice)
	}
	if err := storage.CheckRange(m, offset, n); err != nil {
		return nil, fmt.Errorf("%s: %w", f, err)
	}
	return m.bytes[offset : offset+n], nil
}

// Sync does nothing: every call has finished when it returns.
func (f *Fake) Sync() error { return nil }

// TestDevice reports all that d does other than storage.Device says.
func TestDevice(t testing.TB, d storage.Device) {
	t.Helper()
	if d.String() == "" {
		t.Error("device has no name")
	}
	if _, err := d.Alloc(-1); err == nil {
		t.Error("Alloc(-1) succeeds")
	}
	for _, size := range []int{0, 1, 63, 4096, 100_000} {
		testBytes(t, d, size)
	}
	if s, err := storage.CPU.Alloc(8); err == nil && d != storage.CPU {
		if d.Upload(s, 0, make([]byte, 8)) == nil || d.Download(make([]byte, 8), s, 0) == nil {
			t.Errorf("%v: takes a storage of the cpu for one of its own", d)
		}
	}
	testMoves(t, d)
	if err := d.Sync(); err != nil {
		t.Errorf("%v: Sync: %v", d, err)
	}
}

// testBytes examines transfers to and from a storage of the given size.
func testBytes(t testing.TB, d storage.Device, size int) {
	t.Helper()
	s, err := d.Alloc(size)
	if err != nil {
		t.Errorf("%v: Alloc(%d): %v", d, size, err)
		return
	}
	if s.Len() != size || s.Device() != d {
		t.Errorf("%v: Alloc(%d) gives %d bytes on %v", d, size, s.Len(), s.Device())
	}
	want := make([]byte, size)
	for i := range want {
		want[i] = byte(i*7 + i>>8)
	}
	third := size / 3
	for _, span := range [][2]int{{third, size}, {0, third}, {size, size}} {
		if err := d.Upload(s, span[0], want[span[0]:span[1]]); err != nil {
			t.Errorf("%v: upload of bytes %v to %d: %v", d, span, size, err)
		}
	}
	got := make([]byte, size)
	if err := d.Download(got, s, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: %d bytes came back changed: %v", d, size, err)
	}
	part := make([]byte, size-third)
	if err := d.Download(part, s, third); err != nil || !bytes.Equal(part, want[third:]) {
		t.Errorf("%v: bytes from %d of %d came back changed: %v", d, third, size, err)
	}
	for _, span := range [][2]int{{0, size + 1}, {-1, 1}, {size + 1, 0}, {size, 1}} {
		if d.Upload(s, span[0], make([]byte, span[1])) == nil {
			t.Errorf("%v: upload of %d bytes to offset %d of %d succeeds", d, span[1], span[0], size)
		}
		if d.Download(make([]byte, span[1]), s, span[0]) == nil {
			t.Errorf("%v: download of %d bytes from offset %d of %d succeeds", d, span[1], span[0], size)
		}
	}
}

// testMoves examines what package storage makes of d.
func testMoves(t testing.TB, d storage.Device) {
	t.Helper()
	for _, typ := range dtype.All() {
		host := numbered(typ, 4, 5, 6)
		for name, v := range selections(host.View) {
			there, err := host.With(v).To(d)
			if err != nil {
				t.Errorf("%v: %s of %v to it: %v", d, name, host, err)
				continue
			}
			if !same(t, there, host.With(v)) {
				t.Errorf("%v: %s of %v changed on its way there", d, name, host)
			}
		}
		there, err := host.To(d)
		if err != nil {
			continue
		}
		for name, v := range selections(host.View) {
			if !same(t, there.With(v), host.With(v)) {
				t.Errorf("%v: %s of %v changed on its way back", d, name, host)
			}
		}
	}
}

// numbered returns an array whose elements' bytes all differ from their neighbours'.
func numbered(typ dtype.Type, shape ...int) storage.Array {
	b := make([]byte, views.Of(shape...).Len()*typ.Size())
	for i := range b {
		b[i] = byte(i*31 + i>>8)
	}
	if typ == dtype.Bool {
		for i := range b {
			b[i] &= 1
		}
	}
	return storage.Array{Data: storage.Wrap(b), Type: typ, View: views.Of(shape...)}
}

// same reports whether an array holds the bytes of another, which is in host memory.
func same(t testing.TB, a, b storage.Array) bool {
	t.Helper()
	x, err := packed(a)
	if err != nil {
		t.Errorf("%v: %v", a, err)
		return false
	}
	return bytes.Equal(x, meaning(b))
}

// meaning returns the bytes of a host array's elements in row-major order, the slow way.
func meaning(a storage.Array) []byte {
	size, all := a.Type.Size(), a.Data.(storage.Host).Bytes()
	b := make([]byte, 0, a.Len()*size)
	for at := range a.Positions() {
		b = append(b, all[at*size:(at+1)*size]...)
	}
	return b
}

func packed(a storage.Array) ([]byte, error) {
	p, err := a.To(storage.CPU)
	if err != nil {
		return nil, err
	}
	b, ok := p.Bytes()
	if !ok {
		return nil, fmt.Errorf("moved to cpu, but is %v with strides %v: %w", p, p.Stride, storage.ErrState)
	}
	return b, nil
}

// selections are ways of looking at a view of three axes or fewer.
func selections(v views.View) map[string]views.View {
	all := map[string]views.View{"all": v}
	for _, expr := range []string{
		"...", "1:", "1:3", "::2", "::-1", "..., ::-1", "..., 1:3", "..., ::3", "..., -1", "0", "-1", "0:0",
		"None, ...", "1:, 2:4", ":, 1:, ::-2", "::-1, ::-1, ::-1", "2, 1, 3", "..., 0:0",
	} {
		if w, err := v.Index(expr); err == nil {
			all[expr] = w
		}
	}
	if w, err := v.Transpose(); err == nil {
		all["transposed"] = w
	}
	if w, ok := v.Broadcast(append([]int{2}, v.Shape...)...); ok {
		all["broadcast"] = w
	}
	if v.Rank() >= 2 {
		if w, err := v.Diagonal(0, 1, 1); err == nil {
			all["diagonal"] = w
		}
	}
	return all
}
