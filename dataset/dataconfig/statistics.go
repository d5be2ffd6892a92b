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

// CountClasses returns one more than the largest label of the named target, which must be one
// integer or bool for each sample, and the least label. Labels that are *ignore do not count. It
// reads all labels, loaded as o says.
func (d *Data) CountClasses(ctx context.Context, target string, ignore *int, o dataset.Options) (classes, least int, err error) {
	i := slices.IndexFunc(d.Targets(), func(f dataset.Field) bool { return f.Name == target })
	if i < 0 {
		return 0, 0, fmt.Errorf("data: no target %q: %w", target, views.ErrShape)
	}
	y := d.Targets()[i]
	floats := y.Type.IsFloat() && d.config.Missing.ForTarget(target) == Ignore
	if !y.Type.IsInt() && y.Type != dtype.Bool && !floats || views.Of(y.Shape...).Len() < 1 {
		return 0, 0, fmt.Errorf("%v; want integer labels: %w", y, dtype.ErrType)
	}
	first, last := int64(maxClasses), int64(0)
	all := dataset.Project(d.targets, i)
	for b, err := range dataset.Load(ctx, all, o.InOrder(all)) {
		if err != nil {
			return 0, 0, err
		}
		labels, err := Labels(b.Fields[0])
		if err != nil {
			return 0, 0, err
		}
		for k, label := range labels {
			if ignore != nil && label == int64(*ignore) || label == MissingLabel && d.config.Missing.ForTarget(target) == Ignore {
				continue
			}
			if label < 0 || label >= maxClasses {
				return 0, 0, fmt.Errorf("%s: label %d of sample %d; want 0 to %d; set the number of classes for larger ones, and ignore_index of the loss for a mark of places without a class: %w", target, label, b.Rows[k/views.Of(y.Shape...).Len()], maxClasses-1, views.ErrShape)
			}
			first, last = min(first, label), max(last, label)
		}
	}
	return int(last) + 1, int(min(first, last)), nil
}

// Labels returns the class numbers in a: of floats, as tables have them with missing values,
// MissingLabel for NaN.
func Labels(a storage.Array) ([]int64, error) {
	if !a.Type.IsFloat() {
		return storage.Read[int64](a)
	}
	values, err := storage.Read[float64](a)
	labels := make([]int64, len(values))
	for i, x := range values {
		if labels[i] = int64(x); math.IsNaN(x) {
			labels[i] = MissingLabel
		} else if float64(labels[i]) != x {
			return nil, fmt.Errorf("label %v is no integer, which a class is: %w", x, dtype.ErrType)
		}
	}
	return labels, err
}

// A Columns divides the elements of a sample into columns: element i, row-major, is of column
// i/Inner%N.
type Columns struct{ N, Inner int }

// Statistics are the means and standard deviations of the columns of a field, of its finite
// elements. A standard deviation of 0 counts as 1.
type Statistics struct {
	from    string // the array of the first sample
	fixed   []bool // columns of categories, which stay as they are
	padded  bool   // padding counts, as lengths are not known
	inner   int
	moments columnMoments
}

// Statistics returns the statistics of the named fields of the training samples, which it reads once,
// loaded as o says. Missing values in these fields that the configuration refuses are a
// *MissingError, in the samples to validate on as well.
func (d *Data) Statistics(ctx context.Context, columns map[string]Columns, o dataset.Options) (map[string]*Statistics, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	all := map[string]*Statistics{}
	for i, f := range d.Train.Fields() {
		c, ok := columns[f.Name]
		switch {
		case !ok:
			continue
		case f.Type.IsComplex():
			return nil, fmt.Errorf("%v; want real numbers: %w", f, dtype.ErrType)
		case c.N < 1 || c.Inner < 1 || views.Of(f.Shape...).Len()%(c.N*c.Inner) != 0:
			return nil, fmt.Errorf("data: %v in %d columns: %w", f, c.N, views.ErrShape)
		}
		all[f.Name] = &Statistics{
			from: dataset.Locate(d.Train, i, 0, 0).Name, fixed: d.fixed[f.Name], padded: d.ragged[f.Name] && lengthsOf(d.Train.Fields(), f.Name) < 0,
			inner: c.Inner, moments: make(columnMoments, c.N),
		}
	}
	if d.Val == nil {
		return all, d.measure(ctx, d.Train, all, "in all", o)
	}
	if err := d.measure(ctx, d.Train, all, "in the samples to train on", o); err != nil {
		return nil, err
	}
	val := projected(d.Val, func(f dataset.Field) bool { return all[f.Name] != nil })
	found, err := dataset.FindMissing(ctx, val, o)
	if err == nil {
		err = d.config.RefuseMissing(found, "in the samples to validate on")
	}
	return all, err
}

// projected returns d with the fields that are wanted.
func projected(d dataset.Dataset, wanted func(dataset.Field) bool) dataset.Dataset {
	var fields []int
	for i, f := range d.Fields() {
		if wanted(f) {
			fields = append(fields, i)
		}
	}
	return dataset.Project(d, fields...)
}

// measure adds the samples of one side, which among names in errors, to statistics by field.
func (d *Data) measure(ctx context.Context, side dataset.Dataset, by map[string]*Statistics, among string, o dataset.Options) error {
	side = projected(side, func(f dataset.Field) bool {
		return by[f.Name] != nil || f.Role == dataset.Length && by[f.LengthOf] != nil
	})
	missing := dataset.NewMissingScan(side)
	fields := side.Fields()
	for b, err := range dataset.Load(ctx, side, o.InOrder(side)) {
		if err != nil {
			return err
		}
		for i, f := range fields {
			s := by[f.Name]
			if s == nil {
				continue
			}
			values, err := storage.Read[float64](b.Fields[i])
			if err != nil {
				return err
			}
			found := 0
			if k := lengthsOf(fields, f.Name); k >= 0 && d.ragged[f.Name] {
				found, err = s.addRagged(values, f, b.Fields[k])
			} else {
				found = s.moments.add(values, s.inner)
			}
			if err != nil {
				return err
			}
			if found > 0 {
				missing.Add(i, b.Rows, values)
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.config.RefuseMissing(missing.Found(), among)
}

// addRagged adds rows of different lengths without their padding.
func (s *Statistics) addRagged(values []float64, f dataset.Field, lengths storage.Array) (missing int, err error) {
	each := views.Of(f.Shape...).Len()
	element := each / max(1, f.Shape[0])
	all, err := storage.Read[int64](lengths)
	for k, n := range all {
		missing += s.moments.add(values[k*each:][:int(n)*element], s.inner)
	}
	return missing, err
}

// lengthsOf returns the field of the lengths of an input, or -1.
func lengthsOf(fields []dataset.Field, input string) int {
	return slices.IndexFunc(fields, func(f dataset.Field) bool { return f.Role == dataset.Length && f.LengthOf == input })
}

// Means returns the mean of each column. A column without a finite element is an error.
func (s *Statistics) Means() ([]float64, error) {
	if s.padded {
		return nil, fmt.Errorf("%s: the mean of rows of different lengths would count their padding; set data.lengths, or data.missing: a number: %w", s.from, views.ErrShape)
	}
	means := make([]float64, len(s.moments))
	for k, c := range s.moments {
		if c.n == 0 {
			return nil, fmt.Errorf("%s: column %d has no value in the training samples, and no mean; leave it out, or set data.missing: a number: %w", s.from, k, views.ErrShape)
		}
		means[k] = c.origin + c.mean
	}
	return means, nil
}

// Normalize returns the normalization that gives each column mean 0 and standard deviation 1.
// Columns of categories stay as they are.
func (s *Statistics) Normalize() (Normalize, error) {
	n, err := s.moments.standardize()
	for k, fixed := range s.fixed {
		if fixed && k < len(n.Scale) {
			n.Scale[k], n.Shift[k] = 1, 0
		}
	}
	return n, err
}

// columnMoments are the means and squared deviations of columns. Values are counted
// from the first of their column, so that the deviation of a constant is exactly 0.
type columnMoments []struct {
	n, origin, mean, squares float64
}

// add adds rows of all columns, and returns the number of elements that are not finite.
func (m columnMoments) add(values []float64, inner int) (missing int) {
	for k, x := range values {
		if x-x != 0 {
			missing++
			continue
		}
		c := &m[k/inner%len(m)]
		if c.n == 0 {
			c.origin = x
		}
		x -= c.origin
		c.n++ // Welford, Technometrics 4 (1962)
		delta := x - c.mean
		c.mean += delta / c.n
		c.squares += delta * (x - c.mean)
	}
	return missing
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

// IsRagged reports whether the rows of an input have different lengths, and are padded.
func (d *Data) IsRagged(input string) bool { return d.ragged[input] }

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
	x := dataset.Project(d.Train, i)
	o.BatchSize, o.Rank, o.WorldSize = min(256, dataset.PassBatch(x)), 0, 0
	for b, err := range dataset.Load(ctx, x, o) {
		if err != nil {
			return Normalize{}, err
		}
		values, err := storage.Read[float64](b.Fields[0])
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
