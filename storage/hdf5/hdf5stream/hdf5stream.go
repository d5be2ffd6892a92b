// Package hdf5stream writes HDF5 files of contiguous datasets in Go, without libhdf5: all
// metadata first, then the elements of each dataset at an aligned offset.
//
// A [File] is planned as a whole. Every structure has its address before the first byte is
// written, elements are written in one pass, and the metadata follow at the end, when
// attributes such as checksums are known. Files have superblock 2, object headers of
// version 2 and groups with symbol tables, which libhdf5 reads from version 1.8 on.
//
// Package hdf5write writes other layouts, with libhdf5.
package hdf5stream

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// PageSize is the alignment of the data region and of large datasets.
const PageSize = 4096

const (
	large          = 64 << 10 // bytes of datasets that are aligned to pages
	smallAlignment = 64
	superblockSize = 48
)

// A File is a plan of a file.
type File struct {
	root  *Group
	heap  *globalHeap
	end   uint64 // of the metadata
	size  uint64 // of the file
	walks int32  // how often each was called
	index *Dataset
	data  []*Dataset // whose elements are in the data region
}

// A node is a structure of the metadata. It is encoded to count its bytes, and once more to write it.
type node interface {
	place(at uint64)
	encode(e *encoder) error
}

// An encoder writes structures one after the other. Its methods keep the first error.
type encoder struct {
	counter
	err     error
	scratch []byte // of what is not written yet
}

// newEncoder returns an encoder of what is at an offset of the file and behind it.
func newEncoder(w io.Writer, at uint64) *encoder {
	return &encoder{counter: counter{w: w, n: int64(at)}}
}

// write writes b, whose memory is that of the next structure.
func (e *encoder) write(b []byte) {
	e.writeShared(b)
	e.scratch = b[:0]
}

// writeShared writes b, which stays as it is.
func (e *encoder) writeShared(b []byte) {
	if e.err == nil {
		_, e.err = e.counter.Write(b)
	}
}

// align writes zeros up to a multiple of n.
func (e *encoder) align(n uint64) {
	at := uint64(e.n)
	e.write(append(e.scratch, make([]byte, alignUp(at, n)-at)...))
}

// New returns a plan of an empty file.
func New() *File {
	f := &File{heap: new(globalHeap)}
	f.root = f.newGroup()
	return f
}

// Root returns the root group.
func (f *File) Root() *Group { return f.root }

// An object is a group or a dataset.
type object interface {
	node
	header() *headerNode
}

// An Attr is an attribute: a string, []string, uint32, storage.Array, or *Dataset, which is
// stored as a reference.
type Attr struct {
	Name  string
	Value any
}

// attributes are those of an object, in their order.
type attributes struct{ list []Attr }

// SetAttr sets an attribute. After Plan, only numbers of the same type and shape may be set
// again.
func (a *attributes) SetAttr(name string, value any) {
	for i := range a.list {
		if a.list[i].Name == name {
			a.list[i].Value = value
			return
		}
	}
	a.list = append(a.list, Attr{name, value})
}

// A Group is a group of the plan.
type Group struct {
	attributes
	file *File
	headerNode
	members []member
	index   map[string]int // of members
	table   symbolTable
}

// A member is an object and its name in a group.
type member struct {
	name   string
	object object
}

func (f *File) newGroup() *Group { return &Group{file: f, index: map[string]int{}} }

// add makes an object a member. Names are unique, and neither empty, "." nor with slashes or
// zeros.
func (g *Group) add(name string, o object) error {
	if name == "" || name == "." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q cannot be the name of an HDF5 object: %w", name, storage.ErrState)
	}
	if _, taken := g.index[name]; taken {
		return fmt.Errorf("duplicate name %q: %w", name, storage.ErrState)
	}
	g.index[name] = len(g.members)
	g.members = append(g.members, member{name, o})
	return nil
}

// Group returns the member group of a name, and creates it if needed.
func (g *Group) Group(name string) (*Group, error) {
	if i, ok := g.index[name]; ok {
		if group, ok := g.members[i].object.(*Group); ok {
			return group, nil
		}
	}
	group := g.file.newGroup()
	return group, g.add(name, group)
}

// Link makes a dataset that is in the file already a member under another name.
func (g *Group) Link(name string, d *Dataset) error { return g.add(name, d) }

// A Dataset is a dataset of the plan.
type Dataset struct {
	attributes
	headerNode
	Type    dtype.Type
	Shape   []int // nil: no value (null dataspace)
	Address int64 // of the elements, once the file is planned
	file    *File
	data    *storage.Array // for Write
}

// Size returns the number of bytes of the elements.
func (d *Dataset) Size() int64 {
	if d.Shape == nil {
		return 0
	}
	n := int64(d.Type.Size())
	for _, length := range d.Shape {
		n *= int64(length)
	}
	return n
}

// Dataset adds a dataset of the elements of an array.
func (g *Group) Dataset(name string, a storage.Array) (*Dataset, error) {
	d, err := g.Declare(name, a.Type, a.Shape)
	if err == nil {
		d.data = &a
	}
	return d, err
}

// Declare adds a dataset whose elements only WriteData asks for.
func (g *Group) Declare(name string, t dtype.Type, shape []int) (*Dataset, error) {
	if shape == nil {
		shape = []int{}
	}
	return g.dataset(name, &Dataset{Type: t, Shape: shape})
}

// Null adds a dataset without a value.
func (g *Group) Null(name string, t dtype.Type) (*Dataset, error) {
	return g.dataset(name, &Dataset{Type: t})
}

func (g *Group) dataset(name string, d *Dataset) (*Dataset, error) {
	if _, err := datatype(d.Type); err != nil {
		return nil, err
	}
	if len(d.Shape) > format.MaxRank {
		return nil, fmt.Errorf("%q: %d axes; HDF5 allows %d: %w", name, len(d.Shape), format.MaxRank, storage.ErrState)
	}
	d.file = g.file
	if err := g.add(name, d); err != nil {
		return nil, err
	}
	g.file.data = append(g.file.data, d)
	return d, nil
}

// Index adds a dataset of n bytes whose elements lie directly behind the metadata and are
// written with them: see WriteMetadata.
func (g *Group) Index(name string, n int) (*Dataset, error) {
	d := &Dataset{Type: dtype.Uint8, Shape: []int{n}, file: g.file}
	g.file.index = d
	return d, g.add(name, d)
}

// ResizeIndex changes the size of the index. Plan must be called again.
func (f *File) ResizeIndex(n int) { f.index.Shape = []int{n} }

// IndexSize returns the number of bytes of the index.
func (f *File) IndexSize() int64 { return f.index.Size() }

// Plan gives every structure its address. Only an index may be added or resized afterwards, before
// it is called again.
func (f *File) Plan() error {
	e := newEncoder(io.Discard, superblockSize)
	err := f.each(func(n node) error {
		n.place(uint64(e.n))
		err := n.encode(e)
		e.align(8)
		return err
	})
	if err != nil {
		return err
	}
	if len(f.heap.known) > math.MaxUint16 {
		return fmt.Errorf("%d different strings in attributes; at most %d are written: %w", len(f.heap.known), math.MaxUint16, storage.ErrState)
	}
	at := uint64(e.n)
	f.end = at
	if f.index != nil {
		f.index.Address = int64(at)
		at += uint64(f.index.Size())
	}
	at = alignUp(at, PageSize)
	for _, d := range f.data {
		if d.Size() == 0 {
			continue
		}
		at = alignUp(at, alignment(d.Size()))
		d.Address = int64(at)
		at += uint64(d.Size())
	}
	f.size = at
	return nil
}

// each calls visit with the structures in the order of their addresses, until it returns an error.
func (f *File) each(visit func(node) error) error {
	f.walks++
	err := visit(f.root)
	if err == nil {
		err = f.eachBelow(f.root, visit)
	}
	if err == nil {
		err = visit(f.heap)
	}
	return err
}

// eachBelow calls visit with the table of a group and with what is below the group.
func (f *File) eachBelow(g *Group, visit func(node) error) error {
	g.table.list(g.members)
	if err := visit(&g.table); err != nil {
		return err
	}
	for _, i := range g.table.order {
		m := g.members[i]
		if m.object.header().walk == f.walks { // another link to it was visited
			continue
		}
		m.object.header().walk = f.walks
		err := visit(m.object)
		if group, ok := m.object.(*Group); ok && err == nil {
			err = f.eachBelow(group, visit)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

func alignUp(n, to uint64) uint64 { return (n + to - 1) &^ (to - 1) }

func alignment(n int64) uint64 {
	if n >= large {
		return PageSize
	}
	return smallAlignment
}

// DataStart returns the offset at which the data region begins.
func (f *File) DataStart() int64 {
	end := f.end
	if f.index != nil {
		end += uint64(f.index.Size())
	}
	return int64(alignUp(end, PageSize))
}

// MetadataEnd returns where the metadata end. The elements of the index begin there.
func (f *File) MetadataEnd() int64 { return int64(f.end) }

// Write writes the file to w, which can be written at any offset.
func (f *File) Write(w io.WriterAt) error {
	if err := f.Plan(); err != nil {
		return err
	}
	write := func(w io.Writer, d *Dataset) error { _, err := d.data.WriteTo(w); return err }
	if err := f.WriteData(io.NewOffsetWriter(w, f.DataStart()), write); err != nil {
		return err
	}
	return f.WriteMetadata(io.NewOffsetWriter(w, 0), nil)
}

// WriteData writes the elements of all datasets that have any to w, which begins at DataStart,
// with zeros between them. write writes those of a dataset, in row-major order.
func (f *File) WriteData(w io.Writer, write func(w io.Writer, d *Dataset) error) error {
	at := f.DataStart()
	var zeros [PageSize]byte
	for _, d := range f.data {
		if d.Size() == 0 {
			continue
		}
		if _, err := w.Write(zeros[:d.Address-at]); err != nil {
			return err
		}
		c := &counter{w: w}
		if err := write(c, d); err != nil {
			return err
		}
		if c.n != d.Size() {
			return fmt.Errorf("%d bytes were read instead of %d: %w", c.n, d.Size(), storage.ErrState)
		}
		at = d.Address + d.Size()
	}
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// WriteMetadata writes the bytes of the file up to the data region. index writes the elements of
// the index, if there is one.
func (f *File) WriteMetadata(w io.Writer, index func(w io.Writer) error) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	e := newEncoder(buffered, 0)
	e.write(f.superblock())
	err := f.each(func(n node) error {
		err := n.encode(e)
		e.align(8)
		return err
	})
	if err != nil {
		return err
	}
	if uint64(e.n) != f.end && e.err == nil {
		return errors.New("hdf5stream: metadata changed their size after Plan")
	}
	if f.index != nil && e.err == nil {
		if err := index(&e.counter); err != nil {
			return err
		}
		if written := e.n - int64(f.end); written != f.index.Size() {
			return fmt.Errorf("an index of %d bytes instead of %d: %w", written, f.index.Size(), storage.ErrState)
		}
	}
	e.align(PageSize)
	return cmp.Or(e.err, buffered.Flush())
}

// WriteRoot writes the object header of the root group once more, whose attributes have changed.
func (f *File) WriteRoot(w io.WriterAt) error {
	e := newEncoder(io.NewOffsetWriter(w, int64(f.root.at)), 0)
	return cmp.Or(f.root.encode(e), e.err)
}

func (f *File) superblock() []byte {
	b := append([]byte("\x89HDF\r\n\x1a\n"), 2, 8, 8, 0)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, format.Undefined)
	b = binary.LittleEndian.AppendUint64(b, f.size)
	b = binary.LittleEndian.AppendUint64(b, f.root.at)
	return binary.LittleEndian.AppendUint32(b, format.Lookup3(b))
}

// Size returns the size of the file.
func (f *File) Size() int64 { return max(int64(f.size), f.DataStart()) }

// A headerNode is an object header of version 2:
//
//	| OHDR | 2 | flags | size of messages (4) | messages … | checksum (4) |
type headerNode struct {
	at   uint64
	walk int32 // the last one that visited it
}

func (h *headerNode) place(at uint64)     { h.at = at }
func (h *headerNode) header() *headerNode { return h }

// HeaderPrefix is the number of bytes of an object header before its messages.
const HeaderPrefix = 10

// header writes an object header of messages.
func (e *encoder) header(messages func(b []byte) ([]byte, error)) error {
	b := append(e.scratch, "OHDR"...)
	b, err := messages(append(b, 2, 2, 0, 0, 0, 0))
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b[6:], uint32(len(b)-HeaderPrefix))
	e.write(binary.LittleEndian.AppendUint32(b, format.Lookup3(b)))
	return nil
}

func (g *Group) encode(e *encoder) error   { return e.header(g.messages) }
func (d *Dataset) encode(e *encoder) error { return e.header(d.messages) }

// Types of messages.
const (
	messageDataspace   = 1
	messageDatatype    = 3
	messageFill        = 5
	messageLayout      = 8
	messageAttribute   = 12
	messageSymbolTable = 17
)

// message appends a message.
func message(b []byte, kind byte, body []byte) ([]byte, error) {
	if len(body) > math.MaxUint16 {
		return b, fmt.Errorf("an attribute or shape of %d bytes; HDF5 allows %d in an object header: %w", len(body), math.MaxUint16, storage.ErrState)
	}
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(body)))
	return append(append(b, 0), body...), nil
}

func (g *Group) messages(b []byte) ([]byte, error) {
	b, err := g.file.attributeMessages(b, g.list)
	if err != nil {
		return b, err
	}
	body := binary.LittleEndian.AppendUint64(nil, g.table.top)
	return message(b, messageSymbolTable, binary.LittleEndian.AppendUint64(body, g.table.at))
}

func (d *Dataset) messages(b []byte) ([]byte, error) {
	typ, err := datatype(d.Type)
	if err != nil {
		return b, err
	}
	address, size := uint64(d.Address), uint64(d.Size())
	if size == 0 {
		address = format.Undefined
	}
	layout := binary.LittleEndian.AppendUint64([]byte{3, 1}, address)
	layout = binary.LittleEndian.AppendUint64(layout, size)
	for _, m := range []struct {
		kind byte
		body []byte
	}{
		{messageDataspace, dataspace(d.Shape)}, {messageDatatype, typ},
		{messageFill, []byte{3, 1 | 2<<2}}, // allocated early, filled if a value is set
		{messageLayout, layout},
	} {
		if b, err = message(b, m.kind, m.body); err != nil {
			return b, err
		}
	}
	return d.file.attributeMessages(b, d.list)
}

// dataspace encodes a shape; nil is a dataspace without elements.
//
//	| 2 | rank | flags | 0 scalar, 1 simple, 2 null | sizes (8 each) |
func dataspace(shape []int) []byte {
	switch {
	case shape == nil:
		return []byte{2, 0, 0, 2}
	case len(shape) == 0:
		return []byte{2, 0, 0, 0}
	}
	b := []byte{2, byte(len(shape)), 0, 1}
	for _, n := range shape {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}
