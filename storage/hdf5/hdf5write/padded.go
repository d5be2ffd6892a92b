package hdf5write

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// ErrString is the kind of error, for errors.Is, of a string that HDF5 cannot store. Nothing was
// written then.
var ErrString = errors.New("not a string of HDF5")

// maxPadding bounds the bytes of strings of one length, as a multiple of their bytes and a
// constant.
const maxPadding, freePadding = 16, 1 << 20

// hasZeroBytes reports whether a string contains a zero byte: one of variable length would end
// before it.
func hasZeroBytes(list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.IndexByte(s, 0) >= 0 })
}

// writePadded creates a dataset of strings of the length of the longest one, padded with zero
// bytes, which they may contain and not end in.
func (w *Writer) writePadded(path string, list []string, shape []int) error {
	width, total, valid := 1, 0, true
	for _, s := range list {
		if strings.HasSuffix(s, "\x00") {
			return fmt.Errorf("write %s: string %q ends in a zero byte: %w", path, s, ErrString)
		}
		width, total, valid = max(width, len(s)), total+len(s), valid && utf8.ValidString(s)
	}
	if width*len(list) > maxPadding*total+freePadding {
		return fmt.Errorf("write %s: strings with zero bytes have one length in HDF5, and %d of %d bytes would take %d times their size: %w", path, len(list), width, width*len(list)/total, ErrString)
	}
	message, err := encodeType(&hdf5.Type{Class: hdf5.ClassString, Size: width, Text: hdf5.TextKind{UTF8: valid, Padding: hdf5.NullPadded}})
	if err != nil {
		return err
	}
	typ, err := libhdf5.DecodeType(message)
	if err != nil {
		return err
	}
	defer typ.Close()
	padded := make([]byte, width*len(list))
	for i, s := range list {
		copy(padded[i*width:], s)
	}
	return w.do("write", path, func() error {
		id, offset, err := w.file.Contiguous(path, typ, shape)
		if err != nil {
			return err
		}
		if offset >= 0 {
			_, err = w.out.WriteAt(padded, offset)
		}
		return errors.Join(err, id.Close())
	})
}
