package dataconfig

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Targets returns the fields that outputs are compared with.
func (d *Data) Targets() []dataset.Field { return d.targets.Fields() }

// maxClasses is how many classes integer labels may stand for without being told.
const maxClasses = 1 << 16

// CountClasses returns one more than the largest label of the named target, which
// must be one integer or bool for each sample, and the least, other than ignore unless that is nil. It reads all of them, loaded as o
// says.
func (d *Data) CountClasses(ctx context.Context, target string, ignore *int, o dataset.Options) (classes, least int, err error) {
	i := slices.IndexFunc(d.Targets(), func(f dataset.Field) bool { return f.Name == target })
	if i < 0 {
		return 0, 0, fmt.Errorf("data: no target %q: %w", target, views.ErrShape)
	}
	if y := d.Targets()[i]; !y.Type.IsInt() && y.Type != dtype.Bool || views.Of(y.Shape...).Len() != 1 {
		return 0, 0, fmt.Errorf("%v; want one integer label for each sample: %w", y, dtype.ErrType)
	}
	first, last := int64(maxClasses), int64(0)
	o.Shuffle, o.Window, o.Batch, o.Rank, o.World = dataset.None, 0, min(1<<16, max(1, d.targets.Len())), 0, 0
	for b, err := range dataset.Load(ctx, d.targets, o) {
		if err != nil {
			return 0, 0, err
		}
		labels, err := storage.Read[int64](b.Fields[i])
		if err != nil {
			return 0, 0, err
		}
		for k, label := range labels {
			if ignore != nil && label == int64(*ignore) {
				continue
			}
			if label < 0 || label >= maxClasses {
				return 0, 0, fmt.Errorf("%s: label %d of sample %d; want 0 to %d, or set the number of classes: %w", target, label, b.Rows[k], maxClasses-1, views.ErrShape)
			}
			first, last = min(first, label), max(last, label)
		}
	}
	return int(last) + 1, int(min(first, last)), nil
}

// Standardize returns the normalizations that give each column of the named fields of
// the training samples mean 0 and standard deviation 1. A field has that many
// columns, along its last axis; 1 is all elements together. Columns of categories stay as
// they are. All samples are read
// once, loaded as o says. Elements that are not finite do not count, and a standard
// deviation of 0 counts as 1.
func (d *Data) Standardize(ctx context.Context, columns map[string]int, o dataset.Options) (map[string]Normalize, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	fields := d.Train.Fields()
	moments := make([]columnMoments, len(fields)) // nil for fields that are not asked for
	for i, f := range fields {
		n, ok := columns[f.Name]
		switch {
		case !ok:
			continue
		case f.Type.IsComplex():
			return nil, fmt.Errorf("%v; want real numbers: %w", f, dtype.ErrType)
		case n < 1 || views.Of(f.Shape...).Len()%n != 0:
			return nil, fmt.Errorf("data: %v in %d columns: %w", f, n, views.ErrShape)
		}
		moments[i] = make(columnMoments, n)
	}
	o.Shuffle, o.Window, o.Batch, o.Rank, o.World = dataset.None, 0, min(1<<10, max(1, d.Train.Len())), 0, 0
	for b, err := range dataset.Load(ctx, d.Train, o) {
		if err != nil {
			return nil, err
		}
		for i, m := range moments {
			if m == nil {
				continue
			}
			values, err := storage.Read[float64](b.Fields[i])
			if err != nil {
				return nil, err
			}
			m.add(values)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := map[string]Normalize{}
	for i, m := range moments {
		if m == nil {
			continue
		}
		n, err := m.standardize()
		if err != nil {
			return nil, err
		}
		for k, fixed := range d.fixed[fields[i].Name] {
			if fixed && k < len(n.Scale) {
				n.Scale[k], n.Shift[k] = 1, 0
			}
		}
		all[fields[i].Name] = n
	}
	return all, nil
}

// columnMoments are the means and squared deviations of columns. Values are counted
// from the first of their column, so that the deviation of a constant is exactly 0.
type columnMoments []struct {
	n, origin, mean, squares float64
}

// add adds rows of all columns.
func (m columnMoments) add(values []float64) {
	for k, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		c := &m[k%len(m)]
		if c.n == 0 {
			c.origin = x
		}
		x -= c.origin
		c.n++ // Welford, Technometrics 4 (1962)
		delta := x - c.mean
		c.mean += delta / c.n
		c.squares += delta * (x - c.mean)
	}
}

func (m columnMoments) standardize() (Normalize, error) {
	means, stds := make([]float64, len(m)), make([]float64, len(m))
	for i, c := range m {
		mean, std := c.origin+c.mean, math.Sqrt(c.squares/max(1, c.n))
		if math.IsInf(mean, 0) || math.IsNaN(std) || math.IsInf(std, 0) || std == 0 || math.IsInf(1/std, 0) || math.IsInf(mean/std, 0) {
			std = 1
		}
		if math.IsInf(mean, 0) {
			mean = 0
		}
		means[i], stds[i] = mean, std
	}
	return standardize(means, stds)
}

// Columns returns how many columns of numbers the named input or target has, and
// whether its rows are rows of a table: of at most one axis before windows, and not
// of different lengths.
func (d *Data) Columns(name string) (n int, table bool) {
	fields := d.Train.Fields()
	i := slices.IndexFunc(fields, func(f dataset.Field) bool { return f.Name == name })
	if i < 0 || d.ragged[name] {
		return 0, false
	}
	row := fields[i].Shape
	if d.config.windowed(fields[i].Role) && len(row) > 0 {
		row = row[1:]
	}
	switch len(row) {
	case 0:
		return 1, true
	case 1:
		return row[0], row[0] > 0
	}
	return 0, false
}

// sampledBytes is how many bytes of samples EstimateNormalize reads.
const sampledBytes = 64 << 20

// EstimateNormalize returns the normalization that gives numbers like those of the
// named input mean 0 and standard deviation 1, if they are integers; floats are
// left as they are. It reads up to 64 MiB of samples, loaded as o says.
func (d *Data) EstimateNormalize(ctx context.Context, input string, o dataset.Options) (Normalize, error) {
	fields := d.Train.Fields()
	i := slices.IndexFunc(fields, func(f dataset.Field) bool { return f.Name == input && f.Role == dataset.Input })
	if i < 0 {
		return Normalize{}, fmt.Errorf("data: no input %q: %w", input, views.ErrShape)
	}
	switch x := fields[i]; {
	case x.Type.IsFloat():
		return Identity, nil
	case !x.Type.IsInt() && x.Type != dtype.Bool:
		return Normalize{}, fmt.Errorf("%v; want numbers: %w", x, dtype.ErrType)
	}
	var n, sum, squares float64
	o.Batch, o.Rank, o.World = min(256, d.Train.Len()), 0, 0
	for b, err := range dataset.Load(ctx, d.Train, o) {
		if err != nil {
			return Normalize{}, err
		}
		values, err := storage.Read[float64](b.Fields[i])
		if err != nil {
			return Normalize{}, err
		}
		for _, v := range values {
			n, sum, squares = n+1, sum+v, squares+v*v
		}
		if int(n)*fields[i].Type.Size() > sampledBytes {
			break
		}
	}
	mean := sum / n
	std := math.Sqrt(max(0, squares/n-mean*mean))
	if n == 0 || std == 0 {
		return Identity, nil
	}
	return standardize([]float64{mean}, []float64{std})
}
