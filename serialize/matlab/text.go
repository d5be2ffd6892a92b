package matlab

import (
	"fmt"
	"math"
	"path"
	"strings"
	"unicode/utf16"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// texts returns an entry of strings.
func texts(v views.View, read func(v views.View) ([]string, error)) *serialize.Entry {
	return &serialize.Entry{Elements: &serialize.Elements{View: v, Type: "string", Values: func(v views.View) ([]any, error) {
		list, err := read(v)
		values := make([]any, len(list))
		for i, text := range list {
			values[i] = text
		}
		return values, err
	}}}
}

// readText reads an array of characters, in UTF-16, whose rows are strings: one string if it
// has one row.
func readText(m *convention.Meaning, o *hdf5.Object) error {
	d, err := o.Dataset()
	if err != nil {
		return err
	}
	return readRows(m, d, func(row storage.Array) (string, error) { return textOf(d, row) }, func() error { return readNumbers(m, o, "char") })
}

// readRows reads an array of characters, whose rows decode makes strings of. If the dataset holds none, it
// returns what otherwise does.
func readRows(m *convention.Meaning, d *hdf5.Dataset, decode func(row storage.Array) (string, error), otherwise func() error) error {
	characters, err := d.Array()
	if err != nil {
		return err
	}
	if characters.Rank() != 2 || !characters.Type.IsInt() {
		return otherwise()
	}
	rows := views.Of(characters.Shape[1])
	if characters.Shape[1] == 1 {
		rows = views.Of()
	}
	m.Encoding, m.Stored = "characters", d.Backing
	m.Entry = texts(rows, func(v views.View) ([]string, error) {
		var list []string
		for row := range v.Positions() {
			column, err := characters.Select(1, row)
			if err != nil {
				return nil, err
			}
			text, err := decode(characters.With(column))
			if err != nil {
				return nil, err
			}
			list = append(list, text)
		}
		return list, nil
	})
	return nil
}

// textOf decodes UTF-16, of elements of d.
func textOf(d *hdf5.Dataset, a storage.Array) (string, error) {
	stored, err := d.Backing()
	if err == nil {
		const size = 8 // bytes of memory for a unit, about, as it is decoded
		err = d.File().Budget().Allocate(size*min(a.Len(), math.MaxInt/size), stored)
	}
	if err != nil {
		return "", err
	}
	units, err := storage.Read[uint16](a)
	if err != nil {
		return "", err
	}
	return string(utf16.Decode(units)), nil
}

// readCell reads a cell, or a field of a struct array, which are references to values: strings if
// they are texts, and else members.
func readCell(m *convention.Meaning, o *hdf5.Object, class string) error {
	d, err := o.Dataset()
	group, field := path.Split(o.Path)
	if err == nil && class == "" {
		parent, failed := o.File().Lookup(group)
		if failed == nil && convention.Text(parent, attrClass) == "struct" {
			class = fieldOfArray
		}
	}
	const largest = 64 // bytes of a reference
	if err != nil || d.Type.Class != hdf5.ClassReference || d.Type.Size > largest || class == "" {
		*m = convention.Meaning{Part: m.Part} // no variable of MATLAB
		return nil
	}
	if !holdsTexts(d) && class == fieldOfArray {
		return fmt.Errorf("%s: a field of a struct array; name that of one struct, as in %s(1,1)/%s: %w", o.Path, strings.TrimSuffix(group, "/"), field, dtype.ErrType)
	}
	if !holdsTexts(d) {
		m.Members, err = elements(d, '{', "", '}')
		return err
	}
	v, err := views.Of(d.Shape...).Transpose()
	if err != nil {
		return err
	}
	m.Encoding, m.Reversed, m.Stored = class, true, d.Backing
	m.Entry = texts(v, func(v views.View) ([]string, error) {
		values, err := d.Values(v)
		list := make([]string, len(values))
		seen, total := map[any]string{}, 0 // elements may be references to one text
		for i, value := range values {
			text, again := seen[value]
			if err == nil && !again {
				text, err = textAt(o.File(), value)
				if total += len(text); total > maxTexts {
					err = fmt.Errorf("texts of more than %d bytes; select a part: %w", maxTexts, storage.ErrState)
				}
				seen[value] = text
			}
			list[i] = text
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Path, err)
		}
		return list, nil
	})
	return nil
}

const fieldOfArray = "field of a struct array"

// maxTexts bounds the bytes of the texts that a call returns.
const maxTexts = 256 << 20

// checked is how many values of a cell are looked at before it is called one of texts.
const checked = 4096

// holdsTexts reports whether the values of a cell are texts of one row, or empty.
func holdsTexts(d *hdf5.Dataset) bool {
	n := min(views.Of(d.Shape...).Len(), checked)
	values, err := d.Values(views.View{Shape: []int{n}, Stride: []int{1}})
	if err != nil {
		return false
	}
	texts := 0
	for _, value := range values {
		_, a, isText, err := referred(d.File(), value)
		switch {
		case err != nil || isText && a.Len() != a.Shape[0]:
			return false
		case isText:
			texts++
		}
	}
	return texts > 0
}

// referred returns the characters of the text that a reference refers to. isText is false for
// an empty array of any class.
func referred(f *hdf5.File, value any) (d *hdf5.Dataset, characters storage.Array, isText bool, err error) {
	to, _ := value.(hdf5.Reference)
	if to.Path == "" {
		return nil, characters, false, fmt.Errorf("an element refers to nothing: %w", storage.ErrState)
	}
	o, err := f.Lookup(to.Path)
	if err != nil {
		return nil, characters, false, err
	}
	class := convention.Text(o, attrClass)
	switch {
	case has(o, attrEmpty):
		return nil, characters, false, nil
	case class != "char":
		return nil, characters, false, fmt.Errorf("an element is of class %s, and others are text: %w", class, dtype.ErrType)
	}
	if d, err = o.Dataset(); err != nil {
		return nil, characters, false, err
	}
	characters, err = d.Array()
	if err == nil && characters.Rank() == 0 {
		err = fmt.Errorf("an element is a single %v; want text: %w", characters.Type, views.ErrShape)
	}
	return d, characters, true, err
}

// textAt returns the text that a reference refers to; "" for an empty array of any class.
func textAt(f *hdf5.File, value any) (string, error) {
	d, characters, isText, err := referred(f, value)
	switch {
	case err != nil || !isText:
		return "", err
	case characters.Len() != characters.Shape[0]:
		return "", fmt.Errorf("an element is text of shape %v; want one row: %w", reversed(characters.Shape), views.ErrShape)
	}
	return textOf(d, characters)
}
