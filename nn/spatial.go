package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// An InputSpec is what a module takes as an input. The zero InputSpec says nothing: floats of the type of the parameters.
type InputSpec struct {
	Type    dtype.Type // of the elements: integers, such as Int64 for indices, are neither normalized nor made floats
	Spatial int        // spatial axes, of inputs (N, C, …)
}

// DeclaresInput is implemented by layers that say what they take.
type DeclaresInput interface {
	Module
	InputSpec() InputSpec
}

// InputOf returns what m takes as an input, for composites the first layer that has the input, or integers if a layer takes them from it directly
// or through layers that copy elements, such as Select. The name of the input matters to modules of several; an unknown one is the first.
func InputOf(m Module, input string) InputSpec {
	switch m := m.(type) {
	case DeclaresInput:
		return m.InputSpec()
	case Sequential:
		if len(m) == 0 {
			return InputSpec{}
		}
		first := InputOf(m[0], input)
		if copiesElements(m[0]) {
			first.Type = InputOf(m[1:], "").Type
		}
		return first
	case *Residual:
		return InputOf(m.Body.Module, input)
	case *TimeDistributed:
		return InputSpec{Type: InputOf(m.Layer.Module, input).Type}
	case *Graph:
		return m.inputOf(graphValue{-1, max(0, slices.Index(m.Inputs, input))})
	case *Conv1d, *ConvTranspose1d, MaxPool1d, AvgPool1d, GlobalAvgPool1d, GlobalMaxPool1d:
		return InputSpec{Spatial: 1}
	case *Conv2d, *ConvTranspose2d, *BatchNorm2d, MaxPool2d, AvgPool2d, GlobalAvgPool2d, GlobalMaxPool2d:
		return InputSpec{Spatial: 2}
	case *Conv3d, *ConvTranspose3d, *BatchNorm3d, MaxPool3d, AvgPool3d, GlobalAvgPool3d, GlobalMaxPool3d:
		return InputSpec{Spatial: 3}
	}
	return InputSpec{}
}

// inputOf is InputOf of a value of the graph.
func (g *Graph) inputOf(v graphValue) (spec InputSpec) {
	first := true
	for _, s := range g.steps {
		if !slices.Contains(s.inputs, v) {
			continue
		}
		m := g.Nodes[s.node].Module
		one := InputOf(m, "")
		if copiesElements(m) {
			one.Type = g.inputOf(graphValue{s.node, -1}).Type
		}
		switch {
		case first:
			spec = one
		case one.Type.IsInt():
			spec.Type = one.Type
		}
		first = false
	}
	return spec
}

// copiesElements reports whether the elements of the output of m are elements of its inputs, unchanged and of the same type.
func copiesElements(m Module) bool {
	switch m := m.(type) {
	case Slice, Select, Reshape, Permute, Flatten, Concat, Identity:
		return true
	case *Function:
		return slices.Contains([]string{"stack", "flip", "repeat_interleave"}, m.Name)
	}
	return false
}

// SpatialAxes returns the number of spatial axes of an input of m: 2 for models of images, 0 where no layer says.
func SpatialAxes(m Module, input string) int { return InputOf(m, input).Spatial }
