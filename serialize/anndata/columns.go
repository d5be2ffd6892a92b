package anndata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// readCategorical reads a categorical column: the datasets codes and categories of a group.
func readCategorical(m *convention.Meaning, o *hdf5.Object) error {
	codes, err1 := member(o, "codes")
	categories, err2 := member(o, "categories")
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	return decode(m, column{name: o.Path, place: o.Path + "/codes"}, codes, categories)
}

// readOldCategorical reads a column of version 0.7: codes, with a reference to the categories.
func readOldCategorical(m *convention.Meaning, o *hdf5.Object, reference hdf5.Attribute) error {
	values, err := reference.Values()
	if err != nil {
		return err
	}
	if len(values) != 1 {
		return nil // an attribute of the user
	}
	to, ok := values[0].(hdf5.Reference)
	if !ok {
		return nil
	}
	codes, err1 := o.Dataset()
	categories, err2 := o.File().Dataset(to.Path)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	hidden := m.Hidden
	m.Hidden = func(name string) bool { return name == categoriesOf || hidden(name) }
	return decode(m, column{name: o.Path, place: o.Path + " of the file read as hdf5"}, codes, categories)
}

// decode makes an array of a categorical column: element codes[i] of the categories, or a
// missing one if that is -1.
func decode(m *convention.Meaning, c column, stored, categories *hdf5.Dataset) error {
	codes, err := stored.Array()
	if err == nil && !codes.Type.IsInt() {
		err = fmt.Errorf("%s: codes are %v; want integers: %w", c.name, codes.Type, dtype.ErrType)
	}
	if err != nil {
		return err
	}
	if len(categories.Shape) != 1 {
		return fmt.Errorf("%s: categories of shape %v; want one axis: %w", c.name, categories.Shape, views.ErrShape)
	}
	m.Encoding = fmt.Sprintf("categorical of %d categories", categories.Shape[0])
	m.Stored = storedIn(stored, categories)
	c.codes, c.categories = codes, categories.Shape[0]
	if categories.Type.IsString() {
		texts := sync.OnceValues(func() ([]string, error) { return categories.Strings(categories.View()) })
		m.Entry = &serialize.Entry{Elements: &serialize.Elements{View: codes.View, Type: "string", Values: func(v views.View) ([]any, error) { return c.texts(v, texts) }}}
		return nil
	}
	numbers, err := categories.Array()
	if err != nil {
		return err
	}
	if !numbers.Type.IsFloat() {
		missing, err := anyMissing(codes)
		if err != nil {
			return err
		}
		if missing { // as in pandas
			if numbers, err = widened(c.name, numbers); err != nil {
				return err
			}
		}
	}
	c.values = sync.OnceValues(func() (storage.Array, error) { return numbers.To(storage.CPU) })
	m.Entry = &serialize.Entry{Array: blocks.Derive(codes, numbers.Type, func(dst []byte, v views.View) error { return c.numbers(dst, numbers.Type, v) })}
	return nil
}

// anyMissing reports whether a code is negative.
func anyMissing(codes storage.Array) (bool, error) {
	for part, err := range blocks.Views(context.Background(), codes.View, blocks.Size) {
		if err != nil {
			return false, err
		}
		list, err := storage.Read[int64](codes.With(part))
		if err != nil || slices.ContainsFunc(list, func(code int64) bool { return code < 0 }) {
			return err == nil, err
		}
	}
	return false, nil
}

// widened returns integers or bools as float64, which has NaN for missing ones. Integers that
// float64 does not have are an error.
func widened(name string, a storage.Array) (storage.Array, error) {
	const exact = 1 << 53
	if a.Type.Size() == 8 {
		list, err := storage.Read[float64](a)
		if err != nil {
			return a, err
		}
		if i := slices.IndexFunc(list, func(x float64) bool { return x <= -exact || x >= exact }); i >= 0 {
			return a, fmt.Errorf("%s: elements are missing, so that integers become float64, which may not have %.0f: %w", name, list[i], dtype.ErrType)
		}
	}
	return blocks.Derive(a, dtype.Float64, func(dst []byte, v views.View) error {
		return a.With(v).CopyTo(storage.Array{Data: storage.Wrap(dst), Type: dtype.Float64, View: views.Of(v.Shape...)})
	}), nil
}

// A column is codes of categories.
type column struct {
	name       string
	place      string // where the codes are
	codes      storage.Array
	categories int
	values     func() (storage.Array, error) // of numeric categories
}

// read returns the codes that v selects, -1 or less than the number of categories.
func (c column) read(v views.View) ([]int64, error) {
	codes, err := storage.Read[int64](c.codes.With(v))
	for _, code := range codes {
		if code < -1 || code >= int64(c.categories) {
			return nil, fmt.Errorf("%s: code %d of %d categories: %w", c.name, code, c.categories, views.ErrShape)
		}
	}
	return codes, err
}

// texts returns elements of a column of strings. Missing ones are empty.
func (c column) texts(v views.View, categories func() ([]string, error)) ([]any, error) {
	names, err := categories()
	if err != nil {
		return nil, err
	}
	codes, err := c.read(v)
	list := make([]any, len(codes))
	for i, code := range codes {
		if list[i] = ""; code >= 0 {
			list[i] = names[code]
		}
	}
	return list, err
}

// numbers reads elements of a column of numbers. Missing ones are NaN.
func (c column) numbers(dst []byte, t dtype.Type, v views.View) error {
	values, err := c.values()
	if err != nil {
		return err
	}
	codes, err := c.read(v)
	if err != nil {
		return err
	}
	from, _ := values.Bytes() // which are in memory, row-major
	missing := dtype.NaN(t)
	for i, code := range codes {
		element := missing
		switch {
		case code >= 0:
			element = from[int(code)*t.Size():][:t.Size()]
		case missing == nil:
			return fmt.Errorf("%s: element %d of the selected ones is missing, which %v has no value for; read %s instead: %w", c.name, i, t, c.place, dtype.ErrType)
		}
		copy(dst[i*t.Size():], element)
	}
	return nil
}

// readNullable reads a column of values with a mask, which is set where they are missing:
// strings are then empty, and numbers NaN. Integers that float64 does not have are strings, as in tables.
func readNullable(m *convention.Meaning, o *hdf5.Object) error {
	values, err := member(o, "values")
	if err != nil {
		return err
	}
	stored, mask, err := numbers(o, "mask")
	if err != nil {
		return err
	}
	if !slices.Equal(values.Shape, mask.Shape) || mask.Type != dtype.Bool {
		return fmt.Errorf("%s: a mask %v%v of values %v; want as many bools: %w", o.Path, mask.Type, mask.Shape, values.Shape, views.ErrShape)
	}
	m.Stored = storedIn(values, stored)
	if values.Type.IsString() {
		m.Entry = nullableTexts(values, mask)
		return nil
	}
	a, err := values.Array()
	if err != nil {
		return err
	}
	missing, err := storage.Read[bool](mask)
	if err != nil {
		return err
	}
	if slices.Contains(missing, true) {
		if !a.Type.IsFloat() { // as to_numpy(float) of pandas
			wide, err := widened(o.Path, a)
			if errors.Is(err, dtype.ErrType) {
				m.Entry = nullableDigits(a, mask)
				return nil
			}
			if a = wide; err != nil {
				return err
			}
		}
		a = nullableNumbers(a, mask)
	}
	m.Entry = &serialize.Entry{Array: a}
	return nil
}

// nullableTexts returns strings, which are empty where the mask is set.
func nullableTexts(values *hdf5.Dataset, mask storage.Array) *serialize.Entry {
	return &serialize.Entry{Elements: &serialize.Elements{View: mask.View, Type: "string", Values: func(v views.View) ([]any, error) {
		list, err := values.Values(v)
		missing, failed := storage.Read[bool](mask.With(v))
		if err = cmp.Or(err, failed); err != nil {
			return nil, err
		}
		for i := range list {
			if missing[i] {
				list[i] = ""
			}
		}
		return list, nil
	}}}
}

// nullableDigits returns integers as strings, which are empty where the mask is set.
func nullableDigits(values, mask storage.Array) *serialize.Entry {
	return &serialize.Entry{Elements: &serialize.Elements{View: values.View, Type: "string", Values: func(v views.View) ([]any, error) {
		missing, err := storage.Read[bool](mask.With(v))
		if err != nil {
			return nil, err
		}
		list := make([]any, len(missing))
		var digits func(i int) string
		if values.Type.IsSigned() {
			numbers, wrong := storage.Read[int64](values.With(v))
			digits, err = func(i int) string { return strconv.FormatInt(numbers[i], 10) }, wrong
		} else {
			numbers, wrong := storage.Read[uint64](values.With(v))
			digits, err = func(i int) string { return strconv.FormatUint(numbers[i], 10) }, wrong
		}
		for i := 0; i < len(list) && err == nil; i++ {
			if list[i] = ""; !missing[i] {
				list[i] = digits(i)
			}
		}
		return list, err
	}}}
}

// nullableNumbers returns floats, which are NaN where the mask is set.
func nullableNumbers(values, mask storage.Array) storage.Array {
	t := values.Type
	return blocks.Derive(values, t, func(dst []byte, v views.View) error {
		err := values.With(v).CopyTo(storage.Array{Data: storage.Wrap(dst), Type: t, View: views.Of(v.Shape...)})
		if err != nil {
			return err
		}
		missing, err := storage.Read[bool](mask.With(v))
		for i, is := range missing {
			if is {
				copy(dst[i*t.Size():], dtype.NaN(t))
			}
		}
		return err
	})
}
