package npy

import (
	"fmt"
	"io"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

// salvage opens an archive whose end is missing or whose directory is damaged: it goes
// from file to file by what precedes each. The
// array that is cut off comes with an error. Metadata are lost, which are at the end.
func salvage(in serialize.Input) (serialize.File, error) {
	records, lost, at := completeRecords(in)
	if len(records) == 0 {
		return nil, fmt.Errorf("no complete array is left: %w", storage.ErrState)
	}
	a, err := openArchive(in, records, nil)
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
	if ok && !a.Has(name) {
		err = a.Add(serialize.Entry{Name: name}, fmt.Errorf("%s: %w", reason, storage.ErrState))
	}
	return a, err
}

// completeRecords returns the complete records of an archive, the name of one that is cut off, or "", and
// where the complete ones end.
func completeRecords(in serialize.Input) (records []ziparchive.Record, lost string, end int64) {
	for {
		x, sized, ok := ziparchive.RecordAt(in, in.Size, end)
		if !ok {
			return records, "", end
		}
		next, ok := measure(in, &x, sized)
		if !ok {
			return records, x.Name, end
		}
		records, end = append(records, x), next
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
