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
// must be one integer for each sample. It reads all of them, loaded as o says.
func (d *Data) CountClasses(ctx context.Context, target string, o dataset.Options) (int, error) {
	i := slices.IndexFunc(d.Targets(), func(f dataset.Field) bool { return f.Name == target })
	if i < 0 {
		return 0, fmt.Errorf("data: no target %q: %w", target, views.ErrShape)
	}
	if y := d.Targets()[i]; !y.Type.IsInt() || views.Of(y.Shape...).Len() != 1 {
		return 0, fmt.Errorf("%v; want one integer label for each sample: %w", y, dtype.ErrType)
	}
	largest := int64(0)
	o.Shuffle, o.Window, o.Batch, o.Rank, o.World = dataset.None, 0, min(1<<16, max(1, d.targets.Len())), 0, 0
	for b, err := range dataset.Load(ctx, d.targets, o) {
		if err != nil {
			return 0, err
		}
		labels, err := storage.Read[int64](b.Fields[i])
		if err != nil {
			return 0, err
		}
		for k, label := range labels {
			if label < 0 || label >= maxClasses {
				return 0, fmt.Errorf("%s: label %d of sample %d; want 0 to %d, or set the number of classes: %w", target, label, b.Rows[k], maxClasses-1, views.ErrShape)
			}
			largest = max(largest, label)
		}
	}
	return int(largest) + 1, nil
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
