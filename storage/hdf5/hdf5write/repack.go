package hdf5write

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// RepackOptions configure [Repack]. The zero value copies a file without changes.
type RepackOptions struct {
	// Layout returns how a dataset is to be stored, or false to keep its layout.
	// Layouts without chunks, filters and room to grow are contiguous.
	Layout func(d *hdf5.Dataset) (Layout, bool, error)

	// Memory is the approximate number of bytes used for elements; 0 means 256 MiB.
	Memory int

	// SkipVerify skips reading the copy and comparing it with the original.
	SkipVerify bool

	// Complete makes it an error if an object cannot be copied. Nothing is written then.
	Complete bool

	// NoSync is that of [CreateOptions].
	NoSync bool

	// Progress, unless nil, is called with the number of bytes of elements that were
	// copied or compared.
	Progress func(path string, bytes int)
}

// A RepackReport says what was copied.
type RepackReport struct {
	Groups, Datasets, Links, Attributes int
	Reencoded                           int            // datasets with a new layout
	Skipped                             []hdf5.Finding // objects that could not be copied
	Notes                               []hdf5.Finding // objects that were copied with a difference
}

// Repack copies a file object by object to the file at path, with other layouts where
// the options ask for them: groups, datasets, attributes, types, links, and references
// between them. Members of groups keep their order. The copy appears under its name
// when it is complete and has been compared with the original. Objects that cannot be
// copied are listed in the report; objects that cannot be read are an error.
func Repack(ctx context.Context, f *hdf5.File, path string, o RepackOptions) (RepackReport, error) {
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
	if n := len(r.report.Skipped); o.Complete && n > 0 {
		return r.report, fmt.Errorf("%s: %d objects cannot be copied, such as %v", f.Name(), n, r.report.Skipped[0])
	}
	if o.SkipVerify {
		return r.report, w.Close()
	}
	return r.report, w.closeAfter(r.verify)
}

type repacker struct {
	ctx      context.Context
	f        *hdf5.File
	w        *Writer
	o        RepackOptions
	report   RepackReport
	paths    map[uint64]string // in the copy, of objects by the address of their header
	types    map[uint64]string // the committed types among them
	deferred []func() error    // copies of values with references, which need all objects
	copied   []copied
	resident int // bytes read from mapped files since their pages were released
}

// A copied dataset is to be compared with its copy.
type copied struct {
	from     *hdf5.Dataset
	verbatim bool // chunks were copied without decoding
}

func (r *repacker) skip(path, format string, args ...any) {
	r.report.Skipped = append(r.report.Skipped, hdf5.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (r *repacker) note(path, format string, args ...any) {
	r.report.Notes = append(r.report.Notes, hdf5.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

// fail adds the names of the file and the object to an error, unless it has them.
func (r *repacker) fail(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), r.f.Name()+": ") {
		return err
	}
	return fmt.Errorf("%s: %s: %w", r.f.Name(), path, err)
}

func (r *repacker) copy() error {
	block := io.NewSectionReader(r.f, 0, int64(r.f.UserBlock()))
	if _, err := io.Copy(io.NewOffsetWriter(r.w.out, 0), block); err != nil {
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
	for _, copy := range r.deferred {
		if err := copy(); err != nil {
			return err
		}
	}
	return nil
}

// commitTypes copies committed types, before the datasets that use them.
func (r *repacker) commitTypes() error {
	for o, err := range r.f.Walk() {
		if err != nil {
			return err
		}
		address, _ := o.Address()
		if _, known := r.paths[address]; o.Kind != hdf5.KindDatatype || known {
			continue
		}
		t, err := o.Datatype()
		if err != nil {
			return err
		}
		id, err := openType(t)
		if err != nil {
			r.skip(o.Path, "a datatype: %v", err)
			continue
		}
		err = r.w.do("commit", o.Path, func() error { return r.w.file.CommitType(o.Path, id) })
		if err = errors.Join(err, id.Close()); err != nil {
			return err
		}
		r.paths[address], r.types[address] = o.Path, o.Path
		if err := r.attributes(o); err != nil {
			return err
		}
	}
	return r.ctx.Err()
}

// object copies an object and everything below it.
func (r *repacker) object(o *hdf5.Object, depth int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	address, isObject := o.Address()
	if at, known := r.paths[address]; known && isObject {
		if at == o.Path {
			return nil // a committed type
		}
		r.report.Links++
		return r.w.do("link", o.Path, func() error { return r.w.file.HardLink(o.Path, at) })
	}
	switch o.Kind {
	case hdf5.KindGroup:
		return r.group(o, depth)
	case hdf5.KindDataset:
		return r.dataset(o)
	case hdf5.KindSoft:
		r.report.Links++
		return r.w.SoftLink(o.Path, o.Target)
	case hdf5.KindExternal:
		if err := errors.Join(checkNoNUL("link", o.TargetFile), checkNoNUL("link", o.Target)); err != nil {
			return err
		}
		r.report.Links++
		return r.w.do("link", o.Path, func() error { return r.w.file.ExternalLink(o.Path, o.TargetFile, o.Target) })
	case hdf5.KindUserDefined:
		r.skip(o.Path, "a user-defined link")
	}
	return nil
}

// maxDepth is the maximum depth of nested groups.
const maxDepth = 1000

func (r *repacker) group(o *hdf5.Object, depth int) error {
	if depth > maxDepth {
		return r.fail(o.Path, fmt.Errorf("groups are nested more than %d deep", maxDepth))
	}
	address, _ := o.Address()
	r.paths[address] = o.Path
	r.report.Groups++
	if err := r.w.Group(o.Path); err != nil {
		return err
	}
	if err := r.attributes(o); err != nil {
		return err
	}
	prefix := strings.TrimSuffix(o.Path, "/") + "/"
	for member, err := range o.Members() {
		if name := strings.TrimPrefix(member.Path, prefix); member != o {
			if wrong := checkPath("/" + name); wrong != nil || name == "" {
				r.skip(o.Path, "its member %q: %v", name, wrong)
				continue
			}
		}
		if err != nil {
			return err
		}
		if err := r.object(member, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// openType returns the library's type for t, to be closed.
func openType(t *hdf5.Type) (libhdf5.ID, error) {
	if err := checkPointers(t); err != nil {
		return 0, err
	}
	message, err := encodeType(t)
	if err != nil {
		return 0, err
	}
	return libhdf5.DecodeType(message)
}

// checkPointers returns an error for types with references or pointers into the global
// heap of another size than the library writes.
func checkPointers(t *hdf5.Type) error {
	size := 0
	switch {
	case t.Class == hdf5.ClassReference && t.Region:
		size = 12
	case t.Class == hdf5.ClassReference:
		size = 8
	case t.Class == hdf5.ClassVarLen:
		size = 16
	}
	if size > 0 && t.Size != size {
		return fmt.Errorf("%v elements of %d bytes, which libhdf5 does not write", t.Class, t.Size)
	}
	if t.Class == hdf5.ClassArray || t.Class == hdf5.ClassVarLen {
		return checkPointers(t.Base)
	}
	for _, m := range t.Members {
		if err := checkPointers(m.Type); err != nil {
			return err
		}
	}
	return nil
}

// openCommitted opens the committed type of a dataset in the copy, or returns 0 if it
// has none.
func (r *repacker) openCommitted(d *hdf5.Dataset) (id libhdf5.ID) {
	if path, known := r.types[d.Type.Committed]; known {
		r.w.do("open", path, func() (err error) {
			id, err = r.w.file.OpenType(path)
			return err
		})
	}
	return id
}

// attributes copies an object's comment and attributes. Attributes with references are
// copied when all objects exist.
func (r *repacker) attributes(o *hdf5.Object) error {
	all, err := o.Attributes()
	if err != nil {
		return err
	}
	if comment := o.Comment(); comment != "" {
		if err := r.w.do("comment on", o.Path, func() error { return r.w.file.Comment(o.Path, comment) }); err != nil {
			return err
		}
	}
	for _, a := range all {
		copy := func() error { return r.attribute(o.Path, a) }
		if a.Type.HasReferences() {
			r.deferred = append(r.deferred, copy)
		} else if err := copy(); err != nil {
			return err
		}
	}
	return nil
}

func (r *repacker) attribute(path string, a hdf5.Attribute) error {
	if err := checkNoNUL("attribute", a.Name); err != nil || a.Name == "" {
		r.skip(path, "attribute %q, whose name cannot be written", a.Name)
		return nil
	}
	id, err := openType(a.Type)
	if err != nil {
		r.skip(path, "attribute %q: %v", a.Name, err)
		return nil
	}
	defer id.Close()
	image := r.newImage()
	n := 0
	if a.Shape != nil {
		n, _ = format.Product(a.Shape...) // checked when it was read
	}
	if err := image.elements(a.Type, a.Raw(), n); err != nil {
		return r.fail(path, fmt.Errorf("attribute %q: %w", a.Name, err))
	}
	r.report.Attributes++
	image.noteLost(path)
	err = r.w.do("set attribute of", path, func() error { return r.w.file.AttrImage(path, a.Name, id, a.Shape, image.of(a.Type)) })
	if err != nil {
		return fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return nil
}

// A target is a dataset of the copy.
type target struct {
	*hdf5.Dataset
	id       libhdf5.ID
	layout   Layout
	offset   int64 // of contiguous elements in the file, or -1
	verbatim bool
}

func (r *repacker) dataset(o *hdf5.Object) error {
	d, err := o.Dataset()
	if err != nil {
		return err
	}
	switch {
	case d.Layout == "virtual":
		r.skip(o.Path, "a virtual dataset, whose elements are in other datasets")
		return nil
	case len(d.External) > 0:
		r.skip(o.Path, "a dataset whose elements are in other files")
		return nil
	}
	t, err := r.plan(d)
	if err != nil {
		return r.fail(o.Path, err)
	}
	id := r.openCommitted(d)
	if id == 0 {
		if id, err = openType(d.Type); err != nil {
			r.skip(o.Path, "a dataset: %v", err)
			return nil
		}
		if d.Type.Committed != 0 {
			r.note(o.Path, "its type is no longer shared, because the committed type has no name")
		}
	}
	defer id.Close()
	if err := r.create(t, id); err != nil {
		return err
	}
	address, _ := o.Address()
	r.paths[address] = o.Path
	r.report.Datasets++
	if err := r.attributes(o); err != nil {
		return err
	}
	if d.Shape != nil {
		r.copied = append(r.copied, copied{d, t.verbatim})
	}
	fill := func() error {
		err := r.fill(t)
		if closing := r.w.do("close", o.Path, t.id.Close); err == nil {
			err = closing
		}
		return err
	}
	if d.Type.HasReferences() {
		r.deferred = append(r.deferred, fill)
		return nil
	}
	return fill()
}

// plan decides how a dataset is stored in the copy.
func (r *repacker) plan(d *hdf5.Dataset) (*target, error) {
	t := &target{Dataset: d, offset: -1, layout: Layout{Chunks: d.Chunks, Filters: d.Filters, MaxShape: d.MaxShape}}
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
		if err := t.layout.completeFor(d); err != nil {
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
	t.verbatim = d.Chunks != nil && sameChunks && sameFilters && !hasPointers(d.Type)
	if !t.verbatim {
		t.layout.Filters = r.writableFilters(t)
	}
	return t, nil
}

// hasPointers reports whether elements contain addresses, which differ in the copy.
func hasPointers(t *hdf5.Type) bool { return t.HasVarLen() || t.HasReferences() }

func sameFilter(a, b filter.Filter) bool {
	return a.ID == b.ID && (slices.Equal(a.Params, b.Params) || a.ID == filter.ShuffleID)
}

// completeFor checks a layout for an existing dataset and fills in the chunk shape.
func (l *Layout) completeFor(d *hdf5.Dataset) error {
	if l.contiguous(d.Shape) {
		return nil
	}
	size, err := format.Product(append([]int{d.Type.Size}, l.Chunks...)...)
	switch {
	case l.Chunks == nil:
		ones := slices.Repeat([]int{1}, len(d.Shape))
		limit := slices.Clone(d.Shape)
		for axis := range limit {
			limit[axis] = max(1, limit[axis])
		}
		l.Chunks = blockShape(limit, ones, max(1, defaultChunkBytes/max(1, d.Type.Size)))
	case len(l.Chunks) != len(d.Shape) || slices.Min(l.Chunks) < 1:
		return fmt.Errorf("chunks %v for a dataset of shape %v", l.Chunks, d.Shape)
	case err != nil || size > math.MaxUint32:
		return fmt.Errorf("chunks %v of elements of %d bytes exceed 4 GiB", l.Chunks, d.Type.Size)
	}
	for axis, size := range l.MaxShape {
		if size != hdf5.Unlimited {
			l.Chunks[axis] = max(1, min(l.Chunks[axis], size)) // HDF5 does not allow larger ones
		}
	}
	return nil
}

// writableFilters replaces the filters of t that cannot be written. The library itself
// writes values of variable length, and knows only its own filters.
func (r *repacker) writableFilters(t *target) []filter.Filter {
	var kept []filter.Filter
	for _, f := range t.layout.Filters {
		own := f.ID == filter.DeflateID || f.ID == filter.ShuffleID || f.ID == filter.Fletcher32ID && !t.Type.HasVarLen()
		if filter.CanEncode(f.ID) && (own || !hasPointers(t.Type)) {
			kept = append(kept, f)
			continue
		}
		if f.ID == filter.Fletcher32ID {
			r.note(t.Path, "without checksums, which HDF5 does not have for values of variable length")
			continue
		}
		if !slices.ContainsFunc(kept, func(f filter.Filter) bool { return f.ID == filter.DeflateID }) {
			kept = append(kept, filter.Deflate(4))
		}
		r.note(t.Path, "compressed with deflate instead of %v", f)
	}
	return kept
}

// create creates the dataset in the copy, with the type that id identifies.
func (r *repacker) create(t *target, id libhdf5.ID) error {
	spec := libhdf5.DatasetSpec{Type: id, Shape: t.Shape, MaxShape: t.layout.MaxShape, Layout: libhdf5.LayoutContiguous,
		Chunks: t.layout.Chunks, Fill: t.Fill}
	switch {
	case t.layout.Chunks != nil:
		spec.Layout = libhdf5.LayoutChunked
	case t.Dataset.Layout == "compact":
		spec.Layout = libhdf5.LayoutCompact
	case !hasPointers(t.Type) && t.Shape != nil && (t.Dataset.Layout == "chunked" || t.Allocated()):
		spec.Layout = libhdf5.LayoutAllocated
	}
	if hasPointers(t.Type) && t.Fill != nil {
		r.note(t.Path, "its fill value is not copied")
		spec.Fill = nil
	}
	pipeline := slices.Clone(t.layout.Filters)
	for k := range pipeline {
		if !filter.CanEncode(pipeline[k].ID) {
			pipeline[k].Flags |= 1 // the library need not know an optional filter
		}
	}
	spec.Filters = filterWords(pipeline, t.Type.Size)
	return r.w.do("create", t.Path, func() (err error) {
		t.id, t.offset, err = r.w.file.Create(t.Path, spec)
		return err
	})
}
