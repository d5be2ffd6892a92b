package keras

import (
	"fmt"
	"slices"
	"strings"
)

var _ = registerPools("max", "MaxPooling") && registerPools("avg", "AveragePooling")

// registerPools registers the classes of pools over windows, and over all elements, of one to three axes. The names of
// layers of package nn begin with kind.
func registerPools(kind, name string) (done bool) {
	for axes := 1; axes <= 3; axes++ {
		end := dimension(axes)
		register(class{shapes: poolShapes, module: poolModule, axes: spatially, spatial: true, differs: poolDiffers, reverse: map[string]reversal{
			fmt.Sprintf("%spool%dd", kind, axes): func(r *reverser, l *settings, in []tensor) tensor {
				return reversePool(r, l, in[0], name+end, kind == "avg")
			},
		}}, name+end)
		done = register(class{shapes: globalShapes, nodes: globalNodes, order: newOrder, reverse: map[string]reversal{
			fmt.Sprintf("global%spool%dd", kind, axes): reversed("Global"+name+end, func(*settings, tensor) map[string]any {
				return map[string]any{"keepdims": true}
			}),
		}}, "Global"+name+end)
	}
	reversals["adaptive_"+kind+"_pool"] = func(r *reverser, l *settings, in []tensor) tensor {
		sizes := l.Ints("output_size")
		if len(sizes) == 0 || slices.Max(sizes) != 1 {
			l.refuse("an output_size of %v", sizes)
			return in[0]
		}
		return r.layer("Global"+name+dimension(len(sizes)), l.Name, map[string]any{"keepdims": true}, in[0])
	}
	return done
}

// poolName returns the beginning of the name of a layer of package nn: max or avg.
func poolName(class string) string {
	if strings.Contains(class, "Max") {
		return "max"
	}
	return "avg"
}

func poolShapes(l *settings, in [][]int) [][]int {
	w, s := sliding(l, in[0], "pool_size", true)
	return s.with(w.sizes(l, s.sizes), s.channels)
}

func poolModule(l *settings, in [][]int) *module {
	w, s := sliding(l, in[0], "pool_size", true)
	before, after := w.pad(l, s.sizes)
	m := constructed(fmt.Sprintf("%spool%dd", poolName(l.Class), len(w.kernel)), "", map[string]any{"kernel_size": w.kernel, "stride": w.stride, "padding": before})
	if !slices.Equal(before, after) {
		m.settings["padding_after"] = after
	}
	if poolName(l.Class) == "avg" && slices.Max(after) > 0 {
		m.settings["count_include_pad"] = false
	}
	return m
}

func globalShapes(l *settings, in [][]int) [][]int {
	s := spatialOf(l, in[0], axesOf(l.Class))
	if l.Bool("keepdims", false) {
		return s.with(slices.Repeat([]int{1}, len(s.sizes)), s.channels)
	}
	return [][]int{{s.channels}}
}

func globalNodes(b *builder, l *settings, in []value) value {
	v := spatially(b, l, in[0])
	from := []string{v.node}
	if v.mask != "" && l.Class == "GlobalAveragePooling1D" {
		if channelsFirst(l) {
			l.refuse("a mask of its inputs with data_format channels_first")
		}
		from = append(from, v.mask)
	}
	v.node = b.add(l, "", fmt.Sprintf("global%spool%dd", poolName(l.Class), axesOf(l.Class)), from...)
	if !l.Bool("keepdims", false) {
		v.node, v.first = b.add(l, "flat", "flatten", v.node), false
	}
	return v
}

// poolDiffers returns an error for padding that the module of PyTorch does not have.
func poolDiffers(l *settings) error {
	w, s := sliding(l, inputsOf(l.Layer)[0], "pool_size", true)
	if before, after := w.pad(l, s.sizes); !slices.Equal(before, after) {
		return notInPyTorch("padding %q with strides %v pads more elements at one end; pad the input by F.pad", w.padding, w.stride)
	}
	return nil
}

// isPositive reports whether a layer computes v whose results are never below 0, such as of elements that padding adds.
func (r *reverser) isPositive(v tensor) bool {
	l := r.model.Layer(v.ref.Layer)
	activation, _ := l.Config["activation"].(string)
	return l.Class == "ReLU" || l.Class == "Activation" && slices.Contains([]string{"relu", "sigmoid", "softplus", "exponential"}, activation)
}

func reversePool(r *reverser, l *settings, v tensor, class string, mean bool) tensor {
	w, before, after := pyTorchWindow(l, true)
	if l.Bool("ceil_mode", false) {
		l.refuse("ceil_mode")
	}
	if slices.Max(w.dilation) > 1 {
		l.refuse("dilation %v", w.dilation)
	}
	padding := "valid"
	switch counted := mean && l.Bool("count_include_pad", true); {
	case slices.Max(before) == 0 && slices.Max(after) == 0:
	case counted || !mean && r.isPositive(v):
		v = r.padding(false, "", before, after, v)
	case w.isSame(before, after):
		padding = "same"
	default:
		l.refuse("padding %v and %v with strides %v; Keras pads otherwise", before, after, w.stride)
	}
	config := map[string]any{"pool_size": unlisted(w.kernel), "strides": unlisted(w.stride), "padding": padding, "data_format": "channels_last"}
	return r.layer(class, l.Name, config, v)
}
