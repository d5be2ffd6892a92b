package hdf5write

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// RepackOptions configure [Repack]. The zero value copies a file without changes.
type RepackOptions struct {
	// Root is the path of the group that becomes the root of the copy, or of the dataset
	// that becomes its only one. By default everything is copied.
	Root string

	// Layout returns how a dataset is to be stored, or false to keep its layout.
	// Layouts without chunks, filters and room to grow are contiguous.
	Layout func(d *hdf5.Dataset) (Layout, bool, error)

	// Reorder returns in which order the rows of a dataset are copied, or nil for the order of the original. It takes 16
	// bytes of memory for each row beside Memory, and space on the disk of the copy for the elements of one dataset.
	Reorder func(d *hdf5.Dataset) *Reorder

	// Materialize copies the elements of virtual datasets and of datasets in external
	// files, instead of the names of the other files.
	Materialize bool

	// DryRun writes nothing and returns the report of a copy.
	DryRun bool

	// Complete makes Repack fail, and leave no file, if anything would be lost.
	Complete bool

	// Memory is the approximate number of bytes used for elements; 0 means 256 MiB.
	Memory int

	// SkipVerify skips reading the copy and comparing it with the original.
	SkipVerify bool

	// NoSync and PageSize have the meaning they have in [CreateOptions].
	NoSync   bool
	PageSize int

	// Progress, unless nil, is called with the number of bytes of elements that were
	// copied or compared.
	Progress func(path string, bytes int)
}

// A RepackReport says what was copied.
type RepackReport struct {
	Groups, Datasets, Links, Attributes int
	Reencoded                           int            // datasets with a new layout
	Reordered                           int            // datasets with rows in another order
	Lost                                loss.List      // what the copy lacks
	Notes                               []hdf5.Finding // objects that were copied with a difference
}

// Repack copies a file object by object to the file at path, with other layouts where
// the options ask for them: groups, datasets, attributes, types, links, mappings of
// virtual datasets, and references between objects. Members of groups keep their order.
// The copy appears under its name when it is complete and has been compared with the
// original. What cannot be copied is listed in the report; objects that cannot be read
// are an error.
func Repack(ctx context.Context, f *hdf5.File, path string, o RepackOptions) (RepackReport, error) {
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Progress == nil || o.DryRun {
		o.Progress = func(string, int) {}
	}
	r := &repacker{ctx: ctx, f: f, o: o, base: "/" + strings.Trim(o.Root, "/"), moved: path != "" && !sameFolder(f.Name(), path),
		paths: map[uint64]string{}, types: map[uint64]libhdf5.ID{}, marked: map[string]bool{}}
	defer r.closeTypes()
	if o.DryRun {
		return r.report, errors.Join(r.copy(), r.refuseLoss())
	}
	w, err := Create(path, CreateOptions{NoSync: o.NoSync, UserBlock: f.UserBlock(), PageSize: o.PageSize})
	if err != nil {
		return RepackReport{}, err
	}
	defer w.Abort() // unless it was closed
	r.w, w.anyNames = w, true
	if err := errors.Join(r.copy(), r.refuseLoss()); err != nil {
		return r.report, err
	}
	r.closeTypes()
	if o.SkipVerify {
		return r.report, w.Close()
	}
	return r.report, w.closeAfter(r.verify)
}

// sameFolder reports whether two files are in one folder.
func sameFolder(a, b string) bool {
	x, err1 := filepath.Abs(filepath.Dir(a))
	y, err2 := filepath.Abs(filepath.Dir(b))
	return err1 == nil && err2 == nil && x == y
}

type repacker struct {
	ctx      context.Context
	f        *hdf5.File
	w        *Writer // nil in a dry run
	o        RepackOptions
	base     string // the path that becomes the root
	top      string // the path in the copy of the object at base: the root, or a dataset in it
	moved    bool   // the copy is in another folder
	report   RepackReport
	paths    map[uint64]string     // in the copy, of objects by the address of their header
	types    map[uint64]libhdf5.ID // committed types of the copy, by the address in the original
	deferred []func() error        // copies of values with references, which need all objects
	copied   []copied              // if it is to be verified
	resident int                   // bytes read from mapped files since their pages were released
	marked   map[string]bool       // paths in the copy of reordered datasets
}

// A copied dataset is to be compared with its copy. A file may have hundreds of thousands.
type copied struct {
	from     *hdf5.Dataset // if its type in the copy is another; else it is read again
	path     string        // in the copy
	verbatim bool          // chunks were copied without decoding
	virtual  bool          // the mappings were copied
	reorder  *Reorder      // nil: rows were copied in order
	sum      *rowSum       // of the rows of a reordered one
}

func (r *repacker) note(path, format string, args ...any) {
	r.report.Notes = append(r.report.Notes, hdf5.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

// do makes one call of the library for an object of the original, unless nothing is to
// be written.
func (r *repacker) do(act, path string, call func() error) error {
	if r.w == nil {
		return nil
	}
	return r.w.do(act, path, call)
}

// refuseLoss returns an error if something is lost that must not be.
func (r *repacker) refuseLoss() error {
	if !r.o.Complete || len(r.report.Lost) == 0 {
		return nil
	}
	first := r.report.Lost[0]
	return fmt.Errorf("%s: the copy would not be complete; %s; the first is of %s: %s",
		r.f.Name(), r.report.Lost.Summary(), first.Path, first.Reason)
}

// fail adds the names of the file and the object to an error, unless it has them.
func (r *repacker) fail(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), r.f.Name()+": ") {
		return err
	}
	return fmt.Errorf("%s: %s: %w", r.f.Name(), path, err)
}

// target returns the path in the copy of an object of the original. ok is false for
// objects that are not at or below the base.
func (r *repacker) target(path string) (to string, ok bool) {
	if r.base == "/" || path == "" {
		return path, true
	}
	rest, below := strings.CutPrefix(path, r.base)
	switch {
	case !below || rest != "" && rest[0] != '/':
		return "", false
	case rest == "":
		return "/", true
	}
	return rest, true
}

// original returns the path of the object that was copied to a path.
func (r *repacker) original(to string) string {
	switch {
	case to == r.top:
		return r.base
	case r.base == "/":
		return to
	}
	return r.base + to
}

func (r *repacker) copy() error {
	if r.w != nil {
		block := io.NewSectionReader(r.f, 0, int64(r.f.UserBlock()))
		if _, err := io.Copy(io.NewOffsetWriter(r.w.out, 0), block); err != nil {
			return fmt.Errorf("user block: %w", err)
		}
	}
	start, err := r.f.Lookup(r.base)
	if err != nil {
		return err
	}
	r.top = "/"
	if start.Kind != hdf5.KindGroup {
		r.top = r.base[strings.LastIndexByte(r.base, '/'):]
	}
	if err := r.object(start, r.top, 0); err != nil {
		return err
	}
	for _, copy := range r.deferred {
		if err := copy(); err != nil {
			return err
		}
	}
	return nil
}

// object copies an object and everything below it to a path of the copy.
func (r *repacker) object(o *hdf5.Object, at string, depth int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	address, isObject := o.Address()
	if first, known := r.paths[address]; known && isObject {
		r.report.Links++
		return r.do("link", at, func() error { return r.w.file.HardLink(at, first) })
	}
	if isObject {
		r.paths[address] = at
	}
	switch o.Kind {
	case hdf5.KindGroup:
		return r.group(o, at, depth)
	case hdf5.KindDataset:
		return r.dataset(o, at)
	case hdf5.KindDatatype:
		return r.datatype(o, at)
	case hdf5.KindSoft:
		return r.softLink(o, at)
	case hdf5.KindExternal:
		return r.externalLink(o, at)
	}
	r.report.Lost.Add(o.Path, loss.Link, 1, "a link of a type that an application defined")
	return nil
}

func (r *repacker) softLink(o *hdf5.Object, at string) error {
	to, ok := o.Target, true
	if strings.HasPrefix(to, "/") {
		to, ok = r.target(to)
	}
	if err := checkNoNUL("link", to); err != nil || !ok {
		r.report.Lost.Add(o.Path, loss.Link, 1, "a link to %s, which is outside of %s", o.Target, r.base)
		return nil
	}
	r.report.Links++
	return r.do("link", at, func() error { return r.w.file.SoftLink(at, to) })
}

func (r *repacker) externalLink(o *hdf5.Object, at string) error {
	if err := errors.Join(checkNoNUL("link", o.TargetFile), checkNoNUL("link", o.Target)); err != nil {
		return err
	}
	r.report.Links++
	r.noteMoved(o.Path, o.TargetFile)
	return r.do("link", at, func() error { return r.w.file.ExternalLink(at, o.TargetFile, o.Target) })
}

// noteMoved notes the name of another file that is relative to the folder of the original.
func (r *repacker) noteMoved(path, file string) {
	if r.moved && file != "." && !filepath.IsAbs(file) {
		r.note(path, "refers to file %q beside the original, and the copy is in another folder", file)
	}
}

// maxDepth is the maximum depth of nested groups.
const maxDepth = 1000

func (r *repacker) group(o *hdf5.Object, at string, depth int) error {
	if depth > maxDepth {
		return r.fail(o.Path, fmt.Errorf("groups are nested more than %d deep", maxDepth))
	}
	r.report.Groups++
	if at != "/" {
		if err := r.do("group", at, func() error { return r.w.file.Group(at) }); err != nil {
			return err
		}
	}
	if err := r.attributes(o, at); err != nil {
		return err
	}
	prefix := strings.TrimSuffix(o.Path, "/") + "/"
	for member, err := range o.Members() {
		name := strings.TrimPrefix(member.Path, prefix)
		if member != o && (name == "" || name == "." || strings.ContainsAny(name, "/\x00")) {
			r.report.Lost.Add(o.Path, loss.Link, 1, "its member %q has a name that HDF5 cannot look up", name)
			continue
		}
		if err != nil {
			return err
		}
		to := member.Path
		if at != o.Path {
			to = strings.TrimSuffix(at, "/") + "/" + name
		}
		if err := r.object(member, to, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// datatype copies a committed type.
func (r *repacker) datatype(o *hdf5.Object, at string) error {
	address, _ := o.Address()
	t, err := o.Datatype()
	if err != nil {
		return err
	}
	t.Committed = address
	if t.Tagged {
		err = errTagged
	}
	var id libhdf5.ID
	if err == nil {
		id, _, err = r.typeOf(t)
	}
	if err != nil {
		r.report.Lost.Add(o.Path, loss.Type, 1, "%v", err)
		delete(r.paths, address)
		return nil
	}
	if err := r.do("commit", at, func() error { return r.w.file.LinkType(at, id) }); err != nil {
		return err
	}
	return r.attributes(o, at)
}

// typeOf returns the library's type for t, and a function that releases it. If t is
// committed, so is the type in the copy, if need be without a path.
func (r *repacker) typeOf(t *hdf5.Type) (id libhdf5.ID, release func(), err error) {
	none := func() {}
	if id, known := r.types[t.Committed]; known && t.Committed != 0 {
		return id, none, nil
	}
	if id, err = openType(t); err != nil {
		return 0, none, err
	}
	if t.Committed == 0 {
		return id, func() { id.Close() }, nil
	}
	r.types[t.Committed] = id
	return id, none, r.do("commit", "/", func() error { return r.w.file.CommitUnnamed(id) })
}

func (r *repacker) closeTypes() {
	for _, id := range r.types {
		id.Close()
	}
	clear(r.types)
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
	case t.Class == hdf5.ClassReference && t.Tagged: // resolved by repacker.untag
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
	parts := []*hdf5.Type{}
	if t.Class == hdf5.ClassArray || t.Class == hdf5.ClassVarLen {
		parts = append(parts, t.Base)
	}
	for _, m := range t.Members {
		parts = append(parts, m.Type)
	}
	for _, part := range parts {
		if part.Tagged {
			return fmt.Errorf("%v: %w", t.Class, errTagged)
		}
		if err := checkPointers(part); err != nil {
			return err
		}
	}
	return nil
}

// attributes copies an object's comment and attributes. Attributes with references are
// copied when all objects exist.
func (r *repacker) attributes(o *hdf5.Object, at string) error {
	all, err := o.Attributes()
	if err != nil {
		return err
	}
	if comment := o.Comment(); comment != "" {
		if err := r.do("comment on", at, func() error { return r.w.file.Comment(at, comment) }); err != nil {
			return err
		}
	}
	for _, a := range all {
		copy := func() error { return r.attribute(o.Path, at, a) }
		if a.Type.HasReferences() {
			r.deferred = append(r.deferred, copy)
		} else if err := copy(); err != nil {
			return err
		}
	}
	return nil
}

func (r *repacker) attribute(path, at string, a hdf5.Attribute) error {
	err := checkNoNUL("attribute", a.Name)
	if err != nil || a.Name == "" {
		r.report.Lost.Add(path, loss.Attribute, 1, "the name %q cannot be written", a.Name)
		return nil
	}
	a.Type, err = r.untag(path, a.Type, slices.Chunk(a.Raw(), max(1, a.Type.Size)))
	var id libhdf5.ID
	var release func()
	if err == nil {
		id, release, err = r.typeOf(a.Type)
	}
	if err != nil {
		r.report.Lost.Add(path, loss.Attribute, 1, "attribute %q: %v", a.Name, err)
		return nil
	}
	defer release()
	image := r.newImage()
	n := 0
	if a.Shape != nil {
		n, _ = format.Product(a.Shape...) // checked when it was read
	}
	if err := image.elements(a.Type, a.Raw(), n); err != nil {
		return r.fail(path, fmt.Errorf("attribute %q: %w", a.Name, err))
	}
	r.report.Attributes++
	image.countLost(path, "attribute "+a.Name)
	err = r.do("set attribute of", at, func() error { return r.w.file.AttrImage(at, a.Name, id, a.Shape, image.of(a.Type)) })
	if err != nil {
		return fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return nil
}

// A target is a dataset of the copy.
type target struct {
	*hdf5.Dataset
	at       string // its path in the copy
	id       libhdf5.ID
	layout   Layout
	offset   int64 // of contiguous elements in the file, or -1
	verbatim bool
	virtual  bool // the elements are in other datasets or files
	reorder  *Reorder
	sum      *rowSum
}

func (r *repacker) dataset(o *hdf5.Object, at string) error {
	d, err := o.Dataset()
	if err != nil {
		return err
	}
	address, _ := o.Address()
	t := &target{Dataset: d, at: at, offset: -1, virtual: (d.Layout == "virtual" || len(d.External) > 0) && !r.o.Materialize && d.Shape != nil}
	if err := r.plan(t); err != nil {
		return r.fail(o.Path, err)
	}
	var unread error
	d.Type, err = r.untag(o.Path, d.Type, r.eachElement(d, &unread))
	if unread != nil {
		return r.fail(o.Path, unread)
	}
	var id libhdf5.ID
	var release func()
	if err == nil {
		id, release, err = r.typeOf(d.Type)
	}
	if err != nil {
		r.report.Lost.Add(o.Path, loss.Array, 1, "%v", err)
		delete(r.paths, address)
		return nil
	}
	defer release()
	if err := r.create(t, id); err != nil {
		return err
	}
	r.report.Datasets++
	if err := r.attributes(o, at); err != nil {
		return err
	}
	if err := r.mark(t); err != nil {
		return err
	}
	if d.Shape != nil && !r.o.SkipVerify && r.w != nil {
		c := copied{path: at, verbatim: t.verbatim, virtual: t.virtual, reorder: t.reorder, sum: t.sum}
		if d.Type.Tagged {
			c.from = d
		}
		r.copied = append(r.copied, c)
	}
	fill := func() error {
		err := r.fill(t)
		if closing := r.do("close", at, func() error { return t.id.Close() }); err == nil {
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
func (r *repacker) plan(t *target) error {
	d := t.Dataset
	t.layout = Layout{Chunks: d.Chunks, Filters: d.Filters, MaxShape: d.MaxShape}
	changed := false
	if r.o.Layout != nil && !t.virtual {
		l, change, err := r.o.Layout(d)
		if err != nil {
			return err
		}
		if changed = change && len(d.Shape) > 0; changed {
			t.layout = l
		}
	}
	if err := r.planReorder(t); err != nil {
		return err
	}
	if t.layout.MaxShape == nil {
		t.layout.MaxShape = d.Shape
	}
	if changed && !t.layout.contiguous(d.Shape) {
		var err error
		if t.layout.Chunks, err = t.layout.chunkShape(d.Shape, t.layout.MaxShape, d.Type.Size); err != nil {
			return err
		}
	}
	if grows := !slices.Equal(d.MaxShape, d.Shape); grows && t.layout.Chunks == nil && !t.virtual {
		r.note(d.Path, "can no longer grow beyond %v", d.Shape)
		t.layout.MaxShape = d.Shape
	}
	sameChunks := slices.Equal(t.layout.Chunks, d.Chunks)
	sameFilters := slices.EqualFunc(t.layout.Filters, d.Filters, sameFilter)
	if changed && !(sameChunks && sameFilters) {
		r.report.Reencoded++
	}
	t.verbatim = t.reorder == nil && d.Chunks != nil && sameChunks && sameFilters && !hasPointers(d.Type)
	if !t.verbatim {
		t.layout.Filters = r.writableFilters(t)
	}
	return nil
}

// planReorder decides in which order the rows of a dataset are in the copy.
func (r *repacker) planReorder(t *target) error {
	if r.o.Reorder == nil {
		return nil
	}
	if t.reorder = r.o.Reorder(t.Dataset); t.reorder == nil {
		return nil
	}
	if t.virtual {
		return errors.New("its elements are in other datasets or files; rows are reordered where they are copied")
	}
	t.sum = &rowSum{seed: maphash.MakeSeed()}
	r.report.Reordered++
	r.marked[t.at] = true
	return t.reorder.check(t.Dataset)
}

// mark sets the attribute of a reordered dataset.
func (r *repacker) mark(t *target) error {
	if t.reorder == nil || t.reorder.Attr.Name == "" || r.w == nil {
		return nil
	}
	return r.w.SetAttr(t.at, t.reorder.Attr.Name, t.reorder.Attr.Value)
}

// hasPointers reports whether elements contain addresses, which differ in the copy.
func hasPointers(t *hdf5.Type) bool { return t.HasVarLen() || t.HasReferences() }

func sameFilter(a, b filter.Filter) bool {
	return a.ID == b.ID && (slices.Equal(a.Params, b.Params) || a.ID == filter.ShuffleID)
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

// lastOwnFilter is the last of the numbers that the HDF Group keeps for filters of
// libhdf5.
const lastOwnFilter = 255

// create creates the dataset in the copy, with the type that id identifies.
func (r *repacker) create(t *target, id libhdf5.ID) error {
	spec := libhdf5.DatasetSpec{Type: id, Shape: t.Shape, MaxShape: t.layout.MaxShape, Layout: libhdf5.LayoutContiguous, Chunks: t.layout.Chunks}
	switch {
	case t.virtual:
		properties, err := r.elsewhere(t)
		if err != nil {
			return err
		}
		defer properties.Close()
		spec.Layout, spec.Properties = libhdf5.LayoutElsewhere, properties
	case t.layout.Chunks != nil:
		spec.Layout = libhdf5.LayoutChunked
	case t.Dataset.Layout == "compact":
		spec.Layout = libhdf5.LayoutCompact
	case !hasPointers(t.Type) && t.Shape != nil:
		written, err := storedIn(t.Dataset)
		if err != nil {
			return r.fail(t.Path, err)
		}
		if written(hyperslab{make([]int, len(t.Shape)), t.Shape}) {
			spec.Layout = libhdf5.LayoutAllocated
		}
	}
	if t.Fill != nil {
		image := r.newImage()
		if err := image.elements(t.Type, t.Fill, 1); err != nil {
			r.report.Lost.Add(t.Path, loss.Property, 1, "its fill value: %v", err)
		} else {
			spec.Fill = image.of(t.Type)
		}
	}
	pipeline := slices.Clone(t.layout.Filters)
	for k := range pipeline {
		if pipeline[k].ID > lastOwnFilter {
			pipeline[k].Flags |= 1 // the library need not know an optional filter
		}
	}
	spec.Filters = filterWords(pipeline, copiedSize(t.Type))
	return r.do("create", t.at, func() (err error) {
		t.id, t.offset, err = r.w.file.Create(t.at, spec)
		return err
	})
}
