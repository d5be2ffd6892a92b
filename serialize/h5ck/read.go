package h5ck

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// open opens a file by its index or, if that does not fit the file, as HDF5.
func open(in serialize.Input) (serialize.File, error) {
	if f, err := openIndexed(in); err == nil {
		return f, nil
	}
	return openHDF5(in)
}

// A file is a file that was opened by its index.
type file struct {
	*serialize.List
	in       serialize.Input
	sections *serialize.Sections
	header   *index.Header
}

// openIndexed reads the index and compares the checksums of the index and of the metadata.
func openIndexed(in serialize.Input) (*file, error) {
	h, err := readIndex(in)
	if err != nil {
		return nil, err
	}
	f := &file{in: in, header: h}
	if f.sections, err = in.Sections(); err != nil {
		return nil, err
	}
	f.List = serialize.NewList(len(h.Tensors), h.Meta, f.sections.Close)
	if err := f.list(); err != nil {
		f.sections.Release()
		return nil, err
	}
	return f, nil
}

func readIndex(in serialize.Input) (*index.Header, error) {
	b := make([]byte, min(in.Size, headSize))
	if err := in.ReadFull(b, 0); err != nil {
		return nil, err
	}
	head, err := parseHead(b)
	if err != nil {
		return nil, err
	}
	if head.length < 0 || head.length > index.MaxSize || head.offset < int64(head.rootSum)+4 || head.offset > min(maxRegion, in.Size-head.length) {
		return nil, errNotProfile("index")
	}
	text, err := in.ReadText(head.offset, head.length)
	if err != nil {
		return nil, err
	}
	sum, err := head.regionChecksum(in)
	if err != nil {
		return nil, err
	}
	if serialize.TextChecksum(text, castagnoli) != head.sum || sum != head.regionSum {
		return nil, serialize.ErrChecksum
	}
	h, err := index.Parse(text)
	if err != nil {
		return nil, err
	}
	return h, h.Check(int(head.offset+head.length), int(in.Size+63)&^63, 0, index.Alignment)
}

func (f *file) list() error {
	sources := make([]storage.Source, len(f.header.Storages))
	for i, s := range f.header.Storages {
		t, err := dtype.Parse(s.DType)
		if err != nil {
			return err
		}
		at := min(int64(s.Offset), f.in.Size)
		section, err := f.sections.Section(at, int64(s.Bytes))
		if err != nil {
			return err
		}
		if s.HasCRC {
			section = serialize.Verified(section, castagnoli, 0, func(sum uint32) error { return f.compare(i, sum) })
		}
		sources[i] = serialize.Normalize(section, t, binary.LittleEndian)
	}
	for _, t := range f.header.Tensors {
		e, err := f.header.Entry(f.in, t, sources[t.Storage])
		if err == nil {
			err = f.List.Add(e, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *file) compare(i int, got uint32) error {
	return serialize.CompareChecksums(f.in.Name+": "+f.header.Name(i), got, f.header.Storages[i].CRC32C)
}

// Verify implements [serialize.Verifier]: it compares the index with what HDF5 says, and
// the elements with their checksums.
func (f *file) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := f.compareWithHDF5(); err != nil && !yield("", err) {
			return
		}
		for i, s := range f.header.Storages {
			section, err := f.sections.Section(min(int64(s.Offset), f.in.Size), int64(s.Bytes))
			var sum uint32
			if err == nil {
				sum, err = serialize.Checksum(ctx, section, castagnoli)
			}
			if err == nil && s.HasCRC {
				err = f.compare(i, sum)
			}
			for _, t := range f.header.Users(i) {
				if !yield(t.Name, err) {
					return
				}
			}
		}
	}
}

// compareWithHDF5 returns an error if the index and the object headers differ.
func (f *file) compareWithHDF5() error {
	in, err := hdf5.NewReader(f.in.ReaderAt, f.in.Size, hdf5.Options{Name: f.in.Name, Budget: f.in.Budget, Context: f.in.Context})
	if err != nil {
		return err
	}
	defer in.Close()
	list, err := walk(in, f.in)
	if err != nil {
		return err
	}
	return compareLists(f.List, list)
}

// compareLists returns the first difference between the list of an index and the one of HDF5, in the order of the index.
func compareLists(index, list *serialize.List) error {
	if index.Len() != list.Len() {
		return fmt.Errorf("the index has %d arrays, HDF5 %d; save it again for a new one: %w", index.Len(), list.Len(), storage.ErrState)
	}
	for e := range index.All() {
		i, ok := list.Index(e.Name)
		if !ok {
			return fmt.Errorf("%q is in the index and not in HDF5; save it again for a new one: %w", e.Name, storage.ErrState)
		}
		other, err := list.At(i)
		if err == nil {
			err = compareEntries(e, other)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	return nil
}

// compareEntries returns an error if an entry of the index differs from the one of HDF5.
func compareEntries(e, other serialize.Entry) error {
	a, b := e.Array, other.Array

	if a.Type != b.Type || a.Offset != b.Offset || !slices.Equal(a.Shape, b.Shape) || !slices.Equal(a.Stride, b.Stride) {
		return fmt.Errorf("%v%v in the index, %v%v in HDF5: %w", a.Type, a.Shape, b.Type, b.Shape, storage.ErrState)
	}
	if !serialize.SameAttrs(e.Attrs, other.Attrs) {
		return fmt.Errorf("attributes %v in the index, %v in HDF5: %w", e.Attrs, other.Attrs, storage.ErrState)
	}
	return nil
}

// A walkedFile is a file that was opened as HDF5.
type walkedFile struct {
	*serialize.List
	in *hdf5.File
}

func openHDF5(in serialize.Input) (serialize.File, error) {
	f, err := hdf5.NewReader(in.ReaderAt, in.Size, hdf5.Options{Name: in.Name, Budget: in.Budget, Context: in.Context})
	if err != nil {
		return nil, err
	}
	root, err := f.Root()
	if err == nil && !hasVersion(root) {
		err = errNotProfile("no attribute " + attrVersion)
	}
	var list *serialize.List
	if err == nil {
		list, err = walk(f, in)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &walkedFile{list, f}, nil
}

// Verify implements [serialize.Verifier].
func (f *walkedFile) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if !yield("", fmt.Errorf("the index does not fit the file, which another program has changed; save it again for a new one: %w", storage.ErrState)) {
			return
		}
		serialize.ReadAll(ctx, f.List)(yield)
	}
}

// walk lists the arrays as HDF5 has them.
func walk(f *hdf5.File, in serialize.Input) (*serialize.List, error) {
	meta, err := metaOf(f)
	if err != nil {
		return nil, err
	}
	list := serialize.NewList(0, meta, func() error { return errors.Join(f.Close(), in.Close()) })
	for o, err := range f.Walk() {
		var d *hdf5.Dataset
		if err == nil && o.Kind == hdf5.KindDataset {
			d, err = o.Dataset()
		}
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		name, ok := nameAt(d.Path)
		if !ok {
			continue
		}
		e, err := entryOf(f, in, d)
		if e.Name = name; err == nil && e.Array.Data == nil {
			continue // not numbers
		}
		if err := list.Add(e, err); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// metaOf returns the string attributes of the root group.
func metaOf(f *hdf5.File) (map[string]string, error) {
	root, err := f.Root()
	if err != nil {
		return nil, err
	}
	attrs, err := root.Attributes()
	meta := map[string]string{}
	for _, a := range attrs {
		if text, err := a.Strings(); err == nil && len(text) == 1 && len(a.Shape) == 0 && !strings.HasPrefix(a.Name, prefix) {
			meta[a.Name] = text[0]
		}
	}
	return meta, err
}

// entryOf returns the array of a dataset, or an entry without one.
func entryOf(f *hdf5.File, in serialize.Input, d *hdf5.Dataset) (e serialize.Entry, err error) {
	attrs, err := d.Attributes()
	if err != nil {
		return e, err
	}
	own := map[string]hdf5.Attribute{}
	for _, a := range attrs {
		if strings.HasPrefix(a.Name, prefix) {
			own[a.Name] = a
			continue
		}
		if value, err := a.Plain(); err == nil {
			if e.Attrs == nil {
				e.Attrs = map[string]any{}
			}
			e.Attrs[a.Name] = value
		}
	}
	if of, ok := own[attrStorage]; ok {
		return viewOf(f, in, e, of, own)
	}
	if d.DType == dtype.Invalid || d.Shape == nil {
		return e, nil
	}
	address, _ := d.Address()
	e.Shared = strconv.FormatUint(address, 16)
	if e.Array, err = d.Array(); err != nil {
		return e, err
	}
	stored, err := d.Backing()
	if err == nil { // elements that were never written take no room in the file
		err = in.Budget.Make(e.Array.NBytes(), stored)
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", d.Path, err)
	}
	if name, ok := own[attrDType]; ok {
		stored := e.Array.Type
		if e.Array.Type, err = typeOf(name, stored); err != nil {
			return e, err
		}
		e.Array.Data = retypedSource{serialize.AsSource(e.Array.Data), stored}
	}
	if sum, ok := own[attrCRC]; ok {
		if source, isSource := e.Array.Data.(storage.Source); isSource {
			e.Array.Data = serialize.Verified(source, castagnoli, 0, func(got uint32) error { return compareSum(d.Path, sum, got) })
		}
	}
	return e, nil
}

// A retypedSource has elements of one type where HDF5 has those of another.
type retypedSource struct {
	storage.Source
	stored dtype.Type
}

func (r retypedSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t.Size() != r.stored.Size() {
		return fmt.Errorf("%v read as %v: %w", r.stored, t, dtype.ErrType)
	}
	return r.Source.ReadView(dst, r.stored, v)
}

func compareSum(path string, stored hdf5.Attribute, got uint32) error {
	a, err := stored.Array()
	var want []uint32
	if err == nil {
		want, err = storage.Read[uint32](a)
	}
	if err == nil && len(want) == 1 {
		err = serialize.CompareChecksums(path, got, want[0])
	}
	return err
}

// typeOf returns the element type that an attribute names, of the size of stored.
func typeOf(a hdf5.Attribute, stored dtype.Type) (dtype.Type, error) {
	text, err := a.Strings()
	if err != nil {
		return stored, err
	}
	if len(text) != 1 {
		return stored, fmt.Errorf("attribute %s has %d values: %w", a.Name, len(text), storage.ErrState)
	}
	t, err := dtype.Parse(text[0])
	if err == nil && t.Size() != stored.Size() {
		err = fmt.Errorf("attribute %s names %v, but elements have %d bytes: %w", a.Name, t, stored.Size(), dtype.ErrType)
	}
	return t, err
}

// viewOf returns the view of another dataset that the attributes describe.
func viewOf(f *hdf5.File, in serialize.Input, e serialize.Entry, of hdf5.Attribute, own map[string]hdf5.Attribute) (serialize.Entry, error) {
	value, err := of.Value()
	if err != nil {
		return e, err
	}
	ref, ok := value.(hdf5.Reference)
	if !ok {
		return e, fmt.Errorf("attribute %s is not a reference: %w", attrStorage, storage.ErrState)
	}
	d, err := f.Dataset(ref.Path)
	if err != nil {
		return e, err
	}
	if attrs, err := d.Attributes(); err != nil || slices.ContainsFunc(attrs, func(a hdf5.Attribute) bool { return a.Name == attrStorage }) {
		return e, cmp.Or(err, fmt.Errorf("%s is a view itself, not a dataset of elements: %w", ref.Path, storage.ErrState))
	}
	stored, err := entryOf(f, in, d)
	if err == nil && (stored.Array.Data == nil || !stored.Array.Contiguous()) {
		err = fmt.Errorf("%s is not a dataset of numbers: %w", ref.Path, storage.ErrState)
	}
	if err != nil {
		return e, err
	}
	var lists [3][]int
	for i, name := range []string{attrOffset, attrShape, attrStrides} {
		if lists[i], err = intsOf(own, name); err != nil {
			return e, err
		}
	}
	if len(lists[0]) != 1 {
		return e, fmt.Errorf("attribute %s has %d values: %w", attrOffset, len(lists[0]), storage.ErrState)
	}
	t := stored.Array.Type
	v, err := in.View(t, lists[1], lists[2], lists[0][0], stored.Array.Len()*t.Size())
	e.Shared, e.Array = stored.Shared, storage.Array{Data: stored.Array.Data, Type: t, View: v}
	return e, err
}

func intsOf(own map[string]hdf5.Attribute, name string) ([]int, error) {
	a, ok := own[name]
	if !ok {
		return nil, fmt.Errorf("no attribute %s: %w", name, storage.ErrState)
	}
	array, err := a.Array()
	if err != nil {
		return nil, err
	}
	numbers, err := storage.Read[int64](array)
	list := make([]int, len(numbers))
	for i, n := range numbers {
		list[i] = int(n)
	}
	return list, err
}
