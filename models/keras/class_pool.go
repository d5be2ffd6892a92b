package keras

import (
	"fmt"
	"slices"
	"strings"
)

var (
	_ = register(class{shapes: poolShapes, nodes: poolNodes, spatial: true, differs: poolDiffers}, "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D")
	_ = register(class{shapes: globalShapes, nodes: globalNodes, order: newOrder}, "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D",
		"GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D")
)

// poolName returns the beginning of the name of a layer of package nn: max or avg.
func poolName(class string) string {
	if strings.Contains(class, "Max") {
		return "max"
	}
	return "avg"
}

func poolShapes(l *Layer, in [][]int) ([][]int, error) {
	w, s, err := sliding(l, in[0], "pool_size", true)
	if err != nil {
		return nil, err
	}
	sizes, err := w.sizes(s.sizes)
	return [][]int{s.with(sizes, s.channels)}, err
}

func poolNodes(b *builder, u use, in []value) (value, error) {
	w, s, err := sliding(u.Layer, in[0].shape, "pool_size", true)
	if err != nil {
		return value{}, err
	}
	v, err := b.spatially(s, in[0])
	if err != nil {
		return v, err
	}
	before, after, err := w.pad(s.sizes)
	if err != nil {
		return v, err
	}
	layer := map[string]any{"kernel_size": w.kernel, "stride": w.stride, "padding": before}
	mean := poolName(u.Class) == "avg"
	if mean && slices.Max(before) > 0 {
		return v, unsupported("padding \"same\" of %v before and %v after, which do not count in Keras's means", before, after)
	}
	if !slices.Equal(before, after) {
		if err := w.checkCeil(s.sizes, before, mean); err != nil {
			return v, err
		}
		layer["ceil_mode"] = true
	}
	v.node = b.add(u, "", map[string]any{fmt.Sprintf("%spool%dd", poolName(u.Class), len(w.kernel)): layer}, v.node)
	return v, nil
}

// checkCeil returns an error unless a last window that is not complete, with as much
// padding at both ends, makes as many windows as Keras has. Such a window counts only
// elements within its input.
func (w window) checkCeil(in, before []int, mean bool) error {
	want, err := w.sizes(in)
	if err != nil {
		return err
	}
	for i, n := range in {
		have := -1
		if n > 0 {
			have = (n+2*before[i]-w.kernel[i]+w.stride[i]-1)/w.stride[i] + 1
			if (have-1)*w.stride[i] >= n+before[i] { // a window must begin within the input
				have--
			}
		}
		if have != want[i] || before[i] > w.kernel[i]/2 {
			return unsupported("padding \"same\" of windows of %v with strides %v over %v elements, which pads unevenly", w.kernel, w.stride, in)
		}
	}
	return nil
}

func globalShapes(l *Layer, in [][]int) ([][]int, error) {
	s, err := spatialOf(l, in[0], axesOf(l.Class))
	if err != nil {
		return nil, err
	}
	if keep, err := l.Bool("keepdims", false); err != nil || keep {
		return [][]int{s.with(slices.Repeat([]int{1}, len(s.sizes)), s.channels)}, err
	}
	return [][]int{{s.channels}}, nil
}

func globalNodes(b *builder, u use, in []value) (value, error) {
	s, err := spatialOf(u.Layer, in[0].shape, axesOf(u.Class))
	if err != nil {
		return value{}, err
	}
	v, err := b.spatially(s, in[0])
	if err != nil {
		return v, err
	}
	v.node = b.add(u, "", fmt.Sprintf("global%spool%dd", poolName(u.Class), len(s.sizes)), v.node)
	keep, err := u.Bool("keepdims", false)
	if !keep {
		v.node, v.first = b.add(u, "flat", "flatten", v.node), false
	}
	return v, err
}

// poolDiffers returns an error for padding that the module of PyTorch does not have.
func poolDiffers(l *Layer) error {
	w, s, err := sliding(l, inputOf(l, axesOf(l.Class)), "pool_size", true)
	if err == nil {
		var before, after []int
		before, after, err = w.pad(s.sizes)
		if err == nil && !slices.Equal(before, after) {
			err = notInPyTorch("padding %q with strides %v pads more elements at one end; pad the input by F.pad", w.padding, w.stride)
		}
	}
	return err
}
