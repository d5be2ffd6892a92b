package libhdf5

// #include "shim.h"
import "C"

import (
	"math"
	"runtime"
	"unicode/utf8"
)

// Group creates a group and the groups on the way to it.
func (f *File) Group(path string) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t { return C.shim_group(f.id(), cString(path), msg, size) })
	return err
}

// SoftLink creates a soft link.
func (f *File) SoftLink(path, target string) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_soft_link(f.id(), cString(path), cString(target), msg, size)
	})
	return err
}

// HardLink creates another name of the object at target.
func (f *File) HardLink(path, target string) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_hard_link(f.id(), cString(path), cString(target), msg, size)
	})
	return err
}

// ExternalLink creates a link to a path in another file.
func (f *File) ExternalLink(path, file, target string) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_external_link(f.id(), cString(path), cString(file), cString(target), msg, size)
	})
	return err
}

// Comment sets the comment of an object.
func (f *File) Comment(path, comment string) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_comment(f.id(), cString(path), cString(comment), msg, size)
	})
	return err
}

// CommitUnnamed stores a type that objects refer to, without a path. t remains open.
func (f *File) CommitUnnamed(t ID) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_commit_unnamed(f.id(), C.int64_t(t), msg, size)
	})
	return err
}

// LinkType makes path a name of a committed type.
func (f *File) LinkType(path string, t ID) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_link_type(f.id(), cString(path), C.int64_t(t), msg, size)
	})
	return err
}

// NewProperties returns properties of a dataset whose elements are in other datasets or
// files. The caller closes them.
func NewProperties() (ID, error) {
	id, err := call(func(msg *C.char, size C.size_t) C.int64_t { return C.shim_properties(msg, size) })
	return ID(id), err
}

// AddExternal appends a part of a file of raw data, of which it takes a number of bytes.
// -1 stands for all bytes.
func (id ID) AddExternal(file string, offset, bytes int) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_add_external(C.int64_t(id), cString(file), C.int64_t(offset), C.uint64_t(bytes), msg, size)
	})
	return err
}

// pass pins s for a call that takes it as a C struct.
func (s Selection) pass(pin *runtime.Pinner) C.struct_shim_selection {
	list := func(n []int) *C.uint64_t {
		if len(n) == 0 {
			return nil
		}
		p := hsizes(n)
		pin.Pin(p)
		return p
	}
	return C.struct_shim_selection{C.int(s.Kind), C.int(len(s.Shape)), list(s.Shape), list(s.MaxShape), list(s.Numbers), C.size_t(len(s.Numbers))}
}

// AddVirtual maps a selection of a virtual dataset to one of another dataset.
func (id ID) AddVirtual(to Selection, file, dataset string, from Selection) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_add_virtual(C.int64_t(id), to.pass(&pin), cString(file), cString(dataset), from.pass(&pin), msg, size)
	})
	return err
}

// Region returns a reference to a region of the dataset at path, as files store it.
func (f *File) Region(path string, region Selection) ([]byte, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	reference := make([]byte, 12)
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_region(f.id(), cString(path), region.pass(&pin), pointer(reference), msg, size)
	})
	return reference, err
}

// Address returns the address of an object's header, which is the value of object
// references to it.
func (f *File) Address(path string) (uint64, error) {
	address, err := call(func(msg *C.char, size C.size_t) C.int64_t { return C.shim_address(f.id(), cString(path), msg, size) })
	return uint64(address), err
}

// Contiguous creates a contiguous dataset and allocates its elements at offset in the
// file, which is -1 if there are none.
func (f *File) Contiguous(path string, t ID, shape []int) (dataset ID, offset int64, err error) {
	var at C.uint64_t
	id, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_contiguous(f.id(), cString(path), C.int64_t(t), C.int(len(shape)), hsizes(shape), &at, msg, size)
	})
	return ID(id), fileOffset(at), err
}

func fileOffset(at C.uint64_t) int64 {
	if at == math.MaxUint64 {
		return -1
	}
	return int64(at)
}

// Chunked creates a chunked dataset. filters lists, for each filter, its number, flags,
// number of parameters and parameters.
func (f *File) Chunked(path string, t ID, shape, maxShape, chunk []int, filters []uint32) (ID, error) {
	id, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_chunked(f.id(), cString(path), C.int64_t(t), C.int(len(shape)), hsizes(shape), hsizes(maxShape), hsizes(chunk),
			uint32s(filters), C.size_t(len(filters)), msg, size)
	})
	return ID(id), err
}

// Create creates a dataset of any type and layout. offset is -1 unless the layout is
// LayoutAllocated.
func (f *File) Create(path string, d DatasetSpec) (dataset ID, offset int64, err error) {
	layouts := [...]C.int{C.H5DNN_COMPACT, C.H5DNN_CONTIGUOUS, C.H5DNN_ALLOCATED, C.H5DNN_CHUNKED, C.H5DNN_ELSEWHERE}
	var at C.uint64_t
	id, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_dataset(f.id(), cString(path), C.int64_t(d.Type), rank(d.Shape), hsizes(d.Shape), hsizes(d.MaxShape),
			layouts[d.Layout], C.int64_t(d.Properties), hsizes(d.Chunks), uint32s(d.Filters), C.size_t(len(d.Filters)),
			pointer(d.Fill.Bytes), C.size_t(len(d.Fill.Bytes)), uint64s(d.Fill.Pointers), C.size_t(len(d.Fill.Pointers)),
			C.size_t(d.Fill.ElemSize), &at, msg, size)
	})
	return ID(id), fileOffset(at), err
}

// rank returns the rank of a shape, -1 for a null dataspace.
func rank(shape []int) C.int {
	if shape == nil {
		return -1
	}
	return C.int(len(shape))
}

// Extend changes the shape of a chunked dataset.
func (id ID) Extend(shape []int) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_extend(C.int64_t(id), hsizes(shape), msg, size)
	})
	return err
}

// WriteChunk stores the encoded chunk that begins at start. Bits of mask are set for
// filters that were skipped.
func (id ID) WriteChunk(start []int, mask uint32, data []byte) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_write_chunk(C.int64_t(id), hsizes(start), C.uint32_t(mask), pointer(data), C.size_t(len(data)), msg, size)
	})
	return err
}

// ReadChunk returns the encoded chunk that begins at start, or nil if it was never written.
func (id ID) ReadChunk(start []int) (data []byte, mask uint32, err error) {
	n, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_chunk_size(C.int64_t(id), hsizes(start), msg, size)
	})
	if err != nil || n == 0 {
		return nil, 0, err
	}
	var m C.uint32_t
	data = make([]byte, n)
	_, err = call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_read_chunk(C.int64_t(id), hsizes(start), &m, pointer(data), C.size_t(len(data)), msg, size)
	})
	return data, uint32(m), err
}

// Strings writes a hyperslab of a dataset of strings of variable length, and creates it first if
// the hyperslab is the first.
func (f *File) Strings(path string, shape []int, b StringBlock) error {
	create, utf8 := C.int(0), C.int(0)
	if b.First {
		create = 1
	}
	if b.UTF8 {
		utf8 = 1
	}
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_strings(f.id(), cString(path), C.int(len(shape)), hsizes(shape), hsizes(b.Start), hsizes(b.Count),
			create, (*C.char)(pointer(b.Data)), C.size_t(len(b.Data)), utf8, msg, size)
	})
	return err
}

// asUTF8 returns 1 for strings that are marked as UTF-8. HDF5 has no other character set but
// ASCII, as which other bytes are kept; h5py does the same.
func asUTF8(data []byte) C.int {
	if utf8.Valid(data) {
		return 1
	}
	return 0
}

// StringAttr sets an attribute of strings, which are as in [File.Strings], or marked as
// ASCII whatever they are.
func (f *File) StringAttr(path, name string, shape []int, data []byte, ascii bool) error {
	utf8 := asUTF8(data)
	if ascii {
		utf8 = 0
	}
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_attr_strings(f.id(), cString(path), cString(name), C.int(len(shape)), hsizes(shape),
			(*C.char)(pointer(data)), C.size_t(len(data)), utf8, msg, size)
	})
	return err
}

// Attr sets an attribute. A nil shape makes a null attribute.
func (f *File) Attr(path, name string, t ID, shape []int, data []byte) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_attr(f.id(), cString(path), cString(name), C.int64_t(t), rank(shape), hsizes(shape),
			pointer(data), C.size_t(len(data)), msg, size)
	})
	return err
}

// WriteImage writes the elements of an image to a hyperslab of a dataset.
func (id ID) WriteImage(t ID, start, count []int, m Image) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_write_image(C.int64_t(id), C.int64_t(t), C.int(len(start)), hsizes(start), hsizes(count),
			pointer(m.Bytes), C.size_t(len(m.Bytes)), uint64s(m.Pointers), C.size_t(len(m.Pointers)), C.size_t(m.ElemSize), msg, size)
	})
	return err
}

// AttrImage sets an attribute to the elements of an image. A nil shape makes a null attribute.
func (f *File) AttrImage(path, name string, t ID, shape []int, m Image) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_attr_image(f.id(), cString(path), cString(name), C.int64_t(t), rank(shape), hsizes(shape),
			pointer(m.Bytes), C.size_t(len(m.Bytes)), uint64s(m.Pointers), C.size_t(len(m.Pointers)), C.size_t(m.ElemSize), msg, size)
	})
	return err
}

// Read reads a hyperslab of a dataset into dst, which must have exactly the size of the
// elements, as elements of type t, or as they are stored if t is 0. External links are
// not followed; virtual datasets and external data are refused. A hostile file can crash
// the library.
func (f *File) Read(path string, t ID, start, count []int, dst []byte) error {
	_, err := call(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_read(f.id(), cString(path), C.int64_t(t), C.int(len(start)), hsizes(start), hsizes(count),
			pointer(dst), C.size_t(len(dst)), msg, size)
	})
	return err
}
