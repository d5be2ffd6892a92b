package train

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Feature is an input of a model: a field of the samples and how it is prepared. The
// lengths of an input are a feature too, where the model takes them.
type Feature struct {
	Name  string // of the field
	Type  dtype.Type
	Shape []int // of a sample, in the data
	Input
}

// A featureText is a Feature in a run file. How it is prepared follows from the
// configuration.
type featureText struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
}

// MarshalJSON writes the name, type and shape.
func (f Feature) MarshalJSON() ([]byte, error) {
	return json.Marshal(featureText{f.Name, f.Type.String(), f.Shape})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Feature) UnmarshalJSON(text []byte) (err error) {
	var t featureText
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	*f = Feature{Name: t.Name, Shape: t.Shape}
	if f.Type, err = dtype.Parse(t.Type); err == nil && slices.ContainsFunc(t.Shape, func(n int) bool { return n < 0 }) {
		err = fmt.Errorf("shape %v: %w", t.Shape, views.ErrShape)
	}
	return err
}

// inputName is the name that a model may know a field by.
func inputName(f dataset.Field) string { return plainName(f.Name) }

// plainName returns name without spaces, as names in models are.
func plainName(name string) string { return strings.ReplaceAll(name, " ", "_") }

// featuresFor returns the features that model takes of samples of fields: its inputs
// by name, if it names several, or else all fields that are inputs, in order.
func featuresFor(model nn.Module, fields []dataset.Field) ([]Feature, error) {
	s, err := dataset.SchemaOf(fields)
	if err != nil {
		return nil, err
	}
	taken := s.Inputs
	if named, ok := model.(nn.NamedInputs); ok && (len(named.InputNames()) != 1 || len(s.Inputs) != 1) {
		if taken, err = fieldsByName(named.InputNames(), fields, s); err != nil {
			return nil, err
		}
	}
	features := make([]Feature, len(taken))
	for i, k := range taken {
		features[i] = Feature{Name: fields[k].Name, Type: fields[k].Type, Shape: fields[k].Shape}
	}
	return features, nil
}

// fieldsByName returns the fields of the named inputs, which have to be all fields that
// are inputs, and may be lengths.
func fieldsByName(names []string, fields []dataset.Field, s dataset.Schema) (taken []int, err error) {
	candidates := slices.Clone(s.Inputs)
	for _, k := range s.Lengths {
		if k >= 0 {
			candidates = append(candidates, k)
		}
	}
	var known []string
	for _, k := range candidates {
		known = append(known, inputName(fields[k]))
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("train: the model has an input %q, the data has %q: %w", name, known, views.ErrShape)
		}
		taken = append(taken, candidates[i])
	}
	for _, k := range s.Inputs {
		if !slices.Contains(taken, k) {
			return nil, fmt.Errorf("train: the data has an input %q, the model has %q: %w", inputName(fields[k]), names, views.ErrShape)
		}
	}
	return taken, nil
}

// targetNames returns the names of the fields that are targets.
func targetNames(fields []dataset.Field) (names []string) {
	for _, f := range fields {
		if f.Role == dataset.Target {
			names = append(names, f.Name)
		}
	}
	return names
}

// orderTargets returns the names of targets in the order of the outputs of model that they are compared
// with: targets of the same name, if the model names several, or else in the given order.
func orderTargets(model nn.Module, targets []string) ([]string, error) {
	named, ok := model.(nn.NamedOutputs)
	if !ok || len(named.OutputNames()) == 1 && len(targets) == 1 {
		return targets, nil
	}
	outputs := named.OutputNames()
	ordered := make([]string, len(outputs))
	for i, output := range outputs {
		if k := slices.IndexFunc(targets, func(target string) bool { return plainName(target) == output }); k >= 0 {
			ordered[i] = targets[k]
		}
	}
	if slices.Contains(ordered, "") || len(outputs) != len(targets) {
		return nil, fmt.Errorf("train: the model has the outputs %q and the data the targets %q; give each target the name of its output, as in y: {%s: PATH}: %w",
			outputs, targets, outputs[0], views.ErrShape)
	}
	return ordered, nil
}

// CheckOutputs returns an error if the outputs of r were trained on targets with the names of other outputs: older
// versions took the targets in alphabetical order.
func (r *Run) CheckOutputs() error {
	ordered, err := orderTargets(r.Model, r.targets)
	if err != nil || slices.Equal(ordered, r.targets) {
		return nil // other names are those of a file that an older version wrote
	}
	return fmt.Errorf("train: an older version trained the outputs %q on the targets %q, in this order; train the run again: %w",
		r.Model.(nn.NamedOutputs).OutputNames(), r.targets, storage.ErrState)
}

// targetsByName returns the fields that are the named targets, and all that there are.
func targetsByName(names []string, fields []dataset.Field) (targets []int, err error) {
	for _, name := range names {
		k := slices.IndexFunc(fields, func(f dataset.Field) bool { return f.Role == dataset.Target && f.Name == name })
		if k >= 0 {
			targets = append(targets, k)
		}
	}
	if have := targetNames(fields); len(targets) != len(names) || len(have) != len(names) {
		return nil, fmt.Errorf("train: the targets are %q; want %q: %w", have, names, views.ErrShape)
	}
	return targets, nil
}

// A binding says which fields of a dataset a run computes with.
type binding struct {
	inputs  []int // of each feature
	targets []int // in the order of the outputs
	weight  int   // -1 if all samples have the same

	arrangements []arrangement // of each target
}

// bind finds the features of r among fields. A single input may have another name.
func bind(features []Feature, fields []dataset.Field) (binding, error) {
	s, err := dataset.SchemaOf(fields)
	if err != nil {
		return binding{}, err
	}
	b := binding{targets: s.Targets, weight: s.Weight}
	if len(features) == 1 && len(s.Inputs) == 1 {
		b.inputs = s.Inputs
	} else {
		for _, f := range features {
			k := slices.IndexFunc(fields, func(g dataset.Field) bool {
				return g.Name == f.Name && (g.Role == dataset.Input || g.Role == dataset.Length)
			})
			if k < 0 {
				return b, fmt.Errorf("train: no input %q among the fields %v: %w", f.Name, fields, views.ErrShape)
			}
			b.inputs = append(b.inputs, k)
		}
	}
	for i, k := range b.inputs {
		if have := fields[k].Shape; !slices.Equal(have, features[i].Shape) {
			return b, fmt.Errorf("train: samples of %s are %v; want %v: %w", fields[k].Name, have, features[i].Shape, views.ErrShape)
		}
	}
	return b, nil
}

// An example is a batch in a step: the inputs of the model, the targets, and the weights
// of the samples, nil if there are none.
type example struct {
	inputs, targets []*tensor.Tensor
	weights         *tensor.Tensor
	arrangements    []arrangement // of the targets
}

// exampleOf brings a batch into a step and prepares its inputs.
func exampleOf(t *tensor.Tape, features []Feature, by binding, fields []storage.Array, rows storage.Array) (e example) {
	e.arrangements = by.arrangements
	var picked *tensor.Tensor
	if rows.Data != nil {
		picked = t.Input(rows)
	}
	field := func(k int) *tensor.Tensor {
		if picked != nil {
			return t.Input(fields[k]).IndexSelect(0, picked)
		}
		return t.Input(fields[k])
	}
	for i, k := range by.inputs {
		if picked != nil {
			e.inputs = append(e.inputs, features[i].ApplyRows(t.Input(fields[k]), picked))
		} else {
			e.inputs = append(e.inputs, features[i].Apply(t.Input(fields[k])))
		}
	}
	for _, k := range by.targets {
		e.targets = append(e.targets, field(k))
	}
	if by.weight >= 0 {
		e.weights = perSample(field(by.weight))
	}
	return e
}

// A comparison is the outputs of the model for an example, beside the targets in the form that the
// loss compares them with.
type comparison struct {
	example
	outputs, compared []*tensor.Tensor
	counted           []*tensor.Tensor // weights of each target in the axes of the data; nil if all elements count alike
	added             []nn.Fraction    // losses of layers
	losses            []nn.Fraction    // of outputs and of layers
	loss              *tensor.Tensor   // the sum of their values, which training minimizes
}

// compare runs the model on e and compares its outputs with the targets.
func (r *Run) compare(e example) comparison {
	c := comparison{example: e}
	c.added = nn.CollectLosses(e.inputs[0], func() { c.outputs = nn.Call("", r.Model, e.inputs...) })
	if len(c.outputs) != len(e.targets) {
		tensor.Fail("train", views.ErrShape, "%d outputs of the model and %d targets; want as many", len(c.outputs), len(e.targets))
	}
	weights := make([]*tensor.Tensor, len(c.outputs))
	c.targets, c.counted = slices.Clone(e.targets), make([]*tensor.Tensor, len(c.outputs))
	for i, y := range e.targets {
		c.outputs[i] = c.outputs[i].ToFloat32()
		y, c.counted[i] = r.present(i, y, e.weights)
		if c.targets[i] = y; i < len(r.Targets) {
			y = r.Targets[i].Apply(y)
		}
		c.compared = append(c.compared, r.target(y, e.arrangements[i]))
		weights[i] = e.arrangements[i].weights(c.counted[i])
	}
	c.losses = append(r.lossesOf(c.outputs, c.compared, weights), c.added...)
	c.loss = sumOf(c.losses)
	return c
}

// countWeights returns the weights of c without samples whose label the loss ignores, so that epochs and metrics
// leave them out as well: of each output.
func (r *Run) countWeights(c comparison) []*tensor.Tensor {
	all := slices.Clone(c.counted)
	for i, y := range c.compared {
		if ignore := nn.IgnoredLabel(r.lossOf(i).Loss); ignore != nil && y.DType().IsInt() {
			mask := tensor.LabelMask(y.Contiguous().Reshape(y.Len()), dtype.Float32, c.outputs[i].Shape()[1], ignore)
			all[i] = weighted(all[i], mask.Reshape(y.Shape()...))
		}
	}
	return all
}

// target returns y in the form that the loss compares with its output.
func (r *Run) target(y *tensor.Tensor, a arrangement) *tensor.Tensor {
	if r.Config.Data.OneHot {
		return r.oneHot(y)
	}
	if !a.labels {
		return a.ofOutput(y)
	}
	if y.DType() == dtype.Bool {
		y = y.Cast(dtype.Uint8)
	}
	if len(a.output) == 0 {
		return perSample(y)
	}
	return reshaped(y, a.output)
}

// oneHot returns the one-hot encoding of labels.
func (r *Run) oneHot(labels *tensor.Tensor) *tensor.Tensor {
	return labels.Reshape(labels.Shape()[0], 1).Cast(dtype.Int64).Eq(tensor.FromArray(r.classIndices)).Cast(dtype.Float32)
}

// lossesOf returns the loss of each output.
func (r *Run) lossesOf(outputs, targets, weights []*tensor.Tensor) []nn.Fraction {
	losses := make([]nn.Fraction, len(outputs))
	for i, out := range outputs {
		l := r.lossOf(i)
		losses[i] = l.Loss.Forward(out, targets[i], weights[i])
		if value := losses[i].Value(); value == nil || value.Len() != 1 {
			tensor.Fail("train", storage.ErrState, "the loss %s returned %v; want one number", nn.LossName(l.Loss), value)
		}
		losses[i] = losses[i].Scale(l.Weight)
	}
	return losses
}

// sumOf returns the sum of the values of losses.
func sumOf(losses []nn.Fraction) *tensor.Tensor {
	sum := losses[0].Value()
	for _, loss := range losses[1:] {
		sum = sum.Add(loss.Value())
	}
	return sum
}

// correct returns the number of samples whose class the output predicts, which
// the loss may have counted, and of those whose label it ignores. Numbers that there are none of are nil.
func (r *Run) correct(c comparison) (correct, ignored *tensor.Tensor) {
	if !r.HasAccuracy() {
		return nil, nil
	}
	labels := c.compared[0]
	if labels.DType().IsFloat() { // probabilities
		labels = labels.ArgMax(1)
	} else if ignore := nn.IgnoredLabel(r.lossOf(0).Loss); ignore != nil {
		return tensor.CountCorrectIgnoring(c.outputs[0], labels, *ignore)
	}
	return tensor.CountCorrect(c.outputs[0], labels, c.loss), nil
}
