package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Data is samples to train and to validate on.
type Data = dataconfig.Data

// Arrays are inputs and targets to train on, and to validate on, which may be
// missing.
type Arrays struct{ X, Y, ValX, ValY storage.Array }

// NewData makes data of arrays as c says. It opens no file: those that c names are what the run
// file will name. Rows and splits that look into files are for OpenData, several inputs for
// [dataconfig.New].
func NewData(c Config, a Arrays) (*Data, error) {
	var val []dataset.NamedArray
	if a.ValX.Data != nil {
		val = pair(a.ValX, a.ValY)
	}
	return dataconfig.New(c.Data, c.Seed, pair(a.X, a.Y), val)
}

func pair(x, y storage.Array) []dataset.NamedArray {
	return []dataset.NamedArray{{Name: "x", Array: x}, {Name: "y", Array: y, Role: dataset.Target}}
}

// OpenData finds in files what c names, and selects and splits it as c says.
func OpenData(c Config, files dataconfig.Files) (*Data, error) {
	return dataconfig.Open(c.Data, c.Seed, files)
}

// labelRange is the labels that a target has.
type labelRange struct {
	target      string
	least, most int // 0, -1 if they were not counted
}

// outputSize returns how many numbers a model must give for each sample: one for
// each class in the labels, or as many as a target has. Labels are counted unless c has their number.
func outputSize(ctx context.Context, d *Data, c Config) (int, labelRange, error) {
	y := d.Targets()[0]
	labels := labelRange{y.Name, 0, -1}
	if c.Classes > 0 {
		return c.Classes, labels, nil
	}
	if !c.takesLabels(y.Name) && !c.Data.OneHot {
		return views.Of(y.Shape...).Len(), labels, nil
	}
	missing := c.Data.Missing.ForTarget(y.Name) == dataconfig.Ignore
	if y.Type.IsFloat() && !missing && len(y.Shape) > 0 && y.Shape[0] > 1 { // probabilities
		return y.Shape[0], labels, nil
	}
	who := "cross_entropy"
	if c.Data.OneHot {
		who = "one_hot"
	}
	if err := checkLabels(who, y, nil, missing); err != nil {
		return 0, labels, err
	}
	n, least, err := d.CountClasses(ctx, y.Name, c.ignoredLabel(y.Name), c.loading())
	if err != nil {
		return 0, labels, fmt.Errorf("%s needs labels: %v: %w", who, c.Data.Y, err)
	}
	names := len(d.ClassNames[y.Name])
	if names > 0 && n > names {
		return 0, labels, fmt.Errorf("class_names: %d names for the %d classes of %s: %w", names, n, y.Name, views.ErrShape)
	}
	labels.least, labels.most = least, n-1
	return max(n, names), labels, nil
}

// renumbering says how labels that do not begin with 0 become classes.
func (l labelRange) renumbering() string {
	return fmt.Sprintf(`class_names: ["%d", …, "%d"] makes them the classes 0 to %d`, l.least, l.most, l.most-l.least)
}

// checkLabelRange returns an error if labels are more than the model has outputs for, and notes labels that do not
// begin with 0.
func (r *Run) checkLabelRange(l labelRange, outputs [][]int) error {
	if l.most < 0 || r.Config.Data.OneHot {
		return nil
	}
	i := max(0, slices.Index(r.targets, l.target))
	have := 0
	if i < len(outputs) && len(outputs[i]) > 0 {
		have = outputs[i][0]
	}
	switch {
	case have > 0 && l.most >= have && l.least > 0:
		return fmt.Errorf("train: the labels of %s count from %d to %d, and the model has %d outputs, for the labels 0 to %d; %s: %w", l.target, l.least, l.most, have, have-1, l.renumbering(), views.ErrShape)
	case have > 0 && l.most >= have:
		return fmt.Errorf("train: the labels of %s are 0 to %d, and the model has %d outputs; want one for each class: %w", l.target, l.most, have, views.ErrShape)
	case l.least > 0 && l.most > l.least:
		r.assume("", "", "the labels of %s count from %d to %d, and the output 0 is of no class; %s", l.target, l.least, l.most, l.renumbering())
	}
	return nil
}

// loading returns the options of the loader.
func (c Config) loading() dataset.Options { return c.Data.Loading(c.BatchSize, c.Seed) }
