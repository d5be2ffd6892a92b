package train

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Target is a field that an output of the model is compared with. The targets of a
// regression may be normalized: the model then learns Scale·y + Shift, and its
// outputs are converted back for metrics and predictions.
type Target struct {
	Name string
	dataconfig.Normalize
	Missing string // dataconfig.Ignore if missing values do not count

	scale, shift  *tensor.Tensor // float64, for each column or channel; nil where nothing changes
	channelsFirst bool           // samples of three axes are images (C, H, W)
}

// targetsFor returns the named targets, normalized as c says; what it leaves open is automatic.
func (r *Run) targetsFor(names []string) []Target {
	first := r.Config.Data.Layout != "nhwc" && slices.ContainsFunc(r.Inputs, func(f Feature) bool { return nn.SpatialAxes(r.Model, f.Name) == 2 })
	all := make([]Target, len(names))
	for i, name := range names {
		all[i] = Target{Name: name, Normalize: r.Config.Data.Normalize.ForTarget(name), Missing: r.Config.Data.Missing.ForTarget(name), channelsFirst: first}
	}
	return all
}

// loadTargets finds the targets of a run whose configuration is complete. Names that its file has are in the order of
// the outputs.
func (r *Run) loadTargets() {
	if names, err := orderTargets(r.Model, r.Config.Data.TargetNames()); len(r.targets) == 0 && err == nil {
		r.targets = names
	}
	r.Targets = r.targetsFor(r.targets)
	for i := range r.Targets {
		if t := &r.Targets[i]; t.IsAuto() {
			t.Normalize = dataconfig.Identity
		}
	}
}

// changes reports whether the target is normalized.
func (t Target) changes() bool { return !t.IsAuto() && !t.IsIdentity() }

// To returns t for batches on d, with its numbers there.
func (t Target) To(d storage.Device) (Target, error) {
	if !t.changes() {
		return t, nil
	}
	var err error
	if t.scale, err = constants(t.Scale, dtype.Float64, d); err == nil {
		t.shift, err = constants(t.Shift, dtype.Float64, d)
	}
	return t, err
}

// Apply returns the targets y in the units that the model learns.
func (t Target) Apply(y *tensor.Tensor) *tensor.Tensor {
	if t.scale == nil {
		return y
	}
	x, scale, shift := t.columns(y.Cast(dtype.Float64))
	return x.Mul(scale).Add(shift).Reshape(y.Shape()...).Cast(dtype.Float32)
}

// Restore returns outputs of the model, in the axes of the data, in the units of the data, as float64.
func (t Target) Restore(out *tensor.Tensor) *tensor.Tensor {
	if t.scale == nil {
		return out
	}
	x, scale, shift := t.columns(out.Cast(dtype.Float64))
	return x.Sub(shift).Div(scale).Reshape(out.Shape()...)
}

// axis returns the axis of a sample of that many axes that t has numbers for: the channels of
// images, else the last.
func (t Target) axis(rank int) int {
	if t.channelsFirst && rank == 3 {
		return 0
	}
	return rank - 1
}

// columns returns x and the scale and shift of each of its columns or channels, which broadcast to it. An x of
// another shape, of which no file has the axes, is taken as rows of the columns.
func (t Target) columns(x *tensor.Tensor) (_, scale, shift *tensor.Tensor) {
	n, axis := t.scale.Len(), t.axis(x.Rank()-1)+1
	if n == 1 {
		return x, t.scale, t.shift
	}
	if x.Len()%n != 0 {
		tensor.Fail("normalize", views.ErrShape, "%d numbers for %s of %v", n, t.Name, x.Shape()[1:])
	}
	if axis == 0 || x.Shape()[axis] != n {
		return x.Contiguous().Reshape(x.Len()/n, n), t.scale, t.shift
	}
	shape := slices.Repeat([]int{1}, x.Rank()-axis)
	shape[0] = n
	return x, t.scale.Reshape(shape...), t.shift.Reshape(shape...)
}

// regresses reports whether the loss of a target compares values, which may be normalized.
func (r *Run) regresses(target int) bool {
	return nn.IsRegression(r.lossOf(target).Loss) && !r.Config.Data.OneHot
}

// Regresses reports whether the loss of the first target compares values, which may be normalized.
func (r *Run) Regresses() bool { return r.regresses(0) }

// restores reports whether a target of r is normalized.
func (r *Run) restores() bool {
	for _, t := range r.Targets {
		if t.scale != nil {
			return true
		}
	}
	return false
}

// measure adds the outputs and targets of c to set, in the axes and units of the data, and returns the loss in
// these units.
func (r *Run) measure(c comparison, set metricSet) (loss *tensor.Tensor) {
	outputs, targets, weights := make([]*tensor.Tensor, len(c.outputs)), make([]*tensor.Tensor, len(c.outputs)), make([]*tensor.Tensor, len(c.outputs))
	for i, a := range c.arrangements {
		outputs[i], targets[i], weights[i] = a.ofData(c.outputs[i].Detach()), a.ofData(c.compared[i]), c.counted[i]
		if i < len(r.Targets) && r.Targets[i].scale != nil {
			outputs[i] = r.Targets[i].Restore(outputs[i])
			targets[i] = c.targets[i].Cast(dtype.Float64).Reshape(outputs[i].Shape()...)
		}
	}
	losses := c.losses
	if loss = c.loss; r.restores() {
		losses = append(r.lossesOf(outputs, targets, weights), c.added...)
		loss = sumOf(losses)
	}
	for i, y := range targets { // metrics know classes only; ignored labels have the weight 0
		if ignore := nn.IgnoredLabel(r.lossOf(i).Loss); ignore != nil && y.DType().IsInt() && len(set.metrics) > 0 {
			targets[i] = withoutLabel(y, *ignore)
		}
	}
	n := outputs[0].Shape()[0]
	for i, y := range targets {
		if e, is := r.lossOf(i).Loss.(nn.Estimator); is {
			outputs[i] = e.Estimate(outputs[i]).Contiguous().Reshape(y.Shape()...)
		}
	}
	set.update(outputs, targets, r.countWeights(c))
	if weighs(losses) {
		set.loss.add(losses, n)
	}
	if r.restores() {
		set.standardized.add(c.losses, n)
	}
	return loss
}

// CheckTargets returns an error if the targets of data are the names of classes and the
// loss compares numbers, or if targets are normalized that are not numbers.
func (r *Run) CheckTargets(data *Data) error {
	for i, t := range r.Targets {
		if names := data.ClassNames[t.Name]; len(names) > 0 && !r.classifies(i) && !r.Config.Data.OneHot {
			return fmt.Errorf("the loss %v compares numbers, and %s holds the names of %d classes; use cross_entropy, or one_hot: %w", cmp.Or(r.Config.Targets[t.Name].Loss, r.Config.Loss), t.Name, len(names), dtype.ErrType)
		}
		if t.changes() && !r.regresses(i) {
			return fmt.Errorf("normalize: %s is not a target of a regression: %w", t.Name, dtype.ErrType)
		}
	}
	return nil
}
