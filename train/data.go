package train

import (
	"context"
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Arrays are what a model is trained on: inputs, what it should say of them, and
// the same to validate on, which may be missing.
type Arrays struct{ X, Y, ValX, ValY storage.Array }

// Data is samples of two fields, x and y.
type Data struct {
	Train dataset.Dataset
	Val   dataset.Dataset // nil if there is nothing to validate on

	y storage.Array
}

// NewData pairs up arrays as c says.
func NewData(c Config, a Arrays) (*Data, error) {
	d := &Data{y: a.Y}
	var err error
	if d.Train, err = Pair(c.Data.X, a.X, c.Data.Y, a.Y); err != nil {
		return nil, err
	}
	if d.Train.Len() == 0 {
		return nil, fmt.Errorf("%s has no samples: %w", c.Data.X, views.ErrShape)
	}
	if c.Data.Split > 0 {
		d.Train, d.Val, err = dataset.Split(d.Train, c.Data.Split, c.Seed)
		return d, err
	}
	if a.ValX.Data == nil {
		return d, nil
	}
	if d.Val, err = Pair(c.Data.ValX, a.ValX, c.Data.ValY, a.ValY); err != nil {
		return nil, err
	}
	if have, want := d.Val.Fields()[0], d.Train.Fields()[0]; fmt.Sprint(have) != fmt.Sprint(want) {
		return nil, fmt.Errorf("%s holds samples of %v%v, %s of %v%v; they must be alike: %w", c.Data.ValX, have.Type, have.Shape, c.Data.X, want.Type, want.Shape, views.ErrShape)
	}
	return d, nil
}

// Pair returns the dataset whose samples are an element of x and one of y.
// Names are for errors.
func Pair(xName string, x storage.Array, yName string, y storage.Array) (dataset.Dataset, error) {
	if x.Rank() == 0 || y.Rank() == 0 || x.Shape[0] != y.Shape[0] {
		return nil, fmt.Errorf("%s is %v and %s is %v; want the same number of samples along the first axis: %w", xName, x.Shape, yName, y.Shape, views.ErrShape)
	}
	return dataset.Of(dataset.Named{Name: "x", Array: x}, dataset.Named{Name: "y", Array: y})
}

// mostClasses is how many classes labels may be taken to mean without being told.
const mostClasses = 1 << 16

// outputs returns how many numbers a model must say about each sample: one for
// each class in the labels, or as many as y has.
func (d *Data) outputs(c Config) (int, error) {
	if c.Classes > 0 {
		return c.Classes, nil
	}
	if c.Loss != "cross_entropy" {
		return views.Of(d.y.Shape[1:]...).Len(), nil
	}
	if !d.y.Type.IsInt() || d.y.Len() != d.y.Shape[0] {
		return 0, fmt.Errorf("%s is %v%v; cross_entropy wants one integer label a sample: %w", c.Data.Y, d.y.Type, d.y.Shape, dtype.ErrType)
	}
	largest := int64(0)
	err := inParts(d.y, func(labels []int64, first int) error {
		for i, label := range labels {
			if label < 0 || label >= mostClasses {
				return fmt.Errorf("%s: label %d of sample %d; want 0 to %d, or say how many classes there are: %w", c.Data.Y, label, first+i, mostClasses-1, views.ErrShape)
			}
			largest = max(largest, label)
		}
		return nil
	})
	return int(largest) + 1, err
}

// inParts hands a's elements to f as int64s, a part at a time.
func inParts(a storage.Array, f func(elems []int64, first int) error) error {
	const part = 1 << 20
	for first := 0; first < a.Shape[0]; first += part {
		v, err := a.View.Slice(0, first, min(first+part, a.Shape[0]), 1)
		if err != nil {
			return err
		}
		ints, err := storage.Make(storage.CPU, dtype.Int64, v.Shape...)
		if err == nil {
			err = a.With(v).CopyTo(ints)
		}
		if err == nil {
			err = f(storage.Elements[int64](ints), first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// surveyed is how many bytes of samples normalize looks at.
const surveyed = 64 << 20

// normalize returns what makes numbers like x's of mean 0 and deviation 1, if
// they are integers; floats are taken to be what they should be.
func (d *Data) normalize(ctx context.Context, c Config) (Normalize, error) {
	x := d.Train.Fields()[0]
	switch {
	case x.Type.IsFloat():
		return identity, nil
	case !x.Type.IsInt() && x.Type != dtype.Bool:
		return Normalize{}, fmt.Errorf("%s holds %v; want numbers: %w", c.Data.X, x.Type, dtype.ErrType)
	}
	var n, sum, squares float64
	o := c.loading()
	o.Seed, o.Batch = c.Seed, min(256, d.Train.Len())
	for b, err := range dataset.Load(ctx, d.Train, o) {
		if err != nil {
			return Normalize{}, err
		}
		wide, err := storage.Make(storage.CPU, dtype.Float64, b.Fields[0].Shape...)
		if err == nil {
			err = b.Fields[0].CopyTo(wide)
		}
		if err != nil {
			return Normalize{}, err
		}
		for _, v := range storage.Elements[float64](wide) {
			n, sum, squares = n+1, sum+v, squares+v*v
		}
		if int(n)*x.Type.Size() > surveyed {
			break
		}
	}
	mean := sum / n
	deviation := math.Sqrt(max(0, squares/n-mean*mean))
	if n == 0 || deviation == 0 {
		return identity, nil
	}
	return standard(mean, deviation), nil
}

// loading returns how c wants samples loaded.
func (c Config) loading() dataset.Options {
	shuffle, _ := shuffleOf(c.Data.Shuffle) // Check has seen it
	return dataset.Options{Batch: c.Batch, Shuffle: shuffle, Window: c.Data.Window, Seed: c.Seed, Memory: c.Data.Memory << 20}
}
