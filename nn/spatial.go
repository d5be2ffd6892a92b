package nn

import "slices"

// SpatialInput is implemented by layers that take inputs (N, C, …) with spatial axes.
type SpatialInput interface {
	Module
	SpatialAxes() int
}

// SpatialAxes returns the number of spatial axes of an input of m, for layers whose
// inputs always have as many, and for composites that of the first layer: 2 for
// models of images. It is 0 where the layer does not say. The name of the input
// matters to modules of several; an unknown one is the first.
func SpatialAxes(m Module, input string) int {
	switch m := m.(type) {
	case SpatialInput:
		return m.SpatialAxes()
	case Sequential:
		if len(m) > 0 {
			return SpatialAxes(m[0], input)
		}
	case *Residual:
		return SpatialAxes(m.Body.Module, input)
	case *Graph:
		value := graphValue{-1, max(0, slices.Index(m.Inputs, input))}
		for _, s := range m.steps {
			if slices.Contains(s.inputs, value) {
				return SpatialAxes(m.Nodes[s.node].Module, "")
			}
		}
	case *Conv1d, *ConvTranspose1d, MaxPool1d, AvgPool1d, GlobalAvgPool1d, GlobalMaxPool1d:
		return 1
	case *Conv2d, *ConvTranspose2d, *BatchNorm2d, MaxPool2d, AvgPool2d, GlobalAvgPool2d, GlobalMaxPool2d:
		return 2
	case *Conv3d, *ConvTranspose3d, *BatchNorm3d, MaxPool3d, AvgPool3d, GlobalAvgPool3d, GlobalMaxPool3d:
		return 3
	}
	return 0
}
