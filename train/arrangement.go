package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// An arrangement relates the elements of a target to the elements of the output that it is compared
// with. The zero arrangement leaves both as they are.
type arrangement struct {
	byElement      bool  // elements are compared, whose order is known
	target, output []int // shapes of a sample
	channelsLast   bool  // the target is (H, W, C), the output (C, H, W)
	labels         bool  // the target is labels of classes, which are axis 1 of the output
}

// arrange returns the arrangement of a target, whose samples have that shape, for an output. Both have
// one shape, except for
//   - axes of 1, which are left out or added,
//   - images with the channels last, as in the input: they are transposed,
//   - outputs that are a vector, as of a dense layer: the elements of the target in row-major order.
func (r *Run) arrange(target string, shape []int, i int, output []int) (arrangement, error) {
	a := arrangement{byElement: true, target: shape, output: output}
	have, want := longAxes(shape), longAxes(output)
	switch {
	case r.Config.Data.Layout == "nhwc" && len(shape) == 3 && slices.Equal(output, []int{shape[2], shape[0], shape[1]}):
		a.channelsLast = true
		return a, nil
	case slices.Equal(have, want):
		return a, nil
	case len(want) < 2 && views.Of(shape...).Len() == views.Of(output...).Len() && !endsInFlatten(r.Model, i):
		return a, nil
	}
	return a, fmt.Errorf("train: samples of %s are %v and the output of the model is %v: %s; want one shape, but for axes of 1%s: %w",
		target, shape, output, differingAxes(shape, output), permuteHint(shape, output), views.ErrShape)
}

// longAxes returns the axes of a shape that are not 1.
func longAxes(shape []int) []int {
	return slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
}

// endsInFlatten reports whether an output is a vector because its axes are flattened after the
// last layer with parameters, so that its elements have an order that the axes gave them.
func endsInFlatten(m nn.Module, output int) bool {
	layers, ok := m.(nn.Sequential)
	if !ok {
		layers = nn.Sequential{nn.Last(m, output)}
	}
	for _, layer := range slices.Backward(layers) {
		switch nn.Last(layer, output).(type) {
		case nn.Flatten, nn.Reshape:
			return true
		}
		for range nn.Parameters(layer) {
			return false
		}
	}
	return false
}

// differingAxes names the axes in which two shapes differ. Axis 0 counts samples.
func differingAxes(a, b []int) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d axes", len(a), len(b))
	}
	var axes []string
	for i := range a {
		if a[i] != b[i] {
			axes = append(axes, fmt.Sprint(i+1))
		}
	}
	if len(axes) == 1 {
		return "they differ in axis " + axes[0]
	}
	return "they differ in the axes " + strings.Join(axes, " and ")
}

// permuteHint returns the layer that gives an output the shape of a target, if both have the same
// sizes in another order.
func permuteHint(target, output []int) string {
	if !slices.Equal(slices.Sorted(slices.Values(target)), slices.Sorted(slices.Values(output))) {
		return ""
	}
	axes := make([]string, len(target))
	left := slices.Clone(output)
	for i, n := range target {
		k := slices.Index(left, n)
		axes[i], left[k] = fmt.Sprint(k+1), -1
	}
	return fmt.Sprintf("; end the model with {permute: [%s]} if these are the same axes in another order", strings.Join(axes, ", "))
}

// ofOutput returns y with the axes of the output; y has the axes of the data.
func (a arrangement) ofOutput(y *tensor.Tensor) *tensor.Tensor {
	if !a.byElement {
		return y
	}
	if a.channelsLast {
		return y.Permute(0, 3, 1, 2)
	}
	return reshaped(y, a.output)
}

// ofData returns y with the axes of the data; y has the axes of the output.
func (a arrangement) ofData(y *tensor.Tensor) *tensor.Tensor {
	if !a.byElement {
		return y
	}
	if a.channelsLast {
		return y.Permute(0, 2, 3, 1)
	}
	return reshaped(y, a.target)
}

// reshaped returns y with samples of that shape.
func reshaped(y *tensor.Tensor, sample []int) *tensor.Tensor {
	if slices.Equal(y.Shape()[1:], sample) {
		return y
	}
	return y.Contiguous().Reshape(append([]int{y.Shape()[0]}, sample...)...)
}

// weights returns the weights of the elements of the output, from weights of samples or of elements of the target.
func (a arrangement) weights(w *tensor.Tensor) *tensor.Tensor {
	if w != nil && a.byElement && slices.Equal(w.Shape()[1:], a.target) {
		return a.ofOutput(w)
	}
	return w
}

// checkWeights returns an error unless samples of weights, of that shape, are one number, as the target,
// or along the leading axes that target and output share.
func (a arrangement) checkWeights(name string, shape []int) error {
	switch {
	case len(longAxes(shape)) == 0 || !a.byElement || slices.Equal(shape, a.target):
		return nil
	case !a.channelsLast && slices.Equal(a.target, a.output) && len(shape) < len(a.target) && slices.Equal(shape, a.target[:len(shape)]):
		return nil
	}
	return fmt.Errorf("train: samples of %s are %v; want one weight for each sample, or weights of the shape %v of the target: %w", name, shape, a.target, views.ErrShape)
}

// perSample returns a number for each sample without axes of 1.
func perSample(y *tensor.Tensor) *tensor.Tensor {
	if y.Rank() == 1 || y.Len() != y.Shape()[0] {
		return y
	}
	return y.Reshape(y.Shape()[0])
}

// arrangements returns the arrangements of the targets of b, which are among fields.
func (r *Run) arrangements(fields []dataset.Field, b binding) ([]arrangement, error) {
	outputs, err := r.outputShapes()
	if err != nil {
		return nil, err
	}
	if len(outputs) != len(b.targets) {
		return nil, fmt.Errorf("train: the model has %d outputs and the data the targets %q; want a target for each output: %w", len(outputs), targetNames(fields), views.ErrShape)
	}
	all := make([]arrangement, len(outputs))
	for i, k := range b.targets {
		if all[i], err = r.arrangementOf(fields[k], i, outputs[i]); err != nil {
			return nil, err
		}
		if b.weight >= 0 {
			if err := all[i].checkWeights(fields[b.weight].Name, fields[b.weight].Shape); err != nil {
				return nil, err
			}
		}
		if i < len(r.Targets) {
			if err := r.Targets[i].CheckShape(fields[k].Shape, r.Targets[i].axis(len(fields[k].Shape))); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// arrangementOf returns the arrangement of a target for output i, whose shape is output.
func (r *Run) arrangementOf(target dataset.Field, i int, output []int) (arrangement, error) {
	loss := r.lossOf(i).Loss
	if r.Config.Data.OneHot {
		return arrangement{}, checkOneHot(target, output, r.ignoresMissing(i))
	}
	if nn.TakesLabels(loss) && !isSoft(target, output) {
		a := arrangement{labels: true}
		if err := checkLabels(nn.LossName(loss), target, output, r.ignoresMissing(i)); err != nil {
			return a, err
		}
		a.output = output[1:]
		return a, nil
	}
	a, err := r.arrange(target.Name, target.Shape, i, output)
	if err != nil && !nn.ComparesElements(loss) && !nn.TakesLabels(loss) {
		return arrangement{}, nil // a loss of outside may compare other shapes
	}
	return a, err
}

// savedArrangements returns the arrangements of the targets that r was trained on, as far as it is known.
func (r *Run) savedArrangements() ([]arrangement, error) {
	outputs, err := r.outputShapes()
	if err != nil || len(outputs) != len(r.targetShapes) {
		return nil, err
	}
	all := make([]arrangement, len(outputs))
	for i, shape := range r.targetShapes {
		if shape == nil && r.classifies(i) {
			continue
		}
		if all[i], err = r.arrange("", shape, i, outputs[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// shapesOf returns the shapes of the targets, nil for labels, if some are compared by element and no others are known.
func shapesOf(all []arrangement) (shapes [][]int) {
	some := false
	for _, a := range all {
		if !a.byElement && !a.labels {
			return nil
		}
		some = some || a.byElement
		shapes = append(shapes, slices.Clone(a.target))
	}
	if !some {
		return nil
	}
	return shapes
}

// isSoft reports whether samples of the target are a probability for each class.
func isSoft(target dataset.Field, output []int) bool {
	n := views.Of(output...).Len()
	return target.Type.IsFloat() && n > 1 && views.Of(target.Shape...).Len() == n
}

// checkLabels returns an error unless samples of the target are labels of classes: one if the output, where it
// is known, is (classes), and one for each place if it is (classes, …). Labels that are missing may be NaN among
// floats, which batches are checked for.
func checkLabels(loss string, target dataset.Field, output []int, missing bool) error {
	if t := target.Type; !t.IsInt() && t != dtype.Bool && !(missing && t.IsFloat()) {
		return fmt.Errorf("train: %v; %s takes labels, integers that count classes from 0; for values use a loss such as mean_squared_error: %w", target, loss, dtype.ErrType)
	}
	switch places := longAxes(target.Shape); {
	case output == nil:
	case len(output) == 0:
		return fmt.Errorf("train: %s takes an output for each class, and the output of the model is one number: %w", loss, views.ErrShape)
	case !slices.Equal(places, longAxes(output[1:])):
		way := "end the model with a layer such as flatten or global_avg_pool2d for one label a sample"
		if len(places) > 0 {
			way = fmt.Sprintf("labels for each place need an output (classes, %s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(places), " ", ", "), "[]"))
		}
		return fmt.Errorf("train: %s takes a label for each place of the output, and samples of %s are %v where the output of the model is %v; %s: %w",
			loss, target.Name, target.Shape, output, way, views.ErrShape)
	}
	return nil
}

// checkOneHot returns an error unless samples of the target are one label, and the output a number for each class.
func checkOneHot(target dataset.Field, output []int, missing bool) error {
	if len(longAxes(target.Shape)) > 0 || output != nil && len(output) != 1 {
		return fmt.Errorf("train: one_hot takes one label for each sample and an output for each class, and samples of %s are %v and the output of the model is %v; cross_entropy takes labels for each pixel or step: %w",
			target.Name, target.Shape, output, views.ErrShape)
	}
	return checkLabels("one_hot", target, output, missing)
}
