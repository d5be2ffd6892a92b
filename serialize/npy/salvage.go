package npy

import (
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

// salvage opens an archive whose end is missing or whose directory is damaged: it goes
// from file to file by what precedes each, and makes a directory of the complete ones. The
// array that is cut off comes with an error. Metadata are lost, which are at the end.
func salvage(in serialize.Input) (serialize.File, error) {
	count := 0
	lost, at := completeRecords(in, func(ziparchive.Record) bool { count++; return true })
	if count == 0 {
		return nil, fmt.Errorf("no complete array is left: %w", storage.ErrState)
	}
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	a := newArchive(sections)
	a.parts, a.count = salvagedParts(in), count
	list, err := a.list(a.Close)
	if err != nil {
		sections.Release()
		return nil, err
	}
	var next [4]byte
	in.ReadAt(next[:], at)
	name, ok := strings.CutSuffix(lost, ".npy")
	reason := "the file ends before its last element, and before the directory, which has the names of later arrays"
	if lost == "" && string(next[:]) != ziparchive.DirectorySignature {
		name, ok, reason = fmt.Sprintf("array %d and later", count+1), true, "the file ends before the directory, which has the names"
	}
	if ok && !list.Has(name) {
		err = list.Add(serialize.Entry{Name: name}, fmt.Errorf("%s: %w", reason, storage.ErrState))
	}
	return &file{list, a}, err
}

// completeRecords calls see with the complete records of an archive while it returns true, and returns the name of
// one that is cut off, or "", and where the complete ones end.
func completeRecords(in serialize.Input, see func(ziparchive.Record) bool) (lost string, end int64) {
	for {
		x, sized, ok := ziparchive.RecordAt(in, in.Size, end)
		if !ok {
			return "", end
		}
		next, ok := measure(in, &x, sized)
		if !ok {
			return x.Name, end
		}
		if end = next; !see(x) {
			return "", end
		}
	}
}

// measure finds where the bytes of x end and the next record begins, and reports whether they are all
// there. The header of an array that is not compressed says its size.
func measure(in serialize.Input, x *ziparchive.Record, sized bool) (next int64, ok bool) {
	if sized || !x.Followed() {
		return x.Data + x.Size, sized
	}
	if x.Method == 0 {
		h, err := readHeader(io.NewSectionReader(in, x.Data, in.Size-x.Data), maxHeader)
		if err != nil {
			return 0, false
		}
		x.Size = h.size + int64(h.view.Len()*h.typ.size)
		if x.Whole = x.Size; x.Size > in.Size-x.Data {
			return 0, false
		}
		var b [ziparchive.DescriptorSize]byte
		n, _ := in.ReadAt(b[:], x.Data+x.Size)
		if next, ok := x.DescribedBy(b[:n]); ok || n < len(b) {
			return max(next, x.Data+x.Size), true
		} // else the header of the array is damaged
	}
	return x.FindEnd(in, in.Size)
}

// salvagedParts yields an archive with a directory of some of its complete records, and its size.
func salvagedParts(in serialize.Input) iter.Seq2[io.ReaderAt, int64] {
	return func(yield func(io.ReaderAt, int64) bool) {
		var records []ziparchive.Record
		part := func() bool {
			directory := ziparchive.AppendDirectory(nil, records, in.Size)
			records = records[:0]
			return yield(ziparchive.WithDirectory(in, in.Size, directory))
		}
		more := true
		completeRecords(in, func(x ziparchive.Record) bool {
			if records = append(records, x); len(records) == ziparchive.PartSize {
				more = part()
			}
			return more
		})
		if len(records) > 0 {
			part()
		}
	}
}
