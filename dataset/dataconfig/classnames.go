package dataconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ClassNames are the names of the classes of targets, by the name of the target. As
// JSON it is a list, if there is one target, or an object of lists.
type ClassNames map[string][]string

// Categories are the names of the categories of columns, by the path of the column.
type Categories map[string][]string

var errClassNames = errors.New("want a list of names, or a list for each target by name")

// UnmarshalJSON reads a list, which is for the target y, or lists by target.
func (n *ClassNames) UnmarshalJSON(text []byte) error {
	var list []string
	if json.Unmarshal(text, &list) == nil {
		*n = ClassNames{"y": list}
		return nil
	}
	var named map[string][]string
	if json.Unmarshal(text, &named) != nil {
		return errClassNames
	}
	*n = named
	return nil
}

// nameClasses turns the named labels of parts into class numbers, and returns the
// names of the classes of each target. c.ClassNames, where it has the target, are
// these names and their order. Otherwise strings are sorted, and the names of
// integers keep their order.
func (c Config) nameClasses(parts []*part) (map[string][]string, error) {
	all := map[string][]string{}
	for _, target := range c.Y.names("y") {
		named := fieldsNamed(parts, target)
		names, given := c.ClassNames[target]
		if len(named) == 0 && !given {
			continue
		}
		if !given {
			var err error
			if names, err = collectNames(named); err != nil {
				return nil, err
			}
		}
		code := newCoding("classes", names, nil)
		values := integersOf(names)
		code.ignore = c.Missing.ForTarget(target) == Ignore
		var numbered []*field
		for _, p := range parts {
			for i := range p.fields {
				f := &p.fields[i]
				if f.Name == target && f.labels == nil && values != nil && f.Array.Type.IsInt() {
					f.labels = &Found{Names: names, Values: values}
				}
				if f.Name != target || f.labels == nil {
					continue
				}
				if err := p.number(f, code); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", p.yFile, f.path, err)
				}
				numbered = append(numbered, f)
			}
		}
		if err := widen(numbered); err != nil {
			return nil, err
		}
		all[target] = names
	}
	return all, nil
}

// integersOf returns the integers that all names are, or nil.
func integersOf(names []string) []int64 {
	values := make([]int64, len(names))
	for i, name := range names {
		var err error
		if values[i], err = strconv.ParseInt(name, 10, 64); err != nil {
			return nil
		}
	}
	return values
}

// fieldsNamed returns the fields of that name whose labels have names.
func fieldsNamed(parts []*part, name string) (named []field) {
	for _, p := range parts {
		for _, f := range p.fields {
			if f.Name == name && f.labels != nil {
				named = append(named, f)
			}
		}
	}
	return named
}

// collectNames returns the names in all fields: sorted, if a field has strings, else in
// the order of the first field, with those of the others behind.
func collectNames(fields []field) ([]string, error) {
	var names []string
	seen := map[string]bool{}
	texts := false
	for _, f := range fields {
		list := f.labels.Names
		if f.labels.Texts != nil {
			texts = true
			var err error
			if list, err = f.labels.Texts(); err != nil {
				return nil, err
			}
		}
		for _, name := range list {
			if seen[name] || name == "" && f.labels.Texts != nil && f.Role == dataset.Target { // the label is missing
				continue
			}
			seen[name] = true
			if names = append(names, strings.Clone(name)); len(names) > maxClasses {
				return nil, fmt.Errorf("%s holds more than %d different strings; want class labels: %w", f.path, maxClasses, dtype.ErrType)
			}
		}
	}
	if texts {
		slices.Sort(names)
	}
	return names, nil
}

// A coding is the numbers of the names of classes or categories.
type coding struct {
	kind    string // classes or categories
	numbers map[string]int64
	unknown *int // the number of names that have none; nil if they are errors
	ignore  bool // missing labels are MissingLabel
}

func newCoding(kind string, names []string, unknown *int) coding {
	c := coding{kind: kind, numbers: map[string]int64{}, unknown: unknown}
	for i, name := range names {
		c.numbers[name] = int64(i)
	}
	return c
}

// other returns the number of a row that p leaves out, or whose name has none.
func (c coding) other(p *part, row int, format string, args ...any) (int64, error) {
	switch {
	case !p.keeps(row):
		return 0, nil
	case c.unknown != nil:
		return int64(*c.unknown), nil
	}
	advice := ""
	if c.kind == categories {
		advice = "; leave such rows out, or set unknown: -1, which makes them zeros in one-hot encodings"
	}
	return 0, fmt.Errorf("row %d is %s%s: %w", row, fmt.Sprintf(format, args...), advice, views.ErrShape)
}

// ignoreLabels is the way to train with missing labels.
const ignoreLabels = "set data.missing: ignore to leave such rows out of the loss"

// missingCode is what a categorical column has for missing values.
const missingCode = -1

// missing returns the number of a label that is missing, in a row that p keeps.
func (c coding) missing(p *part, row int, format string, args ...any) (int64, error) {
	if c.ignore {
		return MissingLabel, nil
	}
	return c.other(p, row, format+": its label is missing; "+ignoreLabels, args...)
}

// number makes the elements of f numbers of classes or categories. Rows that p leaves out
// may be anything.
func (p *part) number(f *field, c coding) error {
	var numbers []int64
	var err error
	if f.labels.Texts != nil {
		numbers, err = p.numberTexts(f.labels, c)
	} else {
		numbers, err = p.numberIntegers(f, c)
	}
	if err == nil && numbers != nil {
		f.Array = storage.From(numbers, f.Array.Shape...)
	}
	return err
}

// widen makes the numbers of a column int64 in all parts if their types differ: a file that has all names numbers them as all do
// has its own integers, and others have new ones.
func widen(fields []*field) error {
	if !slices.ContainsFunc(fields, func(f *field) bool { return f.Array.Type != fields[0].Array.Type }) {
		return nil
	}
	for _, f := range fields {
		numbers, err := storage.Read[int64](f.Array)
		if err != nil {
			return err
		}
		f.Array = storage.From(numbers, f.Array.Shape...)
	}
	return nil
}

func (p *part) numberTexts(l *Found, c coding) ([]int64, error) {
	texts, err := l.Texts()
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(texts))
	for row, text := range texts {
		number, ok := c.numbers[text]
		switch {
		case !ok && text == "" && c.kind != categories:
			number, err = c.missing(p, row, "empty")
		case !ok:
			number, err = c.other(p, row, "%q, which is not one of the %d %s %s", text, len(c.numbers), c.kind, someNames(c.numbers))
		}
		if err != nil {
			return nil, err
		}
		numbers[row] = number
	}
	return numbers, nil
}

// numberIntegers returns nil if the integers are the numbers of their names already.
func (p *part) numberIntegers(f *field, c coding) ([]int64, error) {
	nameOf := map[int64]string{}
	for i, name := range f.labels.Names {
		value := int64(i)
		if f.labels.Values != nil {
			value = f.labels.Values[i]
		}
		nameOf[value] = name
	}
	stored, err := storage.Read[int64](f.Array)
	if err != nil {
		return nil, err
	}
	numbers, same := make([]int64, len(stored)), true
	perRow := max(1, len(stored)/max(1, f.Array.Shape[0]))
	for i, value := range stored {
		name, named := nameOf[value]
		number, ok := c.numbers[name]
		switch {
		case !named && value == missingCode && c.kind != categories:
			number, err = c.missing(p, i/perRow, "%d", value)
		case !named && c.kind == categories:
			number, err = c.other(p, i/perRow, "%d, which has no name and therefore is not a category", value)
		case !named:
			number, err = c.other(p, i/perRow, "%d, which has no name and therefore is not a class; leave such rows out with a filter of rows", value)
		case !ok:
			number, err = c.other(p, i/perRow, "%q, which is not one of the %d %s %s", name, len(c.numbers), c.kind, someNames(c.numbers))
		}
		if err != nil {
			return nil, err
		}
		numbers[i] = number
		same = same && number == value
	}
	if same {
		return nil, nil
	}
	return numbers, nil
}

// numbersOf reports whether all integers of a are from 0 to classes-1.
func numbersOf(a storage.Array, classes int) bool {
	all, err := storage.Read[int64](a)
	return err == nil && !slices.ContainsFunc(all, func(label int64) bool { return label < 0 || label >= int64(classes) })
}

// keeps reports whether row is one of the rows of p that were selected.
func (p *part) keeps(row int) bool {
	if p.keep == nil {
		return true
	}
	_, found := slices.BinarySearch(p.keep, row)
	return found
}

// someNames lists the first names of classes.
func someNames(numbers map[string]int64) string {
	const shown = 8
	names := make([]string, len(numbers))
	for name, class := range numbers {
		names[class] = name
	}
	if len(names) > shown {
		names = append(names[:shown:shown], "…")
	}
	return strings.Join(names, ", ")
}

// texts returns the names of integers as strings, for comparisons; nil if there are none.
func (f Found) texts() func() ([]string, error) {
	if f.Texts != nil || f.Names == nil {
		return f.Texts
	}
	return func() ([]string, error) {
		stored, err := storage.Read[int64](f.Array)
		texts := make([]string, len(stored))
		for row, value := range stored {
			i := int(value)
			if f.Values != nil {
				i = slices.Index(f.Values, value)
			}
			if i >= 0 && i < len(f.Names) {
				texts[row] = f.Names[i]
			}
		}
		return texts, err
	}
}
