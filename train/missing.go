package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// needsMeans reports whether missing values of an input are filled with means that the
// training samples are to tell.
func (r *Run) needsMeans(f Feature) bool {
	m := r.Config.Data.Missing.For(f.Name)
	return m.NeedsMeans() && m.Fill == nil && f.Type.IsFloat() && !f.asIs
}

// meanColumns returns the columns, or channels, of an input that have a mean each: those of
// Normalize's lists.
func (r *Run) meanColumns(data *Data, f Feature) dataconfig.Columns {
	n, table := data.Columns(f.Name)
	rank := len(f.Shape)
	switch {
	case f.AddChannel || data.IsRagged(f.Name) && rank == 1:
		return dataconfig.Columns{N: 1, Inner: 1}
	case table:
		return dataconfig.Columns{N: n, Inner: 1}
	case f.images && rank == 3 && !f.ChannelsLast:
		return dataconfig.Columns{N: f.Shape[0], Inner: f.Shape[1] * f.Shape[2]}
	}
	return dataconfig.Columns{N: f.Shape[rank-1], Inner: 1}
}

// setFills completes the configuration and the inputs by the means that fill missing values.
func (r *Run) setFills(statistics map[string]*dataconfig.Statistics) error {
	given := r.Config.Data.Missing
	if given.IsZero() {
		return nil
	}
	rules := map[string]dataconfig.Missing{}
	for i := range r.Inputs {
		f := &r.Inputs[i]
		if f.asIs {
			continue
		}
		m := given.For(f.Name)
		if s := statistics[f.Name]; m.NeedsMeans() && m.Fill == nil && s != nil {
			means, err := s.Means()
			if err != nil {
				return err
			}
			m.Fill = means
		}
		rules[f.Name], f.Missing = m, m
	}
	for _, t := range r.Targets {
		if rule := given.ForTarget(t.Name); rule != dataconfig.Refuse {
			rules[t.Name] = dataconfig.Missing{Rule: rule}
		}
	}
	if r.Config.Data.Missing = (dataconfig.Missing{Fields: rules}); len(rules) == 1 {
		for _, only := range rules {
			r.Config.Data.Missing = only
		}
	}
	return nil
}

// checkEvaluated returns an error if the loss of an evaluation on d is infinite or NaN. It
// names the value that is missing, if there is one.
func (r *Run) checkEvaluated(ctx context.Context, m Metrics, d dataset.Dataset) error {
	if isFinite(m.Loss) {
		return nil
	}
	found, err := dataset.FindMissing(ctx, d, r.Config.loading())
	if err == nil {
		err = r.Config.Data.RefuseMissing(found, "in all")
	}
	if err == nil {
		err = fmt.Errorf("no value is missing; lower the learning rate, or look for large values: %w", storage.ErrState)
	}
	return fmt.Errorf("evaluate: the loss is %v: %w", m.MeanLoss(), err)
}

// refuse returns an error if missing values of f are not filled, or infinite.
func (f Feature) refuse(m dataset.Missing, among string) error {
	e := &dataconfig.MissingError{Found: m, Among: among}
	switch {
	case m.NaN > 0 && len(f.Missing.Fill) == 0:
		e.Way = "the model was trained without missing values; fill it, or leave these rows out"
	case m.Inf > 0:
		e.Found.NaN, e.Way = 0, "infinities are never filled; replace them, or leave these rows out"
	default:
		return nil
	}
	return fmt.Errorf("predict: %w", e)
}

// checkMissing returns a check of batches of d for values that the inputs of p refuse.
func (p *Predictor) checkMissing(d dataset.Dataset, by binding) batchCheck {
	return func(b *dataset.Batch) error {
		for i, k := range by.inputs {
			finite, err := dataset.IsFinite(b.Fields[k])
			if err != nil {
				return err
			}
			if finite {
				continue
			}
			values, err := storage.Read[float64](b.Fields[k])
			if err != nil {
				return err
			}
			scan := dataset.NewMissingScan(d)
			scan.Add(k, b.Rows, values)
			if err := p.features[i].refuse(scan.Found()[0], "in this batch"); err != nil {
				return err
			}
		}
		return nil
	}
}

// checkArray is checkMissing of samples in an array, the first of which has a number. The rows
// before them are not known, so that previous values fill nothing.
func (f Feature) checkArray(x storage.Array, first int) error {
	if _, streams := x.Data.Device().(storage.AsyncDevice); streams {
		return nil
	}
	finite, err := dataset.IsFinite(x)
	if finite || err != nil {
		return err
	}
	if x, err = x.To(storage.CPU); err != nil {
		return err
	}
	d, err := dataset.FromArrays(dataset.NamedArray{Name: f.Name, Array: x, From: dataset.Origin{Row: first}})
	if err != nil {
		return err
	}
	found, err := dataset.FindMissing(context.Background(), d, dataset.Options{})
	if err != nil {
		return err
	}
	if f.Missing.Rule == dataconfig.Previous {
		f.Missing.Fill = nil
	}
	return f.refuse(found[0], "in this batch")
}

// ignoresMissing reports whether missing values of a target do not count.
func (r *Run) ignoresMissing(target int) bool {
	return target < len(r.Targets) && r.Targets[target].Missing == dataconfig.Ignore
}

// present returns the values y of a target and their weights, given those of samples. Where
// missing values do not count, their weight is 0. Labels that are missing are
// dataconfig.MissingLabel, which the loss ignores.
func (r *Run) present(target int, y, weights *tensor.Tensor) (_, counted *tensor.Tensor) {
	if !r.ignoresMissing(target) {
		return y, weights
	}
	labels := r.classifies(target) || r.Config.Data.OneHot
	if y.DType().IsFloat() {
		there, value := y.Eq(y), 0.0
		if labels {
			value = dataconfig.MissingLabel
		}
		y = tensor.Where(there, y, there.Cast(y.DType()).MulScalar(0).AddScalar(value))
		if !labels {
			return y, weighted(weights, there.Cast(dtype.Float32))
		}
		y = y.Cast(dtype.Int64)
	}
	if r.Config.Data.OneHot {
		return y, weighted(weights, perSample(isLabel(y, dataconfig.MissingLabel).MulScalar(-1).AddScalar(1)))
	}
	return y, weights
}

// weighted returns a mask of elements with the weights, nil or of the leading axes.
func weighted(weights, mask *tensor.Tensor) *tensor.Tensor {
	if weights == nil {
		return mask
	}
	shape := slices.Concat(weights.Shape(), slices.Repeat([]int{1}, max(0, mask.Rank()-weights.Rank())))
	return mask.Mul(weights.Cast(dtype.Float32).Reshape(shape...))
}

// isLabel returns 1 for labels of that number and 0 for others.
func isLabel(labels *tensor.Tensor, label int) *tensor.Tensor {
	return labels.Cast(dtype.Float64).AddScalar(-float64(label)).Eq(labels.Cast(dtype.Float64).MulScalar(0)).Cast(dtype.Float32)
}

// withoutLabel returns labels with 0 in the place of one.
func withoutLabel(labels *tensor.Tensor, label int) *tensor.Tensor {
	others := isLabel(labels, label).MulScalar(-1).AddScalar(1).Cast(dtype.Int64)
	return labels.Cast(dtype.Int64).Mul(others)
}

// newLoss returns the loss of c. If missing labels do not count, it ignores
// dataconfig.MissingLabel.
func (c Config) newLoss() (nn.Loss, error) {
	loss, err := nn.LossFromConfig(c.Loss)
	if err != nil {
		return nil, err
	}
	return ignoringMissing(loss, c.ignoresMissing())
}

// ignoringMissing returns the loss, which ignores dataconfig.MissingLabel if it is of labels and missing ones
// do not count.
func ignoringMissing(loss nn.Loss, ignores bool) (nn.Loss, error) {
	if !nn.TakesLabels(loss) || !ignores {
		return loss, nil
	}
	if ignored := nn.IgnoredLabel(loss); ignored != nil && *ignored != dataconfig.MissingLabel {
		return nil, config.Errorf("ignore_index is %d and missing labels are %d; leave out ignore_index, or data.missing: ignore", *ignored, dataconfig.MissingLabel)
	}
	return nn.IgnoreLabel(loss, dataconfig.MissingLabel)
}

// ignoresMissing reports whether missing values of some target do not count.
func (c Config) ignoresMissing() bool {
	return slices.ContainsFunc(c.Data.TargetNames(), func(name string) bool { return c.Data.Missing.ForTarget(name) == dataconfig.Ignore })
}
