package hdf5write

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
	"github.com/h5dnn/h5dnn/views"
)

// stringsAtOnce is about how many strings are written at a time. Tests change it.
var stringsAtOnce = 1 << 15

// WriteStrings creates a dataset of strings of variable length, or of one length if any
// contains a zero byte. They are marked as UTF-8, or as ASCII if they are not UTF-8; the bytes
// are kept. Strings that end in a zero byte are an error of kind [ErrString].
func (w *Writer) WriteStrings(path string, list []string, shape ...int) error {
	if n, err := format.Product(shape...); err != nil || n != len(list) {
		return fmt.Errorf("write %s: %d strings do not fill %v: %w", path, len(list), shape, views.ErrShape)
	}
	return w.WriteStringsOf(path, views.Of(shape...), func(v views.View) ([]string, error) { return list[v.Offset:][:v.Len()], nil })
}

// WriteStringsOf is WriteStrings of the strings of a view, with a function that reads those of a
// part of it. If there are many, they are written in parts, each of which is read twice: all
// strings have one character set.
func (w *Writer) WriteStringsOf(path string, v views.View, read func(part views.View) ([]string, error)) error {
	shape, n := v.Shape, v.Len()
	row := n // strings at an index of the first axis
	if len(shape) > 0 {
		row = n / max(1, shape[0])
	}
	step := max(1, row, stringsAtOnce/max(1, row)*row)
	valid, zeros := true, false
	part := func(start, end int) ([]string, error) {
		if end-start == n {
			return read(v)
		}
		return read(v.Narrow(0, start/row, end/row))
	}
	var list []string // the last part
	var err error
	for start := 0; start < n; start += step {
		if list, err = part(start, min(start+step, n)); err != nil {
			return err
		}
		zeros = zeros || hasZeroBytes(list)
		valid = valid && !slices.ContainsFunc(list, func(s string) bool { return !utf8.ValidString(s) })
	}
	if zeros {
		if list, err = read(v); err != nil {
			return err
		}
		return w.writePadded(path, list, shape)
	}
	for start := 0; start < max(1, n); start += step {
		end := min(start+step, n)
		if step < n {
			if list, err = part(start, end); err != nil {
				return err
			}
		}
		text, err := terminated(list)
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		b := libhdf5.StringBlock{Start: make([]int, len(shape)), Count: slices.Clone(shape), First: start == 0, UTF8: valid, Data: text}
		if step < n {
			b.Start[0], b.Count[0] = start/row, (end-start)/row
		}
		if err := w.do("write", path, func() error { return w.file.Strings(path, shape, b) }); err != nil {
			return err
		}
	}
	return nil
}
