package keras

import (
	"slices"
	"strings"
)

// simple are the layers of package nn without settings that Keras needs, and the class and
// settings that they have there.
var simple = map[string]struct {
	class, activation string
}{
	"relu": {"Activation", "relu"}, "tanh": {"Activation", "tanh"}, "sigmoid": {"Activation", "sigmoid"}, "silu": {"Activation", "swish"},
	"selu": {"Activation", "selu"}, "softplus": {"Activation", "softplus"}, "softsign": {"Activation", "softsign"},
	"exponential": {"Activation", "exponential"},
	"add":         {"Add", ""}, "mul": {"Multiply", ""}, "subtract": {"Subtract", ""}, "average": {"Average", ""}, "maximum": {"Maximum", ""}, "minimum": {"Minimum", ""},
}

// module adds the Keras layers of a layer of package nn, which l describes.
func (r *reverser) module(l *Layer, in []tensor) (tensor, error) {
	if len(in) == 0 {
		return tensor{}, unsupported("no inputs")
	}
	v := in[0]
	for _, other := range in[1:] {
		if other.first != v.first {
			return v, unsupported("inputs with axes in different orders")
		}
	}
	if s, ok := simple[l.Class]; ok {
		var config map[string]any
		if s.activation != "" {
			config = map[string]any{"activation": s.activation}
		}
		return r.layer(s.class, l.Name, config, in...), nil
	}
	axes := axesOf(l.Class)
	if axes > 0 && !v.first && v.rank > 1 {
		return v, unsupported("its input has the channels last in package nn")
	}
	switch {
	case l.Class == "dense" || l.Class == "linear":
		return r.dense(l, v)
	case strings.HasPrefix(l.Class, "conv_transpose"):
		return r.transposed(l, v, axes)
	case strings.HasPrefix(l.Class, "conv"):
		return r.conv(l, v, axes)
	case strings.HasPrefix(l.Class, "batchnorm"):
		return r.batchNorm(l, v)
	case l.Class == "layernorm":
		return r.layerNorm(l, v)
	case strings.HasPrefix(l.Class, "global"):
		class := map[bool]string{true: "GlobalMaxPooling", false: "GlobalAveragePooling"}[strings.Contains(l.Class, "max")]
		return r.layer(class+string(rune('0'+axes))+"D", l.Name, map[string]any{"keepdims": true}, v), nil
	case strings.HasPrefix(l.Class, "maxpool"), strings.HasPrefix(l.Class, "avgpool"):
		return r.pool(l, v, axes)
	}
	if strings.EqualFold(l.Class, "Identity") { // Keras's name of it, which Keras 2 lacks
		return r.layer("Activation", l.Name, map[string]any{"activation": "linear"}, v), nil
	}
	if add, ok := others[l.Class]; ok {
		return add(r, l, in)
	}
	return v, unsupported("h5dnn knows none")
}

// others are layers whose settings are translated one by one.
var others = map[string]func(r *reverser, l *Layer, in []tensor) (tensor, error){
	"flatten": (*reverser).flatten, "permute": (*reverser).permute, "reshape": (*reverser).reshape,
	"dropout": (*reverser).dropout, "rescale": (*reverser).rescale,
	"softmax": (*reverser).softmax, "concat": (*reverser).concat,
	"gelu": (*reverser).gelu, "leaky_relu": (*reverser).leakyReLU, "elu": (*reverser).elu, "hardtanh": (*reverser).hardTanh,
	"zeropad": (*reverser).edges, "crop": (*reverser).edges, "upsample": (*reverser).upsample,
}

func (r *reverser) flatten(l *Layer, in []tensor) (tensor, error) {
	if in[0].rank > 2 && !in[0].first {
		return in[0], unsupported("its input has the channels last in package nn")
	}
	out := r.layer("Flatten", l.Name, nil, in[0])
	r.flattens[out.ref.Layer] = in[0].first
	out.rank, out.first = 1, false
	return out, nil
}

func (r *reverser) reshape(l *Layer, in []tensor) (tensor, error) {
	shape, err := l.Ints("shape")
	if in[0].first {
		return in[0], unsupported("its input has the channels first in package nn")
	}
	out := r.layer("Reshape", l.Name, map[string]any{"target_shape": shape}, in[0])
	out.rank = len(shape)
	return out, err
}

func (r *reverser) dropout(l *Layer, in []tensor) (tensor, error) {
	rate, err := l.Float("p", 0.5)
	return r.layer("Dropout", l.Name, map[string]any{"rate": rate}, in[0]), err
}

func (r *reverser) rescale(l *Layer, in []tensor) (tensor, error) {
	scale, err1 := l.Float("scale", 1)
	offset, err2 := l.Float("offset", 0)
	return r.layer("Rescaling", l.Name, map[string]any{"scale": scale, "offset": offset}, in[0]), first(err1, err2)
}

func (r *reverser) softmax(l *Layer, in []tensor) (tensor, error) {
	axis, err := l.Int("axis", -1)
	return r.layer("Softmax", l.Name, map[string]any{"axis": in[0].kerasAxis(axis)}, in[0]), err
}

func (r *reverser) concat(l *Layer, in []tensor) (tensor, error) {
	axis, err := l.Int("axis", 1)
	return r.layer("Concatenate", l.Name, map[string]any{"axis": in[0].kerasAxis(axis)}, in...), err
}

// kerasAxis returns Keras's number of an axis of package nn. Both count that of samples.
func (v tensor) kerasAxis(axis int) int {
	if axis < 0 {
		axis += v.rank + 1
	}
	if v.first {
		axis = (axis+v.rank-2)%v.rank + 1
	}
	return axis
}

func (r *reverser) gelu(l *Layer, in []tensor) (tensor, error) {
	if kind, _ := l.Text("approximate", ""); kind == "tanh" {
		return in[0], unsupported("the approximation by tanh")
	}
	return r.layer("Activation", l.Name, map[string]any{"activation": "gelu"}, in[0]), nil
}

func (r *reverser) leakyReLU(l *Layer, in []tensor) (tensor, error) {
	slope, err := l.Float("negative_slope", 0.01)
	return r.layer("LeakyReLU", l.Name, map[string]any{"alpha": slope}, in[0]), err
}

func (r *reverser) elu(l *Layer, in []tensor) (tensor, error) {
	alpha, err := l.Float("alpha", 1)
	return r.layer("ELU", l.Name, map[string]any{"alpha": alpha}, in[0]), err
}

func (r *reverser) hardTanh(l *Layer, in []tensor) (tensor, error) {
	low, err1 := l.Float("min", -1)
	high, err2 := l.Float("max", 1)
	if low != 0 {
		return in[0], unsupported("a minimum of %v", low)
	}
	return r.layer("ReLU", l.Name, map[string]any{"max_value": high}, in[0]), first(err1, err2)
}

// edges adds or removes elements at the ends of axes.
func (r *reverser) edges(l *Layer, in []tensor) (tensor, error) {
	before, err1 := l.Ints("before")
	after, err2 := l.Ints("after")
	if after == nil {
		after = before
	}
	if len(before) == 0 || len(before) != len(after) {
		return in[0], unsupported("before %v and after %v", before, after)
	}
	return r.padding(l.Class == "crop", l.Name, before, after, in[0]), first(err1, err2)
}

func (r *reverser) upsample(l *Layer, in []tensor) (tensor, error) {
	scale, err := l.Ints("scale")
	config := map[string]any{"size": scale} // of the nearest elements by default
	if len(scale) == 1 {
		config = map[string]any{"size": scale[0]}
	}
	return r.layer("UpSampling"+dimension(len(scale)), l.Name, config, in[0]), err
}

func dimension(axes int) string { return string(rune('0'+axes)) + "D" }

// permute moves axes. Moving the channels to the front or back is what the order of axes
// in Keras does already.
func (r *reverser) permute(l *Layer, in []tensor) (tensor, error) {
	v := in[0]
	axes, err := l.Ints("axes")
	if err != nil {
		return v, err
	}
	n := v.rank
	front, back := []int{n}, []int{}
	for axis := 1; axis < n; axis++ {
		front, back = append(front, axis), append(back, axis+1)
	}
	back = append(back, 1)
	switch {
	case !v.first && slices.Equal(axes, front):
		v.first = true
		return v, nil
	case v.first && slices.Equal(axes, back):
		v.first = false
		return v, nil
	case v.first:
		return v, unsupported("axes %v of an input with the channels first in package nn", axes)
	}
	return r.layer("Permute", l.Name, map[string]any{"dims": axes}, v), nil
}

// padding adds a ZeroPadding or Cropping, if there is something to add or leave out.
func (r *reverser) padding(crop bool, path string, before, after []int, v tensor) tensor {
	if slices.Max(append(before, after...)) == 0 {
		return v
	}
	class, setting := "ZeroPadding", "padding"
	if crop {
		class, setting = "Cropping", "cropping"
	}
	var pairs []any
	for i := range before {
		pairs = append(pairs, []any{float64(before[i]), float64(after[i])})
	}
	var value any = pairs
	if len(pairs) == 1 {
		value = pairs[0]
	}
	return r.layer(class+dimension(len(before)), path, map[string]any{setting: value}, v)
}

func (r *reverser) dense(l *Layer, v tensor) (tensor, error) {
	if v.rank != 1 {
		return v, unsupported("an input of %d axes", v.rank)
	}
	units, err1 := l.Int("out_features", 0)
	bias, err2 := l.Bool("bias", true)
	return r.layer("Dense", l.Name, map[string]any{"units": units, "use_bias": bias, "activation": "linear"}, v), first(err1, err2)
}

// sizesOf reads what a convolution or pool of package nn moves over its input.
func sizesOf(l *Layer, axes int, stride []int) (w window, before, after []int, err error) {
	read := func(name string, otherwise int) []int {
		list, failed := each(l, name, axes, otherwise)
		err = first(err, failed)
		return list
	}
	w.kernel = read("kernel_size", 0)
	w.dilation = read("dilation", 1)
	if w.stride = stride; l.Config["stride"] != nil {
		w.stride = read("stride", 1)
	} else if stride == nil {
		w.stride = w.kernel
	}
	before = read("padding", 0)
	after = before
	if l.Config["padding_after"] != nil {
		after = read("padding_after", 0)
	}
	return w, before, after, err
}

// padded returns the name of Keras's padding and, where it has none, the input with zeros.
func (r *reverser) padded(w window, before, after []int, v tensor) (string, tensor) {
	w.padding = "same"
	if slices.Max(w.stride) == 1 {
		unknown := slices.Repeat([]int{-1}, len(w.kernel))
		if b, a, err := w.pad(unknown); err == nil && slices.Equal(a, after) && slices.Equal(b, before) && slices.Max(a) > 0 {
			return "same", v
		}
	}
	return "valid", r.padding(false, "", before, after, v)
}

func (r *reverser) conv(l *Layer, v tensor, axes int) (tensor, error) {
	w, before, after, err := sizesOf(l, axes, slices.Repeat([]int{1}, axes))
	if err != nil {
		return v, err
	}
	out, err1 := l.Int("out_channels", 0)
	in, err2 := l.Int("in_channels", 0)
	groups, err3 := l.Int("groups", 1)
	bias, err4 := l.Bool("bias", true)
	if err := first(err1, err2, err3, err4); err != nil {
		return v, err
	}
	if slices.Max(w.stride) > 1 && slices.Max(w.dilation) > 1 {
		return v, unsupported("strides %v with dilation %v", w.stride, w.dilation)
	}
	padding, v := r.padded(w, before, after, v)
	config := map[string]any{"kernel_size": w.kernel, "strides": w.stride, "dilation_rate": w.dilation, "padding": padding, "use_bias": bias, "activation": "linear", "data_format": "channels_last"}
	if groups > 1 && groups == in && axes < 3 && out%in == 0 {
		config["depth_multiplier"] = out / in
		return r.layer("DepthwiseConv"+dimension(axes), l.Name, config, v), nil
	}
	config["filters"] = out
	if groups > 1 {
		config["groups"] = groups
	}
	return r.layer("Conv"+dimension(axes), l.Name, config, v), nil
}

func (r *reverser) transposed(l *Layer, v tensor, axes int) (tensor, error) {
	w, before, after, err := sizesOf(l, axes, slices.Repeat([]int{1}, axes))
	if err != nil {
		return v, err
	}
	added, err1 := each(l, "output_padding", axes, 0)
	out, err2 := l.Int("out_channels", 0)
	groups, err3 := l.Int("groups", 1)
	bias, err4 := l.Bool("bias", true)
	if err := first(err1, err2, err3, err4); err != nil {
		return v, err
	}
	if groups > 1 || slices.Max(w.dilation) > 1 {
		return v, unsupported("groups %d and dilation %v", groups, w.dilation)
	}
	end := slices.Clone(after)
	for i := range end {
		end[i] += max(0, w.stride[i]-w.kernel[i]) - added[i] // Keras fills up to the stride
		if end[i] < 0 {
			return v, unsupported("output_padding %v, beyond what the windows reach", added)
		}
	}
	config := map[string]any{"filters": out, "kernel_size": w.kernel, "strides": w.stride, "padding": "valid", "use_bias": bias, "activation": "linear", "data_format": "channels_last"}
	if axes == 1 {
		config["kernel_size"], config["strides"] = w.kernel[0], w.stride[0]
	}
	v = r.layer("Conv"+dimension(axes)+"Transpose", l.Name, config, v)
	return r.padding(true, "", before, end, v), nil
}

func (r *reverser) pool(l *Layer, v tensor, axes int) (tensor, error) {
	w, before, _, err := sizesOf(l, axes, nil)
	if err != nil {
		return v, err
	}
	if up, err := l.Bool("ceil_mode", false); err != nil || up {
		return v, first(err, unsupported("ceil_mode"))
	}
	mean := strings.HasPrefix(l.Class, "avg")
	padding := "valid"
	switch {
	case slices.Max(before) == 0:
	case mean:
		v = r.padding(false, "", before, before, v) // which count
	default:
		w.dilation = slices.Repeat([]int{1}, axes)
		var rest tensor
		if padding, rest = r.padded(w, before, before, v); padding != "same" {
			r.model.Layers = r.model.Layers[:len(r.model.Layers)-1]
			return rest, unsupported("padding %v with strides %v; Keras pads maxima otherwise", before, w.stride)
		}
	}
	class := map[bool]string{true: "AveragePooling", false: "MaxPooling"}[mean]
	config := map[string]any{"pool_size": w.kernel, "strides": w.stride, "padding": padding, "data_format": "channels_last"}
	if axes == 1 {
		config["pool_size"], config["strides"] = w.kernel[0], w.stride[0]
	}
	return r.layer(class+dimension(axes), l.Name, config, v), nil
}

func (r *reverser) batchNorm(l *Layer, v tensor) (tensor, error) {
	eps, err1 := l.Float("eps", 1e-5)
	momentum, err2 := l.Float("momentum", 0.1)
	affine, err3 := l.Bool("affine", true)
	return r.layer("BatchNormalization", l.Name, map[string]any{
		"axis": v.rank, "epsilon": eps, "momentum": 1 - momentum, "scale": affine, "center": affine,
	}, v), first(err1, err2, err3)
}

func (r *reverser) layerNorm(l *Layer, v tensor) (tensor, error) {
	shape, err1 := l.Ints("normalized_shape")
	eps, err2 := l.Float("eps", 1e-5)
	affine, err3 := l.Bool("affine", true)
	if v.first && v.rank > 1 {
		return v, unsupported("its input has the channels first in package nn")
	}
	var axes []any
	for i := range shape {
		axes = append(axes, float64(v.rank-len(shape)+1+i))
	}
	return r.layer("LayerNormalization", l.Name, map[string]any{"axis": axes, "epsilon": eps, "scale": affine, "center": affine}, v), first(err1, err2, err3)
}
