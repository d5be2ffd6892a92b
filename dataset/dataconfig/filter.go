package dataconfig

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A filter selects rows of a part:
//
//	[100:]            a slice
//	PATH              the rows of a mask or of a list of indices; the episodes that a
//	                  list of strings names
//	PATH == VALUE     the rows for which the comparison holds; also != < <= > >=, and
//	                  of strings
//	PATH in [A, B]    the rows that equal one of several values; also not in
type filter struct {
	slice string
	path  wildcard
	op    string
	value string
	among []string // the values of in and not in
}

// membership matches PATH in [A, B].
var membership = regexp.MustCompile(`^\s*(\S.*?)\s+(not\s+)?in\s+\[(.*)\]\s*$`)

var comparison = regexp.MustCompile(`^\s*([^=!<>]+?)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*$`)

func parseFilter(text string) (filter, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") {
		_, err := views.Parse(text)
		return filter{slice: text}, err
	}
	if found := membership.FindStringSubmatch(text); found != nil {
		f := filter{path: wildcard(found[1]), op: "in"}
		if found[2] != "" {
			f.op = "not in"
		}
		for value := range strings.SplitSeq(found[3], ",") {
			f.among = append(f.among, unquoted(strings.TrimSpace(value)))
		}
		return f, nil
	}
	if found := comparison.FindStringSubmatch(text); found != nil {
		return filter{path: wildcard(found[1]), op: found[2], value: unquoted(found[3])}, nil
	}
	if text == "" || strings.ContainsAny(text, "=!<>") {
		return filter{}, fmt.Errorf("%q is not a row filter; want [slice], the path of a mask or list, or a comparison such as fold==3 or site in [a, b]", text)
	}
	return filter{path: wildcard(text)}, nil
}

// unquoted returns a value without its quotes.
func unquoted(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// rows returns the rows of p that f selects.
func (f filter) rows(p *part) (dataset.RowSet, error) {
	if f.slice != "" {
		return sliced(f.slice, p.len())
	}
	found, path, err := p.find(p.file, string(f.path))
	if err != nil {
		return nil, err
	}
	pick := f.pick
	if f.among != nil {
		pick = f.pickAmong
	}
	rows, err := pick(found, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p.file, path, err)
	}
	return rows, nil
}

// pickAmong returns the rows of p that equal one of several values, or none of them, by what was
// found at the path of f, which is read once.
func (f filter) pickAmong(found Found, p *part) (rows dataset.RowSet, err error) {
	if found.Texts != nil {
		texts, err := found.Texts()
		found.Texts = func() ([]string, error) { return texts, err }
	} else if found.Array.Data != nil {
		if found.Array, err = found.Array.To(storage.CPU); err != nil {
			return nil, err
		}
	}
	rows = dataset.RowSet{}
	for _, value := range f.among {
		equal, err := filter{path: f.path, op: "==", value: value}.pick(found, p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, equal...)
	}
	slices.Sort(rows)
	if rows = slices.Compact(rows); f.op == "not in" {
		return rows.Complement(p.len()), nil
	}
	return rows, nil
}

// pick returns the rows of p that f selects with what was found at its path.
func (f filter) pick(found Found, p *part) (dataset.RowSet, error) {
	a := found.Array
	if found.Names != nil && f.op != "" && (slices.Contains(found.Names, f.value) || !isNumber(f.value)) {
		found.Texts = found.texts()
	}
	listed := f.op == "" && a.Data != nil && a.Type.IsInt()
	switch {
	case found.Texts != nil:
		return f.pickByText(found.Texts, p)
	case found.Ragged != nil:
		return nil, fmt.Errorf("rows of different lengths select no samples: %w", dtype.ErrType)
	case !listed && (a.Rank() != 1 || a.Shape[0] != p.len()):
		return nil, fmt.Errorf("is %v; want one element for each of %d rows: %w", a.Shape, p.len(), views.ErrShape)
	case listed:
		rows, err := dataset.NewRowSet(a, p.len())
		if err != nil {
			err = fmt.Errorf("as a list of rows (a mask of integers is written PATH!=0): %w", err)
		}
		return rows, err
	case f.op == "" && a.Type != dtype.Bool:
		return nil, fmt.Errorf("holds %v; want a mask of bools, a list of integers, or a comparison such as PATH>0: %w", a.Type, dtype.ErrType)
	case f.op == "":
		return dataset.Where(a, func(marked bool) bool { return marked })
	}
	return f.compare(a)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// pickByText compares strings row by row, or looks up the name of the episode.
func (f filter) pickByText(texts func() ([]string, error), p *part) (dataset.RowSet, error) {
	list, err := texts()
	if err != nil {
		return nil, err
	}
	switch {
	case f.op == "" && len(p.at.steps) == 0:
		return nil, fmt.Errorf("holds strings; compare them, as in %s==val: %w", f.path, dtype.ErrType)
	case f.op == "" && slices.Contains(list, p.at.steps[len(p.at.steps)-1]):
		return allRows(p.len()), nil
	case f.op == "":
		return dataset.RowSet{}, nil
	case len(list) != p.len():
		return nil, fmt.Errorf("holds %d strings; want one for each of %d rows: %w", len(list), p.len(), views.ErrShape)
	}
	rows := dataset.RowSet{}
	for row, text := range list {
		if holds(text, f.op, f.value) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// compare compares numbers in their own type: integers exactly.
func (f filter) compare(a storage.Array) (dataset.RowSet, error) {
	t := a.Type
	switch {
	case t == dtype.Bool:
		value, err := strconv.ParseBool(f.value)
		equal := f.op == "=="
		if err == nil && !equal && f.op != "!=" {
			err = errors.New("bools are compared by == and !=")
		}
		return where(a, f.value, err, func(x bool) bool { return (x == value) == equal })
	case t == dtype.Uint64:
		value, err := strconv.ParseUint(f.value, 0, 64)
		return where(a, f.value, err, func(x uint64) bool { return holds(x, f.op, value) })
	case t.IsInt():
		value, err := strconv.ParseInt(f.value, 0, 64)
		return where(a, f.value, err, func(x int64) bool { return holds(x, f.op, value) })
	case t == dtype.Float32: // as in NumPy, 0.1 is the nearest float32
		value, err := strconv.ParseFloat(f.value, 32)
		return where(a, f.value, err, func(x float32) bool { return holds(x, f.op, float32(value)) })
	case t.IsFloat():
		value, err := strconv.ParseFloat(f.value, 64)
		return where(a, f.value, err, func(x float64) bool { return holds(x, f.op, value) })
	}
	return nil, fmt.Errorf("holds %v, which cannot be compared: %w", t, dtype.ErrType)
}

// where is dataset.Where, unless the value to compare with was invalid.
func where[T dtype.Go](a storage.Array, value string, err error, keep func(T) bool) (dataset.RowSet, error) {
	if err != nil {
		var number *strconv.NumError
		if errors.As(err, &number) {
			err = number.Err
		}
		return nil, fmt.Errorf("compare %v with %q: %w", a.Type, value, err)
	}
	return dataset.Where(a, keep)
}

func holds[T cmp.Ordered](x T, op string, value T) bool {
	switch op {
	case "==":
		return x == value
	case "!=":
		return x != value
	case "<":
		return x < value
	case "<=":
		return x <= value
	case ">":
		return x > value
	default:
		return x >= value
	}
}

// sliced returns the rows that a slice selects of n.
func sliced(expr string, n int) (dataset.RowSet, error) {
	v, err := views.Of(n).Index(expr)
	if err != nil {
		return nil, err
	}
	if v.Rank() != 1 {
		return nil, fmt.Errorf("%s of %d rows: want a range, such as [100:]: %w", expr, n, views.ErrShape)
	}
	rows := dataset.RowSet(slices.Sorted(v.Positions()))
	return rows, nil
}

func allRows(n int) dataset.RowSet { return dataset.RowSet{}.Complement(n) }
