package hdf5

// #include "shim.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// RepackOptions say how [File.Repack] copies a file. The zero value copies it as it is.
type RepackOptions struct {
	// Layout returns how a dataset is to be stored, or false to keep it as it
	// is. Layouts without chunks, filters and room to grow are contiguous.
	Layout func(d *Dataset) (Layout, bool, error)

	// Memory is about how many bytes are used for elements; 0 means 256 MiB.
	Memory int

	// Unchecked leaves out reading the copy and comparing it before it gets its name.
	SkipVerify bool

	// NoSync is that of [CreateOptions].
	NoSync bool

	// Progress, unless nil, is told of bytes of elements as they were copied or compared.
	Progress func(path string, bytes int)
}

// RepackReport tells what became of a file's content.
type RepackReport struct {
	Groups, Datasets, Links, Attributes int
	Reencoded                           int       // datasets that are stored in another way
	Skipped                             []Finding // what could not be carried
	Notes                               []Finding // what was carried with a difference
}

// Repack copies the whole file object by object to the file at path, with
// other layouts where the options want them: groups, datasets, attributes,
// types, links, and references between them. Members of groups keep their order.
// The copy appears under its name once it is complete and was compared. What
// cannot be carried is told; what cannot be read is an error.
func (f *File) Repack(ctx context.Context, path string, o RepackOptions) (RepackReport, error) {
	w, err := Create(path, CreateOptions{NoSync: o.NoSync, UserBlock: f.UserBlock()})
	if err != nil {
		return RepackReport{}, err
	}
	defer w.Abort() // unless it was closed
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Progress == nil {
		o.Progress = func(string, int) {}
	}
	r := &repacker{ctx: ctx, f: f, w: w, o: o, paths: map[uint64]string{}, types: map[uint64]string{}}
	if err := r.copy(); err != nil {
		return r.report, err
	}
	if o.SkipVerify {
		return r.report, w.Close()
	}
	return r.report, w.closeAfter(r.verify)
}

type repacker struct {
	ctx      context.Context
	f        *File
	w        *Writer
	o        RepackOptions
	report   RepackReport
	paths    map[uint64]string // in the copy, of objects by the address of their header
	types    map[uint64]string // of these, committed types
	deferred []func() error    // what has references in it, which need all objects
	copied   []copied
	mapped   int // bytes read through mappings since their pages were given back
}

// A copied dataset is one to compare.
type copied struct {
	from     *Dataset
	verbatim bool // chunks were copied as they are stored
}

func (r *repacker) skip(path, format string, args ...any) {
	r.report.Skipped = append(r.report.Skipped, Finding{path, fmt.Sprintf(format, args...)})
}

func (r *repacker) note(path, format string, args ...any) {
	r.report.Notes = append(r.report.Notes, Finding{path, fmt.Sprintf(format, args...)})
}

func (r *repacker) copy() error {
	block := io.NewSectionReader(r.f.file, 0, int64(r.f.UserBlock()))
	if _, err := io.Copy(io.NewOffsetWriter(r.w.out.File, 0), block); err != nil {
		return fmt.Errorf("user block: %w", err)
	}
	if err := r.commitTypes(); err != nil {
		return err
	}
	root, err := r.f.Root()
	if err != nil {
		return err
	}
	if err := r.object(root, 0); err != nil {
		return err
	}
	for _, do := range r.deferred {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// commitTypes copies committed types before the datasets that have them.
func (r *repacker) commitTypes() error {
	for o, err := range r.f.Walk() {
		if err != nil {
			return err
		}
		if _, known := r.paths[addressOf(o)]; o.Kind != KindDatatype || known {
			continue
		}
		t, err := o.Datatype()
		if err != nil {
			return err
		}
		id, err := r.typeOf(t)
		if err != nil {
			r.skip(o.Path, "a datatype: %v", err)
			continue
		}
		_, err = r.w.call("commit", o.Path, func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_commit(C.int64_t(r.w.file.ID()), cString(o.Path), C.int64_t(id), msg, size)
		})
		if err = errors.Join(err, r.drop(id)); err != nil {
			return err
		}
		r.paths[o.header.address], r.types[o.header.address] = o.Path, o.Path
		if err := r.attributes(o); err != nil {
			return err
		}
	}
	return r.ctx.Err()
}

func addressOf(o *Object) uint64 {
	if o.header == nil {
		return undefined
	}
	return o.header.address
}

// object copies an object and what is below it.
func (r *repacker) object(o *Object, depth int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if at, known := r.paths[addressOf(o)]; known && o.header != nil {
		if at == o.Path {
			return nil // a committed type
		}
		r.report.Links++
		return r.link(o.Path, func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_hard_link(C.int64_t(r.w.file.ID()), cString(o.Path), cString(at), msg, size)
		})
	}
	switch o.Kind {
	case KindGroup:
		return r.group(o, depth)
	case KindDataset:
		return r.dataset(o)
	case KindSoft:
		r.report.Links++
		return r.w.SoftLink(o.Path, o.Target)
	case KindExternal:
		if err := errors.Join(checkNoNUL("link", o.TargetFile), checkNoNUL("link", o.Target)); err != nil {
			return err
		}
		r.report.Links++
		return r.link(o.Path, func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_external_link(C.int64_t(r.w.file.ID()), cString(o.Path), cString(o.TargetFile), cString(o.Target), msg, size)
		})
	case KindUserDefined:
		r.skip(o.Path, "a link that only its maker understands")
	}
	return nil
}

func (r *repacker) link(path string, c libraryCall) error {
	_, err := r.w.call("link", path, c)
	return err
}

func (r *repacker) group(o *Object, depth int) error {
	if depth > maxDepth {
		return r.f.fail(o.Path, fmt.Errorf("groups are nested more than %d deep", maxDepth))
	}
	r.paths[o.header.address] = o.Path
	r.report.Groups++
	if err := r.w.Group(o.Path); err != nil {
		return err
	}
	if err := r.attributes(o); err != nil {
		return err
	}
	links, err := o.links()
	if err != nil {
		return err
	}
	links = slices.Clone(links) // which are in the order of names
	slices.SortStableFunc(links, func(a, b link) int { return cmp.Compare(a.order, b.order) })
	for _, l := range links {
		if err := checkPath("/" + l.name); err != nil || l.name == "" {
			r.skip(o.Path, "its member %q: %v", l.name, err)
			continue
		}
		member, err := r.f.resolveLink(o.Path, l)
		if err != nil {
			return err
		}
		if err := r.object(member, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// typeOf returns an id of t, to be dropped.
func (r *repacker) typeOf(t *Type) (int64, error) {
	if (t.hasVarLen() || t.hasReferences()) && r.f.offset != 8 {
		return 0, fmt.Errorf("pointers of %d bytes cannot be carried", r.f.offset)
	}
	if t.hasNewReferences() {
		return 0, errors.New("references of a newer kind than the library that writes")
	}
	message, err := t.encode()
	if err != nil {
		return 0, err
	}
	return callLibrary(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_decode_type(pointer(message), C.size_t(len(message)), msg, size)
	})
}

// committedType returns an id of the committed type that a dataset has, 0 if it has none.
func (r *repacker) committedType(d *Dataset) int64 {
	m, _ := d.header.find(msgDatatype)
	if !d.Type.Committed {
		return 0
	}
	_, at, err := r.f.resolve(msgDatatype, r.f.newCursor("datatype", m.body))
	path, known := r.types[at]
	if err != nil || !known {
		return 0
	}
	id, err := r.w.call("open", path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_committed(C.int64_t(r.w.file.ID()), cString(path), msg, size)
	})
	if err != nil {
		return 0
	}
	return id
}

func (r *repacker) drop(id int64) error {
	_, err := callLibrary(func(msg *C.char, size C.size_t) C.int64_t { return C.shim_close(C.int64_t(id), msg, size) })
	return err
}

// hasReferences reports whether elements are or hold references.
func (t *Type) hasReferences() bool {
	switch t.Class {
	case ClassReference:
		return true
	case ClassArray, ClassVarLen:
		return t.Base.hasReferences()
	case ClassCompound:
		return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Type.hasReferences() })
	}
	return false
}

// hasNewReferences reports whether elements hold references of a kind that HDF5 1.12 made.
func (t *Type) hasNewReferences() bool {
	switch t.Class {
	case ClassReference:
		return t.Size != 8 && !t.Region || t.Size != 12 && t.Region
	case ClassArray, ClassVarLen:
		return t.Base.hasNewReferences()
	case ClassCompound:
		return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Type.hasNewReferences() })
	}
	return false
}

// attributes copies an object's comment and attributes, now or when there is all they refer to.
func (r *repacker) attributes(o *Object) error {
	all, err := o.Attributes()
	if err != nil {
		return err
	}
	if comment := o.Comment(); comment != "" {
		_, err := r.w.call("comment on", o.Path, func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_comment(C.int64_t(r.w.file.ID()), cString(o.Path), cString(comment), msg, size)
		})
		if err != nil {
			return err
		}
	}
	for _, a := range all {
		do := func() error { return r.attribute(o.Path, a) }
		if a.Type.hasReferences() {
			r.deferred = append(r.deferred, do)
		} else if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (r *repacker) attribute(path string, a Attribute) error {
	if err := checkNoNUL("attribute", a.Name); err != nil || a.Name == "" {
		r.skip(path, "attribute %q, whose name cannot be kept", a.Name)
		return nil
	}
	id, err := r.typeOf(a.Type)
	if err != nil {
		r.skip(path, "attribute %q: %v", a.Name, err)
		return nil
	}
	defer r.drop(id)
	image := r.image()
	n := 0
	if a.Shape != nil {
		n, _ = multiply(a.Shape...) // the reader has done so, too
	}
	if err := image.elements(a.Type, a.data, n); err != nil {
		return a.fail(err)
	}
	rank := len(a.Shape)
	if a.Shape == nil {
		rank = -1
	}
	r.report.Attributes++
	image.noteLost(path)
	_, err = r.w.call("set attribute of", path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_attr_image(C.int64_t(r.w.file.ID()), cString(path), cString(a.Name), C.int64_t(id), C.int(rank), sizes(a.Shape),
			pointer(image.out), C.size_t(len(image.out)), uint64s(image.pointers), C.size_t(len(image.pointers)),
			C.size_t(memSize(a.Type)), msg, size)
	})
	if err != nil {
		return fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return nil
}

func uint64s(list []uint64) *C.uint64_t { return (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(list))) }

// A target is a dataset being made.
type target struct {
	*Dataset
	id       int64
	layout   Layout
	offset   uint64 // of contiguous elements, undefined if there is none
	verbatim bool
}

func (r *repacker) dataset(o *Object) error {
	d, err := o.Dataset()
	if err != nil {
		return err
	}
	switch {
	case d.layout.class == layoutVirtual:
		r.skip(o.Path, "a virtual dataset, whose elements are in other datasets")
		return nil
	case len(d.External) > 0:
		r.skip(o.Path, "a dataset whose elements are in other files")
		return nil
	}
	t, err := r.computeLimits(d)
	if err != nil {
		return r.f.fail(o.Path, err)
	}
	id := r.committedType(d)
	if id == 0 {
		if id, err = r.typeOf(d.Type); err != nil {
			r.skip(o.Path, "a dataset: %v", err)
			return nil
		}
		if d.Type.Committed {
			r.note(o.Path, "its type is its own now: the one it shared has no name")
		}
	}
	defer r.drop(id)
	if err := r.create(t, id); err != nil {
		return err
	}
	r.paths[o.header.address] = o.Path
	r.report.Datasets++
	if err := r.attributes(o); err != nil {
		return err
	}
	if d.Shape != nil {
		r.copied = append(r.copied, copied{d, t.verbatim})
	}
	fill := func() error {
		err := r.fill(t)
		if _, closing := r.w.call("close", o.Path, func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_close(C.int64_t(t.id), msg, size)
		}); err == nil {
			err = closing
		}
		return err
	}
	if d.Type.hasReferences() {
		r.deferred = append(r.deferred, fill)
		return nil
	}
	return fill()
}

// computeLimits decides how a dataset is stored in the copy.
func (r *repacker) computeLimits(d *Dataset) (*target, error) {
	t := &target{Dataset: d, offset: undefined, layout: Layout{Chunks: d.Chunks, Filters: d.Filters, MaxShape: d.MaxShape}}
	changed := false
	if r.o.Layout != nil && len(d.Shape) > 0 {
		l, change, err := r.o.Layout(d)
		if err != nil {
			return nil, err
		}
		if changed = change; changed {
			t.layout = l
		}
	}
	if t.layout.MaxShape == nil {
		t.layout.MaxShape = d.Shape
	}
	if changed {
		if err := t.layout.fitFor(d); err != nil {
			return nil, err
		}
	}
	if grows := !slices.Equal(d.MaxShape, d.Shape); grows && t.layout.Chunks == nil {
		r.note(d.Path, "can no longer grow beyond %v", d.Shape)
		t.layout.MaxShape = d.Shape
	}
	sameChunks := slices.Equal(t.layout.Chunks, d.Chunks)
	sameFilters := slices.EqualFunc(t.layout.Filters, d.Filters, sameFilter)
	if changed && !(sameChunks && sameFilters) {
		r.report.Reencoded++
	}
	t.verbatim = d.Chunks != nil && sameChunks && sameFilters && !d.Type.hasVarLen() && !d.Type.hasReferences()
	if !t.verbatim {
		t.layout.Filters = r.writableFilters(t)
	}
	return t, nil
}

func sameFilter(a, b filter.Filter) bool {
	return a.ID == b.ID && (slices.Equal(a.Params, b.Params) || a.ID == filter.ShuffleID)
}

// fitFor completes a layout for a dataset and checks it.
func (l *Layout) fitFor(d *Dataset) error {
	if l.contiguous(d.Shape) {
		return nil
	}
	size, err := multiply(append([]int{d.Type.Size}, l.Chunks...)...)
	switch {
	case l.Chunks == nil:
		ones := slices.Repeat([]int{1}, len(d.Shape))
		room := slices.Clone(d.Shape)
		for axis := range room {
			room[axis] = max(1, room[axis])
		}
		l.Chunks = blockShape(room, ones, max(1, chunkBytes/max(1, d.Type.Size)))
	case len(l.Chunks) != len(d.Shape) || slices.Min(l.Chunks) < 1:
		return fmt.Errorf("chunks %v for a dataset of shape %v", l.Chunks, d.Shape)
	case err != nil || size > math.MaxUint32:
		return fmt.Errorf("chunks %v of elements of %d bytes exceed 4 GiB", l.Chunks, d.Type.Size)
	}
	for axis, most := range l.MaxShape {
		if most != Unlimited {
			l.Chunks[axis] = max(1, min(l.Chunks[axis], most)) // HDF5 refuses larger ones
		}
	}
	return nil
}

// writableFilters returns filters that stand in for those of t's which cannot be
// written. Values of variable length are the library's to write, with its own filters.
func (r *repacker) writableFilters(t *target) []filter.Filter {
	var kept []filter.Filter
	points := t.Type.hasVarLen() || t.Type.hasReferences()
	for _, f := range t.layout.Filters {
		own := f.ID == filter.DeflateID || f.ID == filter.ShuffleID || f.ID == filter.Fletcher32ID && !t.Type.hasVarLen()
		if filter.CanEncode(f.ID) && (own || !points) {
			kept = append(kept, f)
			continue
		}
		if f.ID == filter.Fletcher32ID {
			r.note(t.Path, "without checksums, which HDF5 has none of for values of variable length")
			continue
		}
		if !slices.ContainsFunc(kept, func(f filter.Filter) bool { return f.ID == filter.DeflateID }) {
			kept = append(kept, filter.Deflate(4))
		}
		r.note(t.Path, "compressed with deflate instead of %v", f)
	}
	return kept
}

// create makes the dataset in the copy, of the type that id names.
func (r *repacker) create(t *target, id int64) error {
	layout := C.int(C.H5DNN_CONTIGUOUS)
	mappedSource := !t.Type.hasVarLen() && !t.Type.hasReferences()
	switch {
	case t.layout.Chunks != nil:
		layout = C.H5DNN_CHUNKED
	case t.Dataset.layout.class == layoutCompact:
		layout = C.H5DNN_COMPACT
	case mappedSource && t.Shape != nil && (t.Dataset.layout.class == layoutChunked || t.Dataset.layout.address != undefined):
		layout = C.H5DNN_ALLOCATED
	}
	rank := len(t.Shape)
	if t.Shape == nil {
		rank = -1
	}
	fill := t.Fill
	if !mappedSource && fill != nil {
		r.note(t.Path, "its fill value is left out")
		fill = nil
	}
	pipeline := slices.Clone(t.layout.Filters)
	for k := range pipeline {
		if !filter.CanEncode(pipeline[k].ID) {
			pipeline[k].Flags |= 1 // the library need not know it
		}
	}
	flat := filterWords(pipeline, t.Type.Size)
	var offset C.uint64_t
	var err error
	t.id, err = r.w.call("create", t.Path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_dataset(C.int64_t(r.w.file.ID()), cString(t.Path), C.int64_t(id), C.int(rank), sizes(t.Shape), sizes(t.layout.MaxShape),
			layout, sizes(t.layout.Chunks), (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(flat))), C.size_t(len(flat)),
			pointer(fill), C.size_t(len(fill)), &offset, msg, size)
	})
	t.offset = uint64(offset)
	return err
}
