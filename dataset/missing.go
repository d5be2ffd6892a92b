package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Missing are the elements of a field that are NaN, which stands for missing values, or
// infinite.
type Missing struct {
	Field
	NaN, Inf        int             // elements
	Columns         []MissingColumn // along the last axis of rows; one if rows are single numbers
	First, FirstInf Element         // the first of each; its name is empty if all are finite
}

// A MissingColumn is the number of elements of a column that are NaN, or infinite.
type MissingColumn struct{ NaN, Inf int }

// String describes the first NaN: "data.h5: /obs row 1234, column 5 is NaN (4891 in all)",
// or the first infinity, if there is no NaN.
func (m Missing) String() string { return m.Among("in all") }

// Among is String with other words for the set in which the elements were counted.
func (m Missing) Among(where string) string {
	first, n, what := m.First, m.NaN, "NaN"
	if n == 0 {
		first, n, what = m.FirstInf, m.Inf, "infinite"
	}
	text := fmt.Sprintf("%v is %s", first, what)
	if n > 1 {
		text += fmt.Sprintf(" (%d %s)", n, where)
	}
	return text
}

// FindMissing reads the floats of all samples of d once, loaded as o says, and returns their
// missing values, by field. Complete fields are left out. Rows that windows share count once.
func FindMissing(ctx context.Context, d Dataset, o Options) ([]Missing, error) {
	if d = floatsOf(d); len(d.Fields()) == 0 {
		return nil, nil
	}
	scan := NewMissingScan(d)
	for b, err := range Load(ctx, d, o.InOrder(d)) {
		if err != nil {
			return nil, err
		}
		if err := scan.addBatch(b); err != nil {
			return nil, err
		}
	}
	return scan.Found(), ctx.Err()
}

// MissingIn is FindMissing of the samples of d at rows, which are few, such as a batch.
func MissingIn(d Dataset, rows []int) ([]Missing, error) {
	d = floatsOf(d)
	b, err := NewBatch(d, len(rows))
	if err != nil {
		return nil, err
	}
	b.Rows = slices.Sorted(slices.Values(rows))
	if err := d.Read(*b, b.Rows); err != nil {
		return nil, err
	}
	scan := NewMissingScan(d)
	if err := scan.addBatch(b); err != nil {
		return nil, err
	}
	return scan.Found(), nil
}

// floatsOf returns d with its fields of floats.
func floatsOf(d Dataset) Dataset {
	var floats []int
	for i, f := range d.Fields() {
		if f.Type.IsFloat() {
			floats = append(floats, i)
		}
	}
	return Project(d, floats...)
}

// The largest batches of a pass over a dataset, in samples, and in bytes of their elements as
// float64, in which passes compute.
const (
	passRows  = 1 << 16
	passBytes = 16 << 20
)

// InOrder returns o for one pass in order over all samples of d.
func (o Options) InOrder(d Dataset) Options {
	o.Shuffle, o.Window, o.BatchSize, o.Rank, o.WorldSize = None, 0, PassBatch(d), 0, 0
	return o
}

// PassBatch returns the number of samples in a batch of a pass over d.
func PassBatch(d Dataset) int {
	elements := 0
	for _, f := range d.Fields() {
		elements += views.Of(f.Shape...).Len()
	}
	return max(1, min(d.Len(), passRows, passBytes/8/max(1, elements)))
}

// IsFinite reports whether no element of a is NaN or infinite.
func IsFinite(a storage.Array) (bool, error) {
	if bytes, ok := a.Bytes(); ok && a.Type == dtype.Float32 {
		return allFinite(dtype.Cast[float32](bytes)), nil
	} else if ok && a.Type == dtype.Float64 {
		return allFinite(dtype.Cast[float64](bytes)), nil
	}
	if !a.Type.IsFloat() {
		return true, nil
	}
	values, err := storage.Read[float64](a)
	return allFinite(values), err
}

// allFinite adds x - x, which is 0 or NaN, and NaN stays: four sums, so that additions do not wait for each other.
func allFinite[T float32 | float64](values []T) bool {
	var a, b, c, d T
	for ; len(values) >= 4; values = values[4:] {
		a += values[0] - values[0]
		b += values[1] - values[1]
		c += values[2] - values[2]
		d += values[3] - values[3]
	}
	for _, x := range values {
		a += x - x
	}
	return a+b+c+d == 0
}

// A MissingScan finds missing values in samples that are added in order.
type MissingScan struct {
	d      reader
	fields []Missing
	last   []int // sample that was added of each field; -1 before the first
}

// NewMissingScan returns a scan of the samples of d.
func NewMissingScan(d Dataset) *MissingScan {
	s := &MissingScan{d: readerOf(d)}
	for _, f := range d.Fields() {
		s.fields, s.last = append(s.fields, Missing{Field: f}), append(s.last, -1)
	}
	return s
}

// addBatch adds a batch, whose fields are floats.
func (s *MissingScan) addBatch(b *Batch) error {
	for i := range s.fields {
		values, err := storage.Read[float64](b.Fields[i])
		if err != nil {
			return err
		}
		s.Add(i, b.Rows, values)
	}
	return nil
}

// Add adds the values of a field of the samples at rows.
func (s *MissingScan) Add(field int, rows []int, values []float64) {
	each := len(values) / max(1, len(rows))
	for k, x := range values {
		if x-x == 0 { // it is a finite number
			continue
		}
		before := s.last[field]
		if k >= each {
			before = rows[k/each-1]
		}
		s.add(field, before, rows[k/each], k%each, x)
	}
	if len(rows) > 0 {
		s.last[field] = rows[len(rows)-1]
	}
}

// add adds element i of a sample, which is not finite, unless the sample that was added
// before has the element's row, too.
func (s *MissingScan) add(field, before, sample, i int, x float64) {
	m := &s.fields[field]
	o, row := s.d.origin(field, sample)
	e := o.element(m.Field, row, i)
	if o.Steps > 1 && before >= 0 {
		p, first := s.d.origin(field, before)
		if first += p.Row; p.Name == o.Name && first <= e.Row && e.Row < first+p.Steps {
			return
		}
	}
	e.Value = x
	if m.Columns == nil {
		m.Columns = make([]MissingColumn, e.columns(m.Field))
	}
	m.count(e)
}

// columns returns the number of columns of a row of f, which e is an element of.
func (e Element) columns(f Field) int {
	if len(e.Index) == 0 {
		return 1
	}
	return f.Shape[len(f.Shape)-1]
}

// count counts e.
func (m *Missing) count(e Element) {
	column := &m.Columns[0]
	if n := len(e.Index); n > 0 {
		column = &m.Columns[e.Index[n-1]]
	}
	if math.IsNaN(e.Value) {
		if m.NaN == 0 {
			m.First = e
		}
		m.NaN++
		column.NaN++
		return
	}
	if m.Inf == 0 {
		m.FirstInf = e
	}
	m.Inf++
	column.Inf++
}

// Found returns the missing values of the samples so far, by field.
func (s *MissingScan) Found() (all []Missing) {
	for _, m := range s.fields {
		if m.NaN+m.Inf > 0 {
			all = append(all, m)
		}
	}
	return all
}
