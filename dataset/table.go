package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// NamedArray is an array whose first axis counts samples, what to call it, and what it
// is for: an input of the model, unless Role says otherwise.
type NamedArray struct {
	Name     string
	Array    storage.Array
	Role     Role
	LengthOf string // the input that a Length belongs to
	From     Origin // for messages
}

// A table is a dataset of columns of equal length.
type table struct {
	length  int
	columns []*column
	fields  []Field
}

// A chunked column beside one that is narrowRatio times wider is decoded once and
// cached: labels are small, and their chunks rarely end where those of images do.
const (
	narrowRatio     = 8
	maxCachedColumn = 64 << 20
)

// FromArrays returns the dataset whose sample i is element i of every field's first axis.
func FromArrays(fields ...NamedArray) (Dataset, error) {
	t := &table{}
	for _, f := range fields {
		c, err := newColumn(f)
		if err != nil {
			return nil, err
		}
		if len(t.columns) > 0 && f.Array.Shape[0] != t.length {
			return nil, fmt.Errorf("dataset: %s has %d samples and %s has %d; they must be equal: %w", fields[0].Name, t.length, f.Name, f.Array.Shape[0], views.ErrShape)
		}
		if slices.ContainsFunc(t.fields, func(g Field) bool { return g.Name == f.Name }) {
			return nil, fmt.Errorf("dataset: two fields are called %s; names have to differ", f.Name)
		}
		t.length = f.Array.Shape[0]
		t.columns, t.fields = append(t.columns, c), append(t.fields, c.Field)
	}
	if len(t.columns) == 0 {
		return nil, fmt.Errorf("dataset: no fields; name at least one array: %w", views.ErrShape)
	}
	if _, err := SchemaOf(t.fields); err != nil {
		return nil, err
	}
	t.holdNarrow()
	return t, nil
}

func (t *table) holdNarrow() {
	widest := slices.MaxFunc(t.columns, func(a, b *column) int { return cmp.Compare(a.size, b.size) })
	for _, c := range t.columns {
		if c.chunked() && c.size*narrowRatio <= widest.size && t.length*c.size <= maxCachedColumn {
			c.cacheWhole()
		}
	}
}

func (t *table) Len() int        { return t.length }
func (t *table) Fields() []Field { return t.fields }

func (t *table) Read(into Batch, rows []int) error { return readInto(into, t, rows) }

func (t *table) scatter(to destination, rows []int) error {
	for i, c := range t.columns {
		if len(rows) == 0 || c.size == 0 {
			continue
		}
		if err := c.gather(to, i, rows); err != nil {
			return err
		}
	}
	return nil
}

// jointBlock is the maximum size in bytes of a block of several row groups. A block of a table is
// one row group of its largest chunked column, or as many as end where row groups of the other
// columns end.
const jointBlock = 32 << 20

// maxBlocks bounds the list of blocks: a file may declare more samples than it holds.
const maxBlocks = 1 << 20

// Blocks implements Blocked.
func (t *table) Blocks() (ends []int, decoded int) {
	lead := t.lead()
	if lead == nil {
		return nil, t.length
	}
	rows := t.blockRows(lead)
	for t.length/rows > maxBlocks {
		rows *= 2
	}
	for end := rows - lead.skipped%rows; end < t.length; end += rows {
		ends = append(ends, end)
	}
	ends = append(ends, t.length)
	return ends, t.decoded(ends)
}

// lead returns the chunked column with the most bytes, or nil.
func (t *table) lead() *column {
	var lead *column
	for _, c := range t.columns {
		if c.chunked() && t.length > 0 && (lead == nil || c.size > lead.size) {
			lead = c
		}
	}
	return lead
}

func (t *table) blockRows(lead *column) int {
	sample := sampleBytes(t)
	rows := lead.rowGroup
	for _, c := range t.columns {
		if joint := rows / gcd(rows, c.rowGroup) * c.rowGroup; c.chunked() && c.skipped%c.rowGroup == lead.skipped%c.rowGroup && joint <= jointBlock/sample {
			rows = joint
		}
	}
	return rows
}

// decoded returns how many samples' worth of bytes reading every block decodes.
func (t *table) decoded(ends []int) int {
	total, sample := 0.0, float64(sampleBytes(t))
	for _, c := range t.columns {
		rows := t.length
		if c.chunked() {
			rows = c.decoded(ends)
		}
		total += float64(rows) * float64(c.size) / sample
	}
	return int(total)
}

// decoded returns how many rows reading blocks one by one decodes.
func (c *column) decoded(ends []int) int {
	rows, start := 0, 0
	for _, end := range ends {
		first, last := start+c.skipped, end-1+c.skipped+c.windowLen-1
		rows += (last/c.chunk - first/c.chunk + 1) * c.chunk
		start = end
	}
	return rows
}

// aloneBytes returns about how many bytes are decoded to read a sample by itself, 0 if that is a whole chunk of a column, or
// if no column has chunks.
func (t *table) aloneBytes() (total int) {
	if t.lead() == nil {
		return 0
	}
	for _, c := range t.columns {
		bytes := c.size
		if c.chunked() {
			bytes = c.aloneBytes()
		}
		if bytes == 0 {
			return 0
		}
		total += bytes
	}
	return total
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
