package npy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

// salvage opens an archive whose end is missing or whose directory is damaged: it goes
// from file to file by what precedes each, and makes a directory of the complete ones. The
// array that is cut off comes with an error. Metadata are lost, which are at the end.
func salvage(in serialize.Input) (serialize.File, error) {
	var records []ziparchive.Record
	lost, at := "", int64(0)
	for {
		x, sized, ok := ziparchive.RecordAt(in, in.Size, at)
		if !ok {
			break
		}
		next, ok := measure(in, &x, sized)
		if !ok {
			lost = x.Name
			break
		}
		records, at = append(records, x), next
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("no complete array is left: %w", storage.ErrState)
	}
	tail := ziparchive.AppendDirectory(nil, records, in.Size)
	repaired := serialize.Input{ReaderAt: &appendedReader{in, in.Size, tail}, Size: in.Size + int64(len(tail)), Name: in.Name, Options: in.Options}
	sections, err := repaired.Sections()
	if err != nil {
		return nil, err
	}
	a := newArchive(sections)
	list, err := a.list(func() error { return errors.Join(a.Close(), in.Close()) })
	if err != nil {
		return nil, err
	}
	var next [4]byte
	in.ReadAt(next[:], at)
	name, ok := strings.CutSuffix(lost, ".npy")
	reason := "the file ends before its last element, and before the directory, which has the names of later arrays"
	if lost == "" && string(next[:]) != ziparchive.DirectorySignature {
		name, ok, reason = fmt.Sprintf("array %d and later", len(records)+1), true, "the file ends before the directory, which has the names"
	}
	if ok && !list.Has(name) {
		err = list.Add(serialize.Entry{Name: name}, fmt.Errorf("%s: %w", reason, storage.ErrState))
	}
	return &file{list, a}, err
}

// An appendedReader has bytes after those of another reader.
type appendedReader struct {
	io.ReaderAt
	size int64
	tail []byte
}

func (a *appendedReader) ReadAt(b []byte, at int64) (n int, err error) {
	if at < a.size {
		n, err = a.ReaderAt.ReadAt(b[:min(int64(len(b)), a.size-at)], at)
		if n == len(b) || int64(n) < a.size-at {
			return n, err
		}
	}
	more, err := bytes.NewReader(a.tail).ReadAt(b[n:], at+int64(n)-a.size)
	return n + more, err
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
