package h5ck

import (
	"bufio"
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5stream"
	"github.com/h5dnn/h5dnn/views"
)

// Options configure Save.
type Options struct {
	// Exact keeps the strides of arrays and the storages that different views share. Each
	// is a dataset without a value then, whose attributes say which part of which dataset
	// of /storage it is. Otherwise such arrays are written row-major, once each.
	Exact bool
}

// Save writes the named file, atomically.
func Save(name string, c serialize.Contents, o Options) error {
	w, err := newWriter(c, o)
	if err != nil {
		return err
	}
	return atomicfile.Write(name, func(f *atomicfile.File) error { return w.write(f) })
}

// A writer writes a file that it has planned.
type writer struct {
	plan     *hdf5stream.File
	header   *index.Layout
	datasets []*hdf5stream.Dataset // of the storages
}

func newWriter(c serialize.Contents, o Options) (*writer, error) {
	f := format
	if o.Exact {
		f = exactFormat
	}
	entries, err := index.Collect(f, c)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
			if strings.HasPrefix(name, prefix) {
				return nil, fmt.Errorf("%q: attribute %s: names that begin with %s are reserved: %w", e.Name, name, prefix, storage.ErrState)
			}
		}
	}
	if err := fitsMeta(c.Meta); err != nil {
		return nil, err
	}
	arrange := serialize.NewRowMajorPlan
	if o.Exact {
		arrange = serialize.NewPlan
	}
	plan := arrange(entries)
	w := &writer{plan: hdf5stream.New(), header: index.NewLayout(entries, plan, c.Meta)}
	w.header.Sums = make([]uint32, len(plan.Storages))
	if err := w.add(entries, plan); err != nil {
		return nil, err
	}
	return w, w.layOut(c.Meta)
}

// add makes the datasets: of a storage that is one array, the array itself, and other arrays
// of the same storage and shape links to it. Views are datasets without a value.
func (w *writer) add(entries []serialize.Entry, plan *serialize.Plan) error {
	w.datasets = make([]*hdf5stream.Dataset, len(plan.Storages))
	owner := make([]int, len(plan.Storages)) // an entry that is its storage
	for s := range owner {
		owner[s] = -1
	}
	whole := func(p serialize.PlannedView) bool { // whether a view is all of its storage, row-major
		return p.View.Contiguous() && p.View.Len() == plan.Storages[p.Storage].Len()
	}
	for i, p := range plan.Views {
		if owner[p.Storage] < 0 && whole(p) {
			owner[p.Storage] = i
		}
	}
	for s, a := range plan.Storages {
		var err error
		if i := owner[s]; i >= 0 {
			err = w.addOwner(entries[i], s)
		} else {
			var group *hdf5stream.Group
			if group, err = w.plan.Root().Group(storageGroup); err == nil {
				w.datasets[s], err = w.dataset(group, fmt.Sprint(s), a.Type, a.Shape)
			}
		}
		if err != nil {
			return err
		}
	}
	for i, p := range plan.Views {
		if owner[p.Storage] == i {
			continue
		}
		e, of := entries[i], owner[p.Storage]
		if err := w.addView(e, p.View, w.datasets[p.Storage], of >= 0 && whole(p) && linked(e, entries[of])); err != nil {
			return err
		}
	}
	return nil
}

// linked reports whether e can be another name of the dataset of owner.
func linked(e, owner serialize.Entry) bool {
	return slices.Equal(e.Array.Shape, owner.Array.Shape) && serialize.SameAttrs(e.Attrs, owner.Attrs)
}

func (w *writer) groupOf(name string) (*hdf5stream.Group, string, error) {
	groups, dataset := place(name)
	g := w.plan.Root()
	var err error
	for _, group := range groups {
		if g, err = g.Group(group); err != nil {
			return nil, "", fmt.Errorf("%q: %w", name, err)
		}
	}
	return g, dataset, nil
}

func (w *writer) addOwner(e serialize.Entry, s int) error {
	g, name, err := w.groupOf(e.Name)
	if err == nil {
		w.datasets[s], err = w.dataset(g, name, e.Array.Type, e.Array.Shape)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	setAttrs(w.datasets[s], e.Attrs)
	return nil
}

// dataset adds a dataset whose checksum is not known yet.
func (w *writer) dataset(g *hdf5stream.Group, name string, t dtype.Type, shape []int) (*hdf5stream.Dataset, error) {
	d, err := g.Declare(name, storedType(t), shape)
	if err != nil {
		return nil, err
	}
	if storedType(t) != t {
		d.SetAttr(attrDType, t.String())
	}
	d.SetAttr(attrCRC, uint32(0))
	return d, nil
}

func (w *writer) addView(e serialize.Entry, v views.View, of *hdf5stream.Dataset, link bool) error {
	g, name, err := w.groupOf(e.Name)
	if err != nil {
		return err
	}
	if link {
		err = g.Link(name, of)
	} else {
		var d *hdf5stream.Dataset
		if d, err = g.Null(name, storedType(e.Array.Type)); err == nil {
			if e.Array.Type != storedType(e.Array.Type) {
				d.SetAttr(attrDType, e.Array.Type.String())
			}
			d.SetAttr(attrStorage, of)
			d.SetAttr(attrOffset, storage.From([]int64{int64(v.Offset)}))
			d.SetAttr(attrShape, numbers(v.Shape))
			d.SetAttr(attrStrides, numbers(v.Stride))
			setAttrs(d, e.Attrs)
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	return nil
}

func numbers(list []int) storage.Array {
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return storage.From(out, len(out))
}

func setAttrs(d *hdf5stream.Dataset, attrs map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		d.SetAttr(name, attrs[name])
	}
}

// layOut plans the file: root attributes, the size of the index, and all addresses.
func (w *writer) layOut(meta map[string]string) error {
	root := w.plan.Root()
	root.SetAttr(attrIndex, storage.From(make([]uint64, 4), 4))
	root.SetAttr(attrVersion, storage.From([]uint32{version}))
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		root.SetAttr(key, meta[key])
	}
	if err := w.plan.Plan(); err != nil { // for addresses without the index
		return err
	}
	size := 0
	for { // until the digits of the addresses fit
		w.setOffsets()
		length, err := w.header.Encode(io.Discard)
		if err != nil {
			return err
		}
		if length <= size {
			return nil
		}
		if size == 0 {
			if _, err := root.Index(indexName, length); err != nil {
				return err
			}
		} else {
			w.plan.ResizeIndex(length)
		}
		size = length
		if err := w.plan.Plan(); err != nil {
			return err
		}
	}
}

// setOffsets copies the planned addresses to the index.
func (w *writer) setOffsets() {
	end := int(w.plan.DataStart())
	for i, d := range w.datasets {
		w.header.Offsets[i] = (end + 63) &^ 63
		if d.Size() > 0 {
			w.header.Offsets[i] = int(d.Address)
		}
		end = w.header.Offsets[i] + int(d.Size())
	}
}

// An output is an atomicfile.File, or a file of a test.
type output interface {
	io.WriteSeeker
	io.WriterAt
	io.ReaderAt
	Truncate(size int64) error
	CheckSpace(size int64) error
}

// write writes the elements, which gives the checksums, and then the metadata.
func (w *writer) write(f output) error {
	if err := f.CheckSpace(w.plan.Size()); err != nil {
		return err
	}
	if _, err := f.Seek(w.plan.DataStart(), io.SeekStart); err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	k := 0 // of the storage that is written
	err := w.plan.WriteData(buffered, func(to io.Writer, d *hdf5stream.Dataset) error {
		for w.datasets[k] != d { // of those before it, there are no elements
			k++
		}
		sum := &summedWriter{w: to}
		err := serialize.WriteLittleEndian(sum, w.header.Plan.Storages[k])
		w.header.Sums[k] = sum.sum
		return err
	})
	if err := cmp.Or(err, buffered.Flush()); err != nil {
		return err
	}
	for k, d := range w.datasets {
		d.SetAttr(attrCRC, w.header.Sums[k])
	}
	if err := w.writeMetadata(f); err != nil {
		return err
	}
	return f.Truncate(w.plan.Size())
}

// writeMetadata writes what is before the data, once the checksums are known.
func (w *writer) writeMetadata(f output) error {
	index := func(to io.Writer) error {
		n, err := w.header.Encode(to)
		if err == nil {
			_, err = io.WriteString(to, strings.Repeat(" ", int(w.plan.IndexSize())-n))
		}
		return err
	}
	text := &summedWriter{w: io.Discard}
	if err := index(text); err != nil {
		return err
	}
	values := []uint64{uint64(w.plan.MetadataEnd()), uint64(w.plan.IndexSize()), uint64(text.sum), 0}
	root := w.plan.Root()
	root.SetAttr(attrIndex, storage.From(values, 4))
	if err := w.plan.WriteMetadata(io.NewOffsetWriter(f, 0), index); err != nil {
		return err
	}
	b := make([]byte, min(headSize, w.plan.DataStart()))
	if _, err := f.ReadAt(b, 0); err != nil {
		return err
	}
	h, err := parseHead(b)
	if err != nil {
		return err
	}
	sum, err := h.regionChecksum(f)
	if err != nil {
		return err
	}
	values[3] = uint64(sum)
	root.SetAttr(attrIndex, storage.From(values, 4))
	return w.plan.WriteRoot(f)
}

// A summedWriter keeps the CRC-32C of what is written.
type summedWriter struct {
	w   io.Writer
	sum uint32
}

func (s *summedWriter) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	return n, err
}
