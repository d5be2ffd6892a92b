package storagetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func ExampleNewDevice() {
	gpu := NewDevice("fake:0")
	a, err := storage.From([]float32{1, 2, 3}, 3).To(gpu)
	fmt.Println(a, err, gpu.Up.Load(), "bytes")
	// Output: float32[3] on fake:0 <nil> 12 bytes
}

// A record is a testing.TB that remembers whether anything was reported.
type record struct {
	testing.TB
	errors []string
}

func (r *record) Helper()           {}
func (r *record) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *record) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// A faulty device does one thing wrong.
type faulty struct {
	*Fake
	upload   func(dst storage.Storage, offset int, src []byte) error
	download func(dst []byte, src storage.Storage, offset int) error
}

func (f *faulty) Alloc(size int) (storage.Storage, error) {
	s, err := f.Fake.Alloc(size)
	if err != nil {
		return nil, err
	}
	return &owned{s.(*memory), f}, nil
}

type owned struct {
	*memory
	device storage.Device
}

func (o *owned) Device() storage.Device { return o.device }

func (f *faulty) Upload(dst storage.Storage, offset int, src []byte) error {
	o, ok := dst.(*owned)
	if !ok {
		return storage.ErrDevice
	}
	if f.upload != nil {
		return f.upload(o.memory, offset, src)
	}
	return f.Fake.Upload(o.memory, offset, src)
}

func (f *faulty) Download(dst []byte, src storage.Storage, offset int) error {
	o, ok := src.(*owned)
	if !ok {
		return storage.ErrDevice
	}
	if f.download != nil {
		return f.download(dst, o.memory, offset)
	}
	return f.Fake.Download(dst, o.memory, offset)
}

func TestFaultyDevicesAreFoundOut(t *testing.T) {
	fake := NewDevice("fake:0")
	for name, test := range map[string]struct {
		device storage.Device
		want   string // of what is reported; nothing if ""
	}{
		"none": {&faulty{Fake: fake}, ""},
		"ignores the offset": {&faulty{Fake: fake, upload: func(dst storage.Storage, offset int, src []byte) error {
			return fake.Upload(dst, 0, src)
		}}, "came back changed"},
		"loses the last byte": {&faulty{Fake: fake, download: func(dst []byte, src storage.Storage, offset int) error {
			if len(dst) == 0 {
				return nil
			}
			return fake.Download(dst[:len(dst)-1], src, offset)
		}}, "came back changed"},
		"copies what fits": {&faulty{Fake: fake, upload: func(dst storage.Storage, offset int, src []byte) error {
			if offset < 0 || offset > dst.Len() {
				return storage.ErrState
			}
			return fake.Upload(dst, offset, src[:min(len(src), dst.Len()-offset)])
		}}, "succeeds"},
	} {
		var r record
		TestDevice(&r, test.device)
		if got := strings.Join(r.errors, "\n"); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: reported %q, want %q", name, got, test.want)
		}
	}
}

// A source is one in host memory that may do one thing wrong.
type source struct {
	bytes []byte
	fault string
}

func (s *source) Len() int               { return len(s.bytes) }
func (s *source) Device() storage.Device { return storage.File("test") }

func (s *source) ReadView(dst []byte, t dtype.Type, v views.View) error {
	size := t.Size()
	if s.fault != "believes anything" && (!v.Within(len(s.bytes)/size) || len(dst) < v.Len()*size) {
		return views.ErrShape
	}
	if !v.Within(len(s.bytes)/size) || len(dst) < v.Len()*size {
		return nil
	}
	switch s.fault {
	case "walks forwards only":
		v.Offset, _ = v.Bounds()
		v.Offset, v.Stride = max(0, v.Offset), slices.Clone(v.Stride)
		for axis, step := range v.Stride {
			v.Stride[axis] = max(step, -step)
		}
	case "writes on":
		if len(dst) > v.Len()*size {
			dst[v.Len()*size] = 0
		}
	}
	storage.Gather(dst, s.bytes, t, v)
	return nil
}

func TestFaultySourcesAreFoundOut(t *testing.T) {
	for fault, want := range map[string]string{
		"": "", "walks forwards only": "differs", "writes on": "beyond its elements", "believes anything": "succeeds",
	} {
		host := numbered(dtype.Int16, 3, 4)
		b, _ := host.Bytes()
		var r record
		TestSource(&r, host.With(host.View), host) // of host memory, which is no Source
		if len(r.errors) != 1 {
			t.Errorf("host memory as a source: reported %q", r.errors)
		}
		r.errors = nil
		TestSource(&r, storage.Array{Data: &source{bytes.Clone(b), fault}, Type: dtype.Int16, View: host.View}, host)
		if got := strings.Join(r.errors, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: reported %q, want %q", fault, got, want)
		}
	}
}
