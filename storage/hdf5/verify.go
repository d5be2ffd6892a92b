package hdf5

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"

	"github.com/h5dnn/h5dnn/storage"
)

// A Report is the result of [Verify].
type Report struct {
	Objects  int
	Datasets int
	Chunks   int       // located, and decoded if they have filters
	Bytes    int       // of elements, as stored
	Problems []Finding // damage
	Skipped  []Finding // objects that could not be checked
	Omitted  int       // number of problems that are not listed

	WithoutChecksum int // datasets whose elements no checksum covers, so that only their place is checked
}

// A Finding is a message about the object at a path, or about the whole file if the path
// is "".
type Finding struct{ Path, Message string }

func (f Finding) String() string { return strings.TrimPrefix(f.Path+": "+f.Message, ": ") }

// Verify checks the named file: every structure, with its checksum if it has one; the
// location of all elements; every chunk, by decoding it; and every value of variable
// length. Its memory is limited, and its work by the size of the file. It returns an error
// if the file cannot be checked, for example because it is not an HDF5 file.
//
// progress, unless nil, is called with the number of bytes that were checked. With
// Options.Follow, elements in other files are read, but not the rest of these files.
func Verify(ctx context.Context, name string, progress func(path string, bytes int), options ...Options) (Report, error) {
	o := Options{CacheBytes: -1, Context: ctx}
	for _, given := range options {
		o.Follow = given.Follow
	}
	f, err := Open(name, o)
	if err != nil {
		if storage.IsURL(name) || !hasSignature(name) {
			return Report{}, err
		}
		return Report{Problems: []Finding{{"", strings.TrimPrefix(err.Error(), name+": ")}}}, nil
	}
	defer f.Close()
	return f.Verify(ctx, progress)
}

// Verify checks an open file as the function [Verify] does.
func (f *File) Verify(ctx context.Context, progress func(path string, bytes int)) (Report, error) {
	v := &verifier{ctx: ctx, f: f, left: f.size, seen: map[uint64]bool{}, owners: map[uint64]string{}, progress: progress}
	if progress == nil {
		v.progress = func(string, int) {}
	}
	err := v.walk()
	return v.report, err
}

// hasSignature reports whether a file has the signature of HDF5.
func hasSignature(name string) bool {
	file, err := storage.OpenFile(name)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f := &File{r: file}
	_, err = findSuperblock(f.peek, int(info.Size()))
	return !errors.Is(err, errNotHDF5)
}

type verifier struct {
	ctx      context.Context
	f        *File
	report   Report
	left     int               // bytes of the file minus those of the chunks so far
	seen     map[uint64]bool   // objects, by the address of their header
	owners   map[uint64]string // datasets, by the address of their data or index
	progress func(path string, bytes int)
}

// maxFindings limits the number of problems that are listed, and maxPerDataset those of
// the chunks of a dataset.
const maxFindings, maxPerDataset = 1000, 8

func (v *verifier) problem(path string, err error) {
	if len(v.report.Problems) >= maxFindings {
		v.report.Omitted++
		return
	}
	v.report.Problems = append(v.report.Problems, Finding{path, v.message(path, err)})
}

func (v *verifier) skip(path, format string, args ...any) {
	v.report.Skipped = append(v.report.Skipped, Finding{path, fmt.Sprintf(format, args...)})
}

// message returns an error's text without the names of the file and the object.
func (v *verifier) message(path string, err error) string {
	text := strings.TrimPrefix(firstError(err).Error(), v.f.name+": ")
	return strings.TrimPrefix(text, path+": ")
}

func (v *verifier) walk() error {
	for o, err := range v.f.Walk() {
		if stop := v.ctx.Err(); stop != nil {
			return stop
		}
		if err != nil {
			v.problem(o.Path, err)
		}
		if o.header == nil || v.seen[o.header.address] {
			continue
		}
		v.seen[o.header.address] = true
		v.report.Objects++
		v.attributes(o)
		switch o.Kind {
		case KindDataset:
			v.report.Datasets++
			v.dataset(o)
		case KindDatatype:
			if _, err := o.Datatype(); err != nil {
				v.problem(o.Path, err)
			}
		}
	}
	return v.ctx.Err()
}

func (v *verifier) attributes(o *Object) {
	all, err := o.Attributes()
	if err != nil {
		v.problem(o.Path, err)
	}
	for _, a := range all {
		if n := len(a.data) / max(1, a.Type.Size); a.Type.HasVarLen() {
			if err := v.checkVarLen(a.Type, a.data, n); err != nil {
				v.problem(o.Path, fmt.Errorf("attribute %q: %w", a.Name, err))
			}
		}
	}
}

func (v *verifier) dataset(o *Object) {
	d, err := o.Dataset()
	switch {
	case err != nil:
		v.problem(o.Path, err)
		return
	case d.Shape == nil:
		return
	case d.layout.class == layoutVirtual, len(d.External) > 0:
		if v.f.linked == nil {
			v.skip(o.Path, "its elements are in other files")
		} else if err := v.readAll(d); err != nil {
			v.problem(o.Path, err)
		}
		return
	}
	if err := v.elements(d); err != nil {
		v.problem(o.Path, err)
	}
	if n, err := d.StoredSize(); err == nil && n > 0 && !d.hasChecksum() {
		v.report.WithoutChecksum++
	}
}

// hasChecksum reports whether a checksum covers the elements: of chunks, that of the
// filters fletcher32 and deflate (Adler-32 of its zlib stream), of compact elements, that
// of an object header of version 2.
func (d *Dataset) hasChecksum() bool {
	const deflate, fletcher32 = 1, 3
	if d.layout.class == layoutCompact {
		signature, err := d.file.bytes(d.header.address, 4)
		return err == nil && string(signature) == "OHDR"
	}
	return slices.ContainsFunc(d.Filters, func(f filter.Filter) bool { return f.ID == deflate || f.ID == fletcher32 })
}

// elements checks the location and the content of a dataset's elements.
func (v *verifier) elements(d *Dataset) error {
	if err := v.checkOwner(d); err != nil {
		return err
	}
	if d.layout.class == layoutChunked {
		return v.chunks(d)
	}
	return v.contiguous(d)
}

// readAll reads all elements, some rows at a time.
func (v *verifier) readAll(d *Dataset) error {
	n, err := d.Len()
	if err != nil || n == 0 {
		return err
	}
	if len(d.Shape) == 0 {
		_, err := d.Raw(d.View())
		return err
	}
	row := n / d.Shape[0] * d.Type.Size
	if row > maxDecoding {
		v.skip(d.Path, "not read: a row takes %d bytes of memory, more than the limit of %d", row, maxDecoding)
		return nil
	}
	const block = 16 << 20
	rows := max(1, block/row)
	for first := 0; first < d.Shape[0]; first += rows {
		raw, err := d.Raw(d.View().Narrow(0, first, min(first+rows, d.Shape[0])))
		v.report.Bytes += len(raw)
		if err = errors.Join(err, v.ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// checkOwner returns an error for a dataset that shares its storage with another.
func (v *verifier) checkOwner(d *Dataset) error {
	if d.layout.class == layoutCompact || d.layout.address == undefined {
		return nil
	}
	if size, err := d.StoredSize(); err == nil && size == 0 {
		return nil // without elements the address has no meaning
	}
	if other, taken := v.owners[d.layout.address]; taken {
		return fmt.Errorf("has its elements at %d, where those of %s are", d.layout.address, other)
	}
	v.owners[d.layout.address] = d.Path
	return nil
}

// contiguous checks contiguous and compact elements.
func (v *verifier) contiguous(d *Dataset) error {
	if err := d.checkReadable(); err != nil {
		return err
	}
	size, err := d.StoredSize()
	if err != nil {
		return err
	}
	v.report.Bytes += size
	v.progress(d.Path, size)
	if d.layout.class == layoutCompact {
		return v.checkVarLen(d.Type, d.layout.data, size/max(1, d.Type.Size))
	}
	if d.layout.address == undefined || !d.Type.HasVarLen() {
		return nil
	}
	const block = 64 << 10
	buf := make([]byte, min(size, block/d.Type.Size*d.Type.Size+d.Type.Size))
	for at := 0; at < size; at += len(buf) {
		b := buf[:min(len(buf), size-at)]
		if err := v.f.readAt(b, d.layout.address+uint64(at)); err != nil {
			return err
		}
		if err := v.checkVarLen(d.Type, b, len(b)/d.Type.Size); err != nil {
			return err
		}
	}
	return v.ctx.Err()
}

// maxDecoding limits the memory of the chunks that are decoded at a time, with the buffers
// of their filters.
const maxDecoding = 256 << 20

// chunks checks every chunk of a dataset.
func (v *verifier) chunks(d *Dataset) error {
	index, err := d.index()
	if err != nil {
		return err
	}
	size, err := d.chunkSize()
	if err != nil {
		return err
	}
	if err := checkOverlap(index.entries); err != nil {
		return err
	}
	total := 0
	for _, e := range index.entries {
		total += e.size
	}
	if v.left -= total; v.left < 0 {
		return fmt.Errorf("its %d chunks take %d bytes, more than the rest of the file; some of them overlap", len(index.entries), total)
	}
	need, decode := size*(1+len(d.Filters)), true
	if err := filter.CanDecode(d.Filters); err != nil {
		v.skip(d.Path, "chunks found, not decoded: %v", err)
		decode = false
	} else if len(d.Filters) > 0 && need > maxDecoding {
		v.skip(d.Path, "chunks found, not decoded: one takes %d bytes of memory, more than the limit of %d", need, maxDecoding)
		decode = false
	}
	return v.decodeAll(d, index, size, max(1, need), decode)
}

// decodeAll checks all chunks in parallel, and lists the first that fail.
func (v *verifier) decodeAll(d *Dataset, index *index, size, need int, decode bool) error {
	var mu sync.Mutex
	failed := map[int]error{}
	err := parallel.Do(len(index.entries), min(runtime.GOMAXPROCS(0), max(1, maxDecoding/need)), func(k int) error {
		err := v.chunk(d, index, index.entries[k], size, decode)
		mu.Lock()
		defer mu.Unlock()
		v.report.Chunks++
		v.report.Bytes += index.entries[k].size
		v.progress(d.Path, index.entries[k].size)
		if err != nil {
			failed[k] = err
		}
		return v.ctx.Err()
	})
	if err != nil {
		return err
	}
	numbers := slices.Sorted(maps.Keys(failed))
	for _, k := range numbers[:min(len(numbers), maxPerDataset)] {
		v.problem(d.Path, fmt.Errorf("chunk %v at %d: %w", d.origin(index, index.entries[k]), index.entries[k].address, failed[k]))
	}
	if more := len(numbers) - maxPerDataset; more > 0 {
		v.problem(d.Path, fmt.Errorf("and %d chunks more of %d", more, len(index.entries)))
	}
	return nil
}

func (v *verifier) chunk(d *Dataset, index *index, e chunkEntry, size int, decode bool) error {
	points := d.Type.HasVarLen()
	switch err := d.checkStored(size, e); {
	case err != nil:
		return err
	case !decode || len(d.Filters) == 0 && !points:
		return nil
	}
	chunk := scratch.Get(size)
	defer scratch.Put(chunk)
	if err := d.decode(chunk, e); err != nil {
		return err
	}
	if !points {
		return nil
	}
	return v.checkChunkVarLen(d, index, e, chunk)
}

// origin returns the coordinates of a chunk's first element.
func (d *Dataset) origin(index *index, e chunkEntry) []int {
	at := make([]int, len(index.grid))
	unravel(at, e.number, index.grid)
	for axis := range at {
		at[axis] *= d.Chunks[axis]
	}
	return at
}

// checkChunkVarLen checks the elements of a chunk that are within the shape.
func (v *verifier) checkChunkVarLen(d *Dataset, index *index, e chunkEntry, chunk []byte) error {
	start := d.origin(index, e)
	at := make([]int, len(start))
	for k := 0; k < len(chunk)/d.Type.Size; k++ {
		unravel(at, k, d.Chunks)
		inside := true
		for axis := range at {
			inside = inside && start[axis]+at[axis] < d.Shape[axis]
		}
		if !inside {
			continue
		}
		if err := v.checkVarLen(d.Type, chunk[k*d.Type.Size:], 1); err != nil {
			return err
		}
	}
	return nil
}

// checkVarLen follows the pointers of n elements.
func (v *verifier) checkVarLen(t *Type, b []byte, n int) error {
	p := varLenCheck{v.f, map[varLenValue]bool{}}
	for k := range n {
		if err := p.check(t, b[k*t.Size:(k+1)*t.Size]); err != nil {
			return err
		}
	}
	return nil
}

// A varLenCheck visits every value of nested sequences once.
type varLenCheck struct {
	f    *File
	seen map[varLenValue]bool
}

type varLenValue struct {
	heapID
	t *Type
}

func (p varLenCheck) check(t *Type, b []byte) error {
	switch {
	case !t.HasVarLen():
		return nil
	case t.Class == ClassVarLen:
		return p.sequence(t, b)
	case t.Class == ClassArray:
		for at := 0; at+t.Base.Size <= t.Size; at += t.Base.Size {
			if err := p.check(t.Base, b[at:at+t.Base.Size]); err != nil {
				return err
			}
		}
	}
	for _, m := range t.Members {
		if err := p.check(m.Type, b[m.Offset:m.Offset+m.Type.Size]); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

func (p varLenCheck) sequence(t *Type, b []byte) error {
	v, err := p.f.parseVarLen(b)
	if err != nil {
		return err
	}
	data, err := p.f.varLenData(t, v)
	if err != nil || data == nil {
		return err
	}
	if at := (varLenValue{v.heapID, t}); t.Base.HasVarLen() && !p.seen[at] {
		p.seen[at] = true
		for k := range v.n {
			if err := p.check(t.Base, data[k*t.Base.Size:(k+1)*t.Base.Size]); err != nil {
				return err
			}
		}
	}
	return nil
}

// HasSymbolTable reports whether a group has a symbol table, as in files before HDF5 1.8.
// Its members are looked up in a B-tree of names.
func (o *Object) HasSymbolTable() bool {
	if o.header == nil {
		return false
	}
	_, ok := o.header.find(msgSymbolTable)
	return ok
}

// CheckDecodable returns an error if chunks of the dataset cannot be decoded.
func (d *Dataset) CheckDecodable() error {
	return filter.CanDecode(d.Filters)
}
