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
	Notes []string        // what the user should know

	labels dataset.Dataset // the ys of all that is trained on, or split off it
}

// NewData pairs up arrays as c says. Rows and splits that look into files are for OpenData.
func NewData(c Config, a Arrays) (*Data, error) {
	if len(c.Data.Rows)+len(c.Data.ValRows) > 0 || c.Data.Split.Attribute != "" || c.Data.Split.Mask != "" {
		return nil, fmt.Errorf("data: rows, attributes and masks are found in files; use OpenData: %w", storage.ErrState)
	}
	training := []*part{{xPath: c.Data.X, yPath: c.Data.Y, x: a.X, y: a.Y}}
	var validation []*part
	if a.ValX.Data != nil {
		validation = []*part{{xPath: c.Data.ValX, yPath: c.Data.ValY, x: a.ValX, y: a.ValY}}
	}
	for _, p := range append(training, validation...) {
		if err := p.pairs(); err != nil {
			return nil, err
		}
	}
	return c.data(nil, training, validation)
}

// OpenData finds what c names in files, filters and splits it as c says.
func OpenData(c Config, files Files) (*Data, error) {
	training, err := c.Data.parts(files, c.Data.training())
	if err != nil {
		return nil, err
	}
	var validation []*part
	if c.Data.ValX != "" {
		if validation, err = c.Data.parts(files, c.Data.validation()); err != nil {
			return nil, err
		}
	}
	return c.data(files, training, validation)
}

// data makes samples of parts.
func (c Config) data(files Files, training, validation []*part) (*Data, error) {
	d := &Data{}
	long, err := c.Data.long(training)
	if short := len(training) - len(long); short > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %d episodes are shorter than %d steps, and left out", short, len(training), c.Data.Steps))
	}
	if err == nil {
		d.labels, err = chain(long, c.Data.labels)
	}
	if err == nil {
		err = d.pick(c, files, long, validation)
	}
	if err == nil {
		err = d.check(c)
	}
	return d, err
}

// pick makes samples of the sides that c divides parts into.
func (d *Data) pick(c Config, files Files, training, validation []*part) error {
	split := c.Data.Split
	if split.Fraction > 0 && c.Data.Steps < 2 { // each sample for itself
		all, err := chain(training, c.Data.sample)
		if err == nil {
			d.Train, d.Val, err = dataset.Split(all, split.Fraction, c.Seed)
		}
		return err
	}
	var err error
	if split != (Split{}) {
		training, validation, err = split.divide(files, training, c.Seed)
	} else {
		validation, err = c.Data.long(validation)
	}
	if err == nil {
		d.Train, err = chain(training, c.Data.sample)
	}
	if err == nil && len(validation) > 0 {
		d.Val, err = chain(validation, c.Data.sample)
	}
	return err
}

// check refuses sides that are empty or unlike.
func (d *Data) check(c Config) error {
	n := d.Train.Len()
	switch {
	case d.Val == nil && n == 0:
		return fmt.Errorf("%s has no samples, or none were picked: %w", c.Data.X, views.ErrShape)
	case d.Val == nil:
		return nil
	case n == 0 || d.Val.Len() == 0:
		return fmt.Errorf("%d samples to train on and %d to validate on; want some of both: %w", n, d.Val.Len(), views.ErrShape)
	}
	if have, want := d.Val.Fields()[0], d.Train.Fields()[0]; !alike(have, want) {
		return fmt.Errorf("%s holds samples of %v%v, %s of %v%v; they must be alike: %w", c.Data.ValX, have.Type, have.Shape, c.Data.X, want.Type, want.Shape, views.ErrShape)
	}
	return nil
}

// mostClasses is how many classes labels may be taken to mean without being told.
const mostClasses = 1 << 16

// outputs returns how many numbers a model must say about each sample: one for
// each class in the labels, or as many as y has.
func (d *Data) outputs(ctx context.Context, c Config) (int, error) {
	y := d.labels.Fields()[0]
	size := views.Of(y.Shape...).Len()
	if c.Classes > 0 {
		return c.Classes, nil
	}
	if !c.takesLabels() && !c.Data.OneHot {
		return size, nil
	}
	if !y.Type.IsInt() || size != 1 {
		who := "cross_entropy"
		if c.Data.OneHot {
			who = "one_hot"
		}
		return 0, fmt.Errorf("%s is %v%v a sample; %s wants one integer label a sample: %w", c.Data.Y, y.Type, y.Shape, who, dtype.ErrType)
	}
	largest := int64(0)
	o := c.loading()
	o.Shuffle, o.Window, o.Batch = dataset.None, 0, min(1<<16, max(1, d.labels.Len()))
	for b, err := range dataset.Load(ctx, d.labels, o) {
		if err != nil {
			return 0, err
		}
		labels, err := storage.Read[int64](b.Fields[0])
		if err != nil {
			return 0, err
		}
		for i, label := range labels {
			if label < 0 || label >= mostClasses {
				return 0, fmt.Errorf("%s: label %d of sample %d; want 0 to %d, or say how many classes there are: %w", c.Data.Y, label, b.Rows[i], mostClasses-1, views.ErrShape)
			}
			largest = max(largest, label)
		}
	}
	return int(largest) + 1, nil
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
	return standard([]float64{mean}, []float64{deviation})
}

// loading returns how c wants samples loaded.
func (c Config) loading() dataset.Options {
	shuffle, _ := shuffleOf(c.Data.Shuffle) // Check has seen it
	return dataset.Options{Batch: c.Batch, Shuffle: shuffle, Window: c.Data.Window, Seed: c.Seed, Memory: c.Data.Memory << 20}
}
