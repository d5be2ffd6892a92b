package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A file is an open file.
type file struct {
	*serialize.List
	in       serialize.Input
	sections *serialize.Sections
	preamble preamble
	header   *header
	data     int64 // where the data begin
	sums     uint32
	whole    bool // the file has its end
}

func open(in serialize.Input) (serialize.File, error) {
	f, err := newFile(in)
	if err != nil {
		return nil, err
	}
	if !f.whole {
		return nil, fmt.Errorf("the file is truncated; h5dnn repair saves the arrays before the end: %w", io.ErrUnexpectedEOF)
	}
	if err := f.list(false); err != nil {
		return nil, err
	}
	return f, nil
}

// salvage opens a file that was cut short or damaged after its header. Arrays that are not
// as they were written come with errors.
func salvage(in serialize.Input) (serialize.File, error) {
	f, err := newFile(in)
	if err != nil {
		return nil, err
	}
	if err := f.list(true); err != nil {
		return nil, err
	}
	return f, nil
}

// newFile reads the preamble, the header and the end marker.
func newFile(in serialize.Input) (*file, error) {
	var head [preambleSize]byte
	if n, err := in.ReadAt(head[:], 0); n < len(head) {
		return nil, fmt.Errorf("preamble: %w", cutShort(err))
	}
	p, err := decodePreamble(head[:])
	if err != nil {
		return nil, err
	}
	if p.length < in.Size {
		return nil, fmt.Errorf("%d bytes after the end: %w", in.Size-p.length, storage.ErrState)
	}
	if preambleSize+p.header > in.Size {
		return nil, fmt.Errorf("header of %d bytes in a file of %d, which is truncated: %w", p.header, in.Size, io.ErrUnexpectedEOF)
	}
	text := make([]byte, p.header)
	if n, err := in.ReadAt(text, preambleSize); n < len(text) {
		return nil, fmt.Errorf("header: %w", cutShort(err))
	}
	if got := checksum(text); got != p.headerDigest {
		return nil, fmt.Errorf("header: CRC-32C %08x, want %08x: %w", got, p.headerDigest, ErrChecksum)
	}
	f := &file{in: in, preamble: p, data: p.data(), whole: p.length == in.Size}
	if f.header, err = parseHeader(string(text)); err != nil {
		return nil, err
	}
	if err := f.header.check(p); err != nil {
		return nil, err
	}
	if f.whole {
		var end [endSize]byte
		if n, err := in.ReadAt(end[:], p.length-endSize); n < len(end) {
			return nil, fmt.Errorf("end marker: %w", cutShort(err))
		}
		if f.sums, err = decodeEnd(end[:], p.length); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// check returns an error if storages overlap, are not aligned, or leave the file.
func (h *header) check(p preamble) error {
	end := int64(0)
	for i, s := range h.storages {
		bits, known := elementBits(s.dtype)
		n, at := int64(s.nbytes), int64(s.offset)
		room := p.length - endSize - p.data()
		switch {
		case !known:
			return fmt.Errorf("storage %d: unknown elements %q: %w", i, s.dtype, dtype.ErrType)
		case at < end:
			return fmt.Errorf("storage %d begins at %d, before the end of the one before it at %d: %w", i, at, end, storage.ErrState)
		case at%min(p.alignment, alignmentOf(n)) != 0:
			return fmt.Errorf("storage %d of %d bytes begins at %d, which is not a multiple of %d: %w", i, n, at, min(p.alignment, alignmentOf(n)), storage.ErrState)
		case n > room-sumSize || at > room-sumSize-n:
			return fmt.Errorf("storage %d of %d bytes at %d leaves the file: %w", i, n, at, storage.ErrState)
		case bits >= 8 && s.nbytes%(bits/8) != 0:
			return fmt.Errorf("storage %d has %d bytes, which are no whole elements of type %s: %w", i, s.nbytes, s.dtype, storage.ErrState)
		}
		end = at + n + sumSize
	}
	for _, t := range h.tensors {
		if t.storage >= len(h.storages) {
			return fmt.Errorf("%q: storage %d of %d: %w", t.name, t.storage, len(h.storages), storage.ErrState)
		}
	}
	return nil
}

// tensorsOf returns the tensors of each storage.
func (h *header) tensorsOf() [][]int {
	of := make([][]int, len(h.storages))
	for k, t := range h.tensors {
		of[t.storage] = append(of[t.storage], k)
	}
	return of
}

// list adds the tensors. If checked is set, those whose storages are not as they were
// written get an error.
func (f *file) list(checked bool) error {
	var err error
	if f.sections, err = f.in.Sections(); err != nil {
		return err
	}
	f.List = serialize.NewList(len(f.header.tensors), f.header.meta, f.sections.Close)
	sources := make([]storage.Source, len(f.header.storages))
	wrong := make([]error, len(f.header.storages))
	for i, s := range f.header.storages {
		if checked {
			wrong[i] = f.verify(context.Background(), i)
		}
		if wrong[i] == nil {
			sources[i], wrong[i] = f.source(i, s)
		}
	}
	for _, t := range f.header.tensors {
		e, err := serialize.Entry{Name: t.name}, wrong[t.storage]
		if err == nil {
			e, err = f.entry(t, sources[t.storage])
		}
		if err := f.List.Add(e, err); err != nil {
			f.sections.Release()
			return err
		}
	}
	return nil
}

// source returns the elements of a storage. Reading all of them compares the checksum.
func (f *file) source(i int, s storedArray) (storage.Source, error) {
	t, err := dtype.Parse(s.dtype)
	if err != nil {
		return nil, nil // the tensors are listed and not read
	}
	source, err := f.sections.Section(f.data+int64(s.offset), int64(s.nbytes))
	if err != nil {
		return nil, err
	}
	source = serialize.Verified(source, func(b []byte) error { return f.compare(i, checksum(b)) })
	return serialize.Normalize(source, t, binary.LittleEndian), nil
}

// entry returns a tensor.
func (f *file) entry(t tensor, source storage.Source) (serialize.Entry, error) {
	s := f.header.storages[t.storage]
	if source == nil {
		e, err := serialize.Unsupported(t.name, t.shape, s.dtype)
		return e, err
	}
	e := serialize.Entry{Name: t.name, Shared: strconv.Itoa(t.storage), Attrs: t.attrs}
	typ, err := dtype.Parse(s.dtype)
	if err != nil {
		return e, err
	}
	strides := t.strides
	if strides == nil {
		strides = views.Of(t.shape...).Stride
	}
	view, err := f.in.View(typ, t.shape, strides, t.offset, s.nbytes)
	if err != nil {
		return e, fmt.Errorf("%q: %w", t.name, err)
	}
	e.Array = storage.Array{Data: source, Type: typ, View: view}
	return e, nil
}

// compare returns an error if the CRC-32C of a storage is not the one that is stored after
// it.
func (f *file) compare(i int, got uint32) error {
	s := f.header.storages[i]
	var sum [sumSize]byte
	if n, err := f.in.ReadAt(sum[:], f.data+int64(s.offset+s.nbytes)); n < len(sum) {
		return fmt.Errorf("checksum of storage %d: %w", i, cutShort(err))
	}
	if want := binary.LittleEndian.Uint32(sum[:]); got != want {
		return fmt.Errorf("%s: storage %d (%s): CRC-32C %08x, want %08x: %w", f.in.Name, i, f.header.nameOf(i), got, want, ErrChecksum)
	}
	return nil
}

// verify reads a storage and compares its checksum.
func (f *file) verify(ctx context.Context, i int) error {
	s := f.header.storages[i]
	section, err := f.sections.Section(f.data+int64(s.offset), int64(s.nbytes))
	if err != nil {
		return err
	}
	sum, err := serialize.Checksum(ctx, section, castagnoli)
	if err != nil {
		return err
	}
	return f.compare(i, sum)
}

// Verify implements [serialize.Verifier].
func (f *file) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		of := f.header.tensorsOf()
		var sums []byte
		for i, s := range f.header.storages {
			err := f.verify(ctx, i)
			var sum [sumSize]byte
			if n, readErr := f.in.ReadAt(sum[:], f.data+int64(s.offset+s.nbytes)); n < len(sum) && err == nil {
				err = cutShort(readErr)
			}
			sums = append(sums, sum[:]...)
			for _, k := range of[i] {
				if !yield(f.header.tensors[k].name, err) {
					return
				}
			}
		}
		if got := checksum(sums); f.whole && got != f.sums {
			yield("", fmt.Errorf("checksums: CRC-32C %08x, want %08x in the end marker: %w", got, f.sums, ErrChecksum))
			return
		}
		if err := f.verifyPadding(); err != nil {
			yield("", err)
		}
	}
}

// verifyPadding returns an error if there is anything between storages.
func (f *file) verifyPadding() error {
	at := preambleSize + f.preamble.header
	ends := make([]int64, 0, len(f.header.storages)+1)
	for _, s := range f.header.storages {
		ends = append(ends, f.data+int64(s.offset))
	}
	ends = append(ends, f.in.Size-endSize)
	for i, end := range ends {
		gap := make([]byte, max(0, min(end-at, maxAlignment)))
		if n, err := f.in.ReadAt(gap, at); n < len(gap) {
			return cutShort(err)
		}
		if k := slices.IndexFunc(gap, func(x byte) bool { return x != 0 }); k >= 0 {
			return fmt.Errorf("byte %d of the padding is not zero: %w", at+int64(k), ErrChecksum)
		}
		if i < len(f.header.storages) {
			s := f.header.storages[i]
			at = f.data + int64(s.offset+s.nbytes) + sumSize
		}
	}
	return nil
}
