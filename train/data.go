package train

import (
	"context"
	"fmt"

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
	var val []dataset.Named
	if a.ValX.Data != nil {
		val = pair(a.ValX, a.ValY)
	}
	return dataconfig.New(c.Data, c.Seed, pair(a.X, a.Y), val)
}

func pair(x, y storage.Array) []dataset.Named {
	return []dataset.Named{{Name: "x", Array: x}, {Name: "y", Array: y, Role: dataset.Target}}
}

// OpenData finds in files what c names, and selects and splits it as c says.
func OpenData(c Config, files dataconfig.Files) (*Data, error) {
	return dataconfig.Open(c.Data, c.Seed, files)
}

// outputSize returns how many numbers a model must give for each sample: one for
// each class in the labels, or as many as a target has.
func outputSize(ctx context.Context, d *Data, c Config) (int, error) {
	y := d.Targets()[0]
	if c.Classes > 0 {
		return c.Classes, nil
	}
	if !c.takesLabels() && !c.Data.OneHot {
		return views.Of(y.Shape...).Len(), nil
	}
	n, err := d.CountClasses(ctx, y.Name, c.ignoredLabel(), c.loading())
	if err != nil {
		who := "cross_entropy"
		if c.Data.OneHot {
			who = "one_hot"
		}
		return 0, fmt.Errorf("%s needs labels: %v: %w", who, c.Data.Y, err)
	}
	names := len(d.ClassNames[y.Name])
	if names > 0 && n > names {
		return 0, fmt.Errorf("class_names: %d names for the %d classes of %s: %w", names, n, y.Name, views.ErrShape)
	}
	return max(n, names), nil
}

// loading returns the options of the loader.
func (c Config) loading() dataset.Options { return c.Data.Loading(c.Batch, c.Seed) }
