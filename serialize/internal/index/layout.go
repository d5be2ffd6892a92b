package index

import (
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/jsontext"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Layout is the list of entries that are written as a plan. It is encoded entry by entry, because
// it may be most of a file.
type Layout struct {
	Entries []serialize.Entry
	Plan    *serialize.Plan
	Meta    map[string]string
	Offsets []int    // of storages
	Sums    []uint32 // their checksums; nil if the list does not have them
}

// NewLayout returns a layout whose storages have no offsets yet.
func NewLayout(entries []serialize.Entry, plan *serialize.Plan, meta map[string]string) *Layout {
	return &Layout{Entries: entries, Plan: plan, Meta: meta, Offsets: make([]int, len(plan.Storages))}
}

// NameOf returns the name of an entry that has the elements of storage k.
func (l *Layout) NameOf(k int) string { return l.Entries[l.Plan.Owners[k]].Name }

// Encode writes the JSON and returns its size.
func (l *Layout) Encode(w io.Writer) (size int, err error) {
	const block = 32 << 10
	b := append(make([]byte, 0, block+1<<10), `{"metadata":{`...)
	flush := func(least int) {
		if err == nil && len(b) > least {
			size += len(b)
			_, err = w.Write(b)
			b = b[:0]
		}
	}
	for i, key := range slices.Sorted(maps.Keys(l.Meta)) {
		b = jsontext.Append(append(jsontext.Append(jsontext.Comma(b, i), key), ':'), l.Meta[key])
		flush(block)
	}
	b = append(b, `},"storages":[`...)
	for k := range l.Plan.Storages {
		b = l.appendStorage(jsontext.Comma(b, k), k)
		flush(block)
	}
	b = append(b, `],"tensors":{`...)
	for i, e := range l.Entries {
		before := err
		if b, err = l.appendTensor(jsontext.Comma(b, i), e, l.Plan.Views[i]); err != nil {
			return size, fmt.Errorf("%q: %w", e.Name, err)
		}
		err = before
		flush(block)
	}
	b = append(b, "}}"...)
	flush(0)
	if err == nil && size > MaxSize {
		err = fmt.Errorf("header of %d bytes; %d are allowed: %w", size, MaxSize, storage.ErrState)
	}
	return size, err
}

func (l *Layout) appendStorage(b []byte, k int) []byte {
	a := l.Plan.Storages[k]
	b = append(append(append(b, `{"dtype":"`...), a.Type.String()...), `","offset":`...)
	b = append(strconv.AppendInt(b, int64(l.Offsets[k]), 10), `,"nbytes":`...)
	b = strconv.AppendInt(b, int64(a.NBytes()), 10)
	if l.Sums != nil {
		b = fmt.Appendf(b, `,"crc32c":"%08x"`, l.Sums[k])
	}
	return append(b, '}')
}

func (l *Layout) appendTensor(b []byte, e serialize.Entry, p serialize.PlannedView) (_ []byte, err error) {
	v := p.View
	b = append(jsontext.Append(b, e.Name), `:{"storage":`...)
	b = append(strconv.AppendInt(b, int64(p.Storage), 10), `,"shape":`...)
	b = jsontext.AppendInts(b, v.Shape...)
	if v.Len() > 0 && !slices.Equal(v.Stride, views.Of(v.Shape...).Stride) {
		b = jsontext.AppendInts(append(b, `,"strides":`...), v.Stride...)
	}
	if v.Len() > 0 && v.Offset != 0 {
		b = strconv.AppendInt(append(b, `,"offset":`...), int64(v.Offset), 10)
	}
	if len(e.Attrs) > 0 {
		b, err = appendAttributes(append(b, `,"attributes":`...), e.Attrs)
	}
	return append(b, '}'), err
}

// Alignment returns the alignment of a storage of n bytes: a page if it is mapped with few others, and
// else a cache line.
func Alignment(n int) int {
	if n >= 64<<10 {
		return 4096
	}
	return 64
}

// appendAttributes appends an object of attributes: a string, a list of strings, or
//
//	{"dtype":"float64","shape":[2],"elements":"…"}
//
// with the row-major, little-endian elements in Base64.
func appendAttributes(b []byte, attrs map[string]any) ([]byte, error) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(attrs)) {
		b = append(jsontext.Append(jsontext.Comma(b, i), name), ':')
		switch value := attrs[name].(type) {
		case string:
			b = jsontext.Append(b, value)
		case []string:
			b = append(b, '[')
			for k, text := range value {
				b = jsontext.Append(jsontext.Comma(b, k), text)
			}
			b = append(b, ']')
		case storage.Array:
			var elements strings.Builder
			text := base64.NewEncoder(base64.StdEncoding, &elements)
			if err := serialize.WriteLittleEndian(text, value); err != nil {
				return nil, fmt.Errorf("attribute %s: %w", name, err)
			}
			text.Close() // into a strings.Builder, which has no errors
			b = append(append(append(b, `{"dtype":"`...), value.Type.String()...), `","shape":`...)
			b = append(jsontext.AppendInts(b, value.Shape...), `,"elements":"`...)
			b = append(append(b, elements.String()...), `"}`...)
		default:
			return nil, fmt.Errorf("attribute %s of type %T: %w", name, value, dtype.ErrType)
		}
	}
	return append(b, '}'), nil
}

// Collect returns entries that a format can hold, and whose names and metadata JSON can.
func Collect(format serialize.Format, c serialize.Contents) ([]serialize.Entry, error) {
	for _, key := range slices.Sorted(maps.Keys(c.Meta)) {
		if value := c.Meta[key]; !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("metadata %q is not UTF-8: %w", key, storage.ErrState)
		}
	}
	entries, err := format.Collect(c)
	if err != nil {
		return nil, err
	}
	if len(entries) > MaxTensors {
		return nil, fmt.Errorf("%d tensors; %d are allowed: %w", len(entries), MaxTensors, storage.ErrState)
	}
	return entries, nil
}

// CheckName returns an error for names that an index cannot have.
func CheckName(e serialize.Entry) error {
	switch {
	case len(e.Name) > MaxName:
		return fmt.Errorf("a name of %d bytes; %d are allowed: %w", len(e.Name), MaxName, storage.ErrState)
	case !utf8.ValidString(e.Name):
		return fmt.Errorf("the name is not UTF-8: %w", storage.ErrState)
	}
	return nil
}
