package train

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dataset"
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

	scale, shift *tensor.Tensor // float64, for each column; nil where nothing changes
}

// targetsFor returns the targets among fields, normalized as c says; what it leaves
// open is automatic.
func targetsFor(c Config, fields []dataset.Field) []Target {
	var all []Target
	for _, f := range fields {
		if f.Role == dataset.Target {
			all = append(all, Target{Name: f.Name, Normalize: c.Data.Normalize.ForTarget(f.Name)})
		}
	}
	return all
}

// savedTargets returns the targets of a run whose configuration is complete. The names,
// if the file has them, are in the order of the outputs, which may not be that of c.
func savedTargets(c Config, names []string) []Target {
	if len(names) == 0 {
		names = c.Data.TargetNames()
	}
	var all []Target
	for _, name := range names {
		t := Target{Name: name, Normalize: c.Data.Normalize.ForTarget(name)}
		if t.IsAuto() {
			t.Normalize = dataconfig.Identity
		}
		all = append(all, t)
	}
	return all
}

// changes reports whether the target is normalized.
func (t Target) changes() bool { return !t.IsAuto() && !t.IsIdentity() }

// On returns t for batches on d, with its numbers there.
func (t Target) On(d storage.Device) (Target, error) {
	if !t.changes() {
		return t, nil
	}
	var err error
	if t.scale, err = constants(t.Scale, dtype.Float64, d); err == nil {
		t.shift, err = constants(t.Shift, dtype.Float64, d)
	}
	return t, err
}

// Of returns the targets y in the units that the model learns.
func (t Target) Of(y *tensor.Tensor) *tensor.Tensor {
	if t.scale == nil {
		return y
	}
	z := t.columns(y.Cast(dtype.Float64)).Mul(t.scale).Add(t.shift)
	return z.Reshape(y.Shape...).Cast(dtype.Float32)
}

// Restore returns outputs of the model in the units of the data, as float64.
func (t Target) Restore(out *tensor.Tensor) *tensor.Tensor {
	if t.scale == nil {
		return out
	}
	return t.columns(out.Cast(dtype.Float64)).Sub(t.shift).Div(t.scale).Reshape(out.Shape...)
}

// columns returns x in rows of the columns that t has numbers for.
func (t Target) columns(x *tensor.Tensor) *tensor.Tensor {
	n := t.scale.Len()
	if x.Len()%n != 0 {
		tensor.Fail("normalize", views.ErrShape, "%d numbers for %s of %v", n, t.Name, x.Shape[1:])
	}
	return x.Reshape(x.Len()/n, n)
}

// Regresses reports whether the loss compares values, which may be normalized.
func (r *Run) Regresses() bool { return nn.IsRegression(r.loss) && !r.Config.Data.OneHot }

// restores reports whether a target of r is normalized.
func (r *Run) restores() bool {
	for _, t := range r.Targets {
		if t.scale != nil {
			return true
		}
	}
	return false
}

// inDataUnits returns the outputs, the targets and the loss as metrics count them: in the
// units of the data.
func (r *Run) inDataUnits(e example, outputs, targets []*tensor.Tensor, loss *tensor.Tensor) (_, _ []*tensor.Tensor, _ *tensor.Tensor) {
	if !r.restores() {
		return outputs, targets, loss
	}
	restored, given := make([]*tensor.Tensor, len(outputs)), make([]*tensor.Tensor, len(outputs))
	for i, out := range outputs {
		restored[i], given[i] = out.Detach(), targets[i]
		if t := r.Targets[i]; t.scale != nil {
			restored[i] = t.Restore(restored[i])
			given[i] = e.targets[i].Cast(dtype.Float64).Reshape(out.Shape...)
		}
	}
	return restored, given, r.lossOf(restored, given, e.weights)
}

// CheckTargets returns an error if the targets of data are the names of classes and the
// loss compares numbers, or if targets are normalized that are not numbers.
func (r *Run) CheckTargets(data *Data) error {
	for _, t := range r.Targets {
		if names := data.ClassNames[t.Name]; len(names) > 0 && !r.Classifies() && !r.Config.Data.OneHot {
			return fmt.Errorf("the loss %v compares numbers, and %s holds the names of %d classes; use cross_entropy, or one_hot: %w", r.Config.Loss, t.Name, len(names), dtype.ErrType)
		}
		if t.changes() && !r.Regresses() {
			return fmt.Errorf("normalize: %s is not a target of a regression: %w", t.Name, dtype.ErrType)
		}
	}
	return nil
}
