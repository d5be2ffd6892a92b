package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize/csv"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
)

// Options configure Open. Columns of csv files are given by name or by number from 0.
type Options struct {
	Label string
	Skip  []string
	// Budget limits memory for which files store little; nil is the default limit.
	Budget *storage.Budget
}

// A TextError reports a csv column that is not numeric and not the label column.
type TextError struct {
	Line         int // of the first cell that is not a number
	Column, Cell string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("line %d: column %s has %q, which is not a number", e.Line, e.Column, e.Cell)
}

// A csvTable is the result of the first pass over a file.
type csvTable struct {
	name    string
	budget  *storage.Budget
	names   []string // of the header, or nil
	columns []csvColumn
	rows    int
	label   int // column, or -1
}

// A csvColumn describes the cells of a column.
type csvColumn struct {
	name    string
	text    bool // a cell is not a number
	line    int  // of the first such cell cell
	cell    string
	real    bool    // a number is not an integer, or missing
	most    float64 // the largest absolute value
	skip    bool
	classes map[string]int // of a label column
}

// openCSV reads a table once to find its column types and its size.
func openCSV(ctx context.Context, name, at string, options Options) ([]*Array, error) {
	table := &csvTable{name: name, label: -1, budget: options.Budget}
	if err := table.each(ctx, table.look); err != nil {
		return nil, err
	}
	if table.rows == 0 {
		return nil, fmt.Errorf("%s: no data rows", name)
	}
	if err := table.choose(options); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return table.incoming(strings.TrimSuffix(at, "/"))
}

// each calls do with the cells of every line.
func (t *csvTable) each(ctx context.Context, do func(line int, cells []string) error) error {
	file, err := openGunzipped(t.name)
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := storedSize(t.name)
	if err != nil {
		return err
	}
	limited := &recordReader{r: file, ctx: ctx, budget: t.budget, stored: size}
	r := csv.NewReader(limited)
	if len(t.columns) == 0 {
		t.names = r.Names
	}
	for {
		limited.record = 0
		cells, line, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		for k, cell := range cells {
			cell = strings.TrimSpace(cell)
			if r.Comma != ',' {
				cell = csv.DecimalPoint(cell)
			}
			cells[k] = cell
		}
		if err := do(line, cells); err != nil {
			return err
		}
	}
}

// A recordReader limits the length of the lines of a file, each of which is in memory a
// few times, and stops when its context is done.
type recordReader struct {
	r      io.Reader
	ctx    context.Context
	budget *storage.Budget
	stored int // size of the file
	record int // bytes read for the line so far
}

// recordCopies is how often a growing line is in memory.
const recordCopies = 4

func (r *recordReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if err := r.budget.Allocate(recordCopies*r.record, recordCopies*r.stored); err != nil {
		return 0, fmt.Errorf("a line of more than %d bytes: %w", r.record, err)
	}
	n, err := r.r.Read(b)
	r.record += n
	return n, err
}

func storedSize(name string) (int, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return int(info.Size()), nil
}

// fileSize is storedSize, or 0 if the file cannot be found.
func fileSize(name string) int {
	n, _ := storedSize(name)
	return n
}

func (t *csvTable) look(line int, cells []string) error {
	if t.rows++; t.rows == 1 {
		for k := range cells {
			name := strconv.Itoa(k)
			if t.names != nil {
				name = strings.TrimSpace(t.names[k])
			}
			t.columns = append(t.columns, csvColumn{name: name, classes: map[string]int{}})
		}
	}
	for k, cell := range cells {
		t.columns[k].look(line, cell)
	}
	return nil
}

const maxClasses = 65536

func (c *csvColumn) look(line int, cell string) {
	if len(c.classes) <= maxClasses {
		c.classes[strings.Clone(cell)] = 0
	}
	if csv.IsMissing(cell) {
		c.real = true
		return
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		if !c.text {
			c.text, c.line, c.cell = true, line, strings.Clone(cell)
		}
		return
	}
	c.real = c.real || x != math.Trunc(x) || math.IsInf(x, 0)
	c.most = max(c.most, math.Abs(x))
}

// find returns a column by name or number.
func (t *csvTable) find(name string) (int, error) {
	var names []string
	for k, c := range t.columns {
		if c.name == name {
			return k, nil
		}
		names = append(names, c.name)
	}
	if k, err := strconv.Atoi(name); err == nil && k >= 0 && k < len(t.columns) {
		return k, nil
	}
	return 0, fmt.Errorf("unknown column %q%s; columns are %s", name, spell.Hint(name, names), strings.Join(names[:min(len(names), 20)], ", "))
}

// choose selects the label column: the one named by --label, else one with a common
// name such as label, else the only text column.
func (t *csvTable) choose(options Options) error {
	for _, name := range options.Skip {
		k, err := t.find(name)
		if err != nil {
			return err
		}
		t.columns[k].skip = true
	}
	var texts []int
	for k, c := range t.columns {
		if c.text && !c.skip {
			texts = append(texts, k)
		}
		if !c.skip && t.label < 0 && t.names != nil && slices.Contains([]string{"label", "labels", "class", "target", "y", "species"}, strings.ToLower(c.name)) {
			t.label = k
		}
	}
	if options.Label != "" {
		k, err := t.find(options.Label)
		if err != nil {
			return err
		}
		t.label = k
	} else if t.label < 0 && len(texts) == 1 {
		t.label = texts[0]
	}
	for _, k := range texts {
		if c := t.columns[k]; k != t.label {
			return &TextError{c.line, c.name, c.cell}
		}
	}
	return nil
}

// incoming returns the arrays of the table.
func (t *csvTable) incoming(at string) ([]*Array, error) {
	var all []*Array
	var columns []int
	var names []string
	x := dtype.Float32
	for k, c := range t.columns {
		if k == t.label || c.skip {
			continue
		}
		columns, names = append(columns, k), append(names, c.name)
		if !c.real && c.most > 1<<24 { // integers that float32 cannot represent
			x = dtype.Float64
		}
	}
	if len(columns) > 0 {
		in := &Array{From: t.name, Path: at + "/x", Type: x, Shape: []int{t.rows, len(columns)}}
		in.Attrs = []Attr{{Name: "columns", Value: names}}
		in.Each = t.rowsOf(columns, x, func(_ int, cell string) (float64, error) { return parseCell(cell) })
		all = append(all, in)
	}
	if t.label < 0 {
		return all, nil
	}
	labels, err := t.labels(at)
	return append(all, labels...), err
}

func parseCell(cell string) (float64, error) {
	if csv.IsMissing(cell) {
		return math.NaN(), nil
	}
	x, err := strconv.ParseFloat(cell, 64)
	if errors.Is(err, strconv.ErrRange) {
		return x, nil
	}
	return x, err
}

// labels returns the labels: class numbers in the order of the class names, or the
// numbers in the column.
func (t *csvTable) labels(at string) ([]*Array, error) {
	c := &t.columns[t.label]
	in := &Array{From: t.name, Path: at + "/y", Type: dtype.Float32, Shape: []int{t.rows}}
	in.Attrs = []Attr{{Name: "column", Value: c.name}}
	convert := func(_ int, cell string) (float64, error) { return parseCell(cell) }
	if !c.text && !c.real {
		if in.Type = dtype.Int64; c.most > 1<<53 {
			return nil, fmt.Errorf("%s: column %s has integers beyond 2^53", t.name, c.name)
		}
	}
	if !c.text {
		in.Each = t.rowsOf([]int{t.label}, in.Type, convert)
		return []*Array{in}, nil
	}
	names, err := c.classNames()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	in.Type = classType(len(names))
	in.Each = t.rowsOf([]int{t.label}, in.Type, func(line int, cell string) (float64, error) { return float64(c.classes[cell]), nil })
	return []*Array{in, {From: t.name, Path: at + "/classes", Texts: names}}, nil
}

func (c *csvColumn) classNames() ([]string, error) {
	if len(c.classes) > maxClasses {
		return nil, fmt.Errorf("column %s has more than %d distinct labels", c.name, maxClasses)
	}
	var names []string
	for name := range c.classes {
		names = append(names, name)
	}
	slices.Sort(names)
	for k, name := range names {
		c.classes[name] = k
	}
	return names, nil
}

// classType returns the smallest type that numbers n classes.
func classType(n int) dtype.Type {
	if n <= 256 {
		return dtype.Uint8
	}
	return dtype.Int32
}

// rowsOf reads some columns of the file again, a few thousand rows at a time.
func (t *csvTable) rowsOf(columns []int, to dtype.Type, convert func(line int, cell string) (float64, error)) func(context.Context, func(storage.Array) error) error {
	return func(ctx context.Context, put func(storage.Array) error) error {
		block := max(1, blocks.Size/8/len(columns))
		var xs []float64
		flush := func() error {
			rows := storage.From(xs, len(xs)/len(columns), len(columns))
			if len(columns) == 1 && columns[0] == t.label {
				rows = storage.From(xs, len(xs))
			}
			made, err := storage.Make(storage.CPU, to, rows.Shape...)
			if err == nil && len(xs) > 0 {
				b, _ := made.Bytes()
				if err = dtype.Convert(b, to, dtype.Bytes(xs), dtype.Float64); err == nil {
					err = put(made)
				}
			}
			xs = xs[:0]
			return err
		}
		rows := 0
		err := t.each(ctx, func(line int, cells []string) error {
			if rows++; rows > t.rows {
				return fmt.Errorf("%s: grew while it was read", t.name)
			}
			for _, k := range columns {
				x, err := convert(line, cells[k])
				if err != nil {
					return fmt.Errorf("%s: line %d: %w", t.name, line, err)
				}
				xs = append(xs, x)
			}
			if rows%block != 0 {
				return nil
			}
			return errors.Join(ctx.Err(), flush())
		})
		if err != nil {
			return err
		}
		return flush()
	}
}
