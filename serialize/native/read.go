package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
)

// A file is an open file.
type file struct {
	*serialize.List
	in       serialize.Input
	sections *serialize.Sections
	preamble preamble
	header   *index.Header
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
		return nil, fmt.Errorf("the file is truncated; h5dnn repair saves its intact arrays: %w", io.ErrUnexpectedEOF)
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
	if err := in.ReadFull(head[:], 0); err != nil {
		return nil, fmt.Errorf("preamble: %w", err)
	}
	p, err := decodePreamble(head[:])
	if err != nil {
		return nil, err
	}
	if p.length < in.Size {
		return nil, fmt.Errorf("%d bytes after the end: %w", in.Size-p.length, storage.ErrState)
	}
	if preambleSize+p.header > in.Size {
		return nil, fmt.Errorf("header of %d bytes in a file of %d; it is truncated: %w", p.header, in.Size, io.ErrUnexpectedEOF)
	}
	text, err := in.ReadText(preambleSize, p.header)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := serialize.CompareChecksums("header", serialize.TextChecksum(text, castagnoli), p.headerDigest); err != nil {
		return nil, err
	}
	f := &file{in: in, preamble: p, data: p.data(), whole: p.length == in.Size}
	if f.header, err = index.Parse(text); err != nil {
		return nil, err
	}
	if err := check(f.header, p); err != nil {
		return nil, err
	}
	if f.whole {
		var end [endSize]byte
		if err := in.ReadFull(end[:], p.length-endSize); err != nil {
			return nil, fmt.Errorf("end marker: %w", err)
		}
		if f.sums, err = decodeEnd(end[:], p.length); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// check returns an error if storages are not where the format puts them.
func check(h *index.Header, p preamble) error {
	return h.Check(0, int(p.length-endSize-p.data()), sumSize, func(n int) int { return min(int(p.alignment), index.Alignment(n)) })
}

// list adds the tensors. If checked is set, those whose storages are not as they were
// written get an error.
func (f *file) list(checked bool) error {
	var err error
	if f.sections, err = f.in.Sections(); err != nil {
		return err
	}
	f.List = serialize.NewList(len(f.header.Tensors), f.header.Meta, f.sections.Close)
	sources := make([]storage.Source, len(f.header.Storages))
	wrong := make([]error, len(f.header.Storages))
	for i, s := range f.header.Storages {
		if checked {
			wrong[i] = f.verify(context.Background(), i)
		}
		if wrong[i] == nil {
			sources[i], wrong[i] = f.source(i, s)
		}
	}
	for _, t := range f.header.Tensors {
		e, err := serialize.Entry{Name: t.Name}, wrong[t.Storage]
		if err == nil {
			e, err = f.header.Entry(f.in, t, sources[t.Storage])
		}
		if err := f.List.Add(e, err); err != nil {
			f.sections.Release()
			return err
		}
	}
	return nil
}

// source returns the elements of a storage. Reading all of them compares the checksum.
func (f *file) source(i int, s index.Storage) (storage.Source, error) {
	t, err := dtype.Parse(s.DType)
	if err != nil {
		return nil, nil // the tensors are listed and not read
	}
	source, err := f.sections.Section(f.data+int64(s.Offset), int64(s.Bytes))
	if err != nil {
		return nil, err
	}
	return serialize.Normalize(serialize.Verified(source, castagnoli, 0, func(sum uint32) error { return f.compare(i, sum) }), t, binary.LittleEndian), nil
}

// compare returns an error if the CRC-32C of a storage is not the one that is stored after
// it.
func (f *file) compare(i int, got uint32) error {
	want, err := f.sum(i)
	if err != nil {
		return err
	}
	return serialize.CompareChecksums(fmt.Sprintf("%s: storage %d (%s)", f.in.Name, i, f.header.Name(i)), got, want)
}

// sum reads the checksum after a storage.
func (f *file) sum(i int) (uint32, error) {
	s := f.header.Storages[i]
	var sum [sumSize]byte
	if err := f.in.ReadFull(sum[:], f.data+int64(s.Offset+s.Bytes)); err != nil {
		return 0, fmt.Errorf("checksum of storage %d: %w", i, err)
	}
	return binary.LittleEndian.Uint32(sum[:]), nil
}

// verify reads a storage and compares its checksum.
func (f *file) verify(ctx context.Context, i int) error {
	s := f.header.Storages[i]
	section, err := f.sections.Section(f.data+int64(s.Offset), int64(s.Bytes))
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
		var sums []byte
		for i := range f.header.Storages {
			sum, err := f.sum(i)
			if err == nil {
				err = f.verify(ctx, i)
			}
			sums = binary.LittleEndian.AppendUint32(sums, sum)
			for _, t := range f.header.Users(i) {
				if !yield(t.Name, err) {
					return
				}
			}
		}
		if f.whole {
			if err := serialize.CompareChecksums("checksums of all storages", checksum(sums), f.sums); err != nil {
				yield("", err)
				return
			}
		}
		if err := f.verifyPadding(); err != nil {
			yield("", err)
		}
	}
}

// verifyPadding returns an error if there is anything between storages.
func (f *file) verifyPadding() error {
	at := preambleSize + f.preamble.header
	ends := make([]int64, 0, len(f.header.Storages)+1)
	for _, s := range f.header.Storages {
		ends = append(ends, f.data+int64(s.Offset))
	}
	ends = append(ends, f.in.Size-endSize)
	for i, end := range ends {
		gap := make([]byte, max(0, min(end-at, maxAlignment)))
		if err := f.in.ReadFull(gap, at); err != nil {
			return err
		}
		if k := slices.IndexFunc(gap, func(x byte) bool { return x != 0 }); k >= 0 {
			return fmt.Errorf("byte %d of the padding is not zero: %w", at+int64(k), serialize.ErrChecksum)
		}
		if i < len(f.header.Storages) {
			s := f.header.Storages[i]
			at = f.data + int64(s.Offset+s.Bytes) + sumSize
		}
	}
	return nil
}
