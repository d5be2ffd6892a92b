package onnxgraph

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = simple("Resize", 10, func(c *call) *tensor.Tensor {
		x := c.x(0)
		r := resizer{
			mode: c.text("mode", "nearest"), coordinates: c.text("coordinate_transformation_mode", "half_pixel"), nearest: c.text("nearest_mode", "round_prefer_floor"),
			cubic: c.number("cubic_coeff_a", -0.75), exclude: c.integer("exclude_outside", 0) == 1, antialias: c.integer("antialias", 0) == 1,
		}
		scalesAt := 2
		if c.opset < 11 {
			r.coordinates, r.nearest, scalesAt = "asymmetric", "floor", 1
		}
		axes := c.integers("axes")
		if axes == nil {
			axes = rest(0, x.Rank())
		}
		if c.has(3) && c.in[3].Len() > 0 {
			return c.resize(x, r, axes, nil, c.list(3))
		}
		return c.resize(x, r, axes, c.values(scalesAt), nil)
	})
	_ = simple("Upsample", 7, func(c *call) *tensor.Tensor {
		x := c.x(0)
		r := resizer{mode: c.text("mode", "nearest"), coordinates: "asymmetric", nearest: "floor"}
		if c.has(1) {
			return c.resize(x, r, rest(0, x.Rank()), c.values(1), nil)
		}
		var scales []float64
		for _, s := range c.attributes["scales"].Floats {
			scales = append(scales, float64(s))
		}
		return c.resize(x, r, rest(0, x.Rank()), scales, nil)
	})
)

// A resizer is the settings of a Resize, as ONNX names them.
type resizer struct {
	mode, coordinates, nearest string
	cubic                      float64
	exclude, antialias         bool
}

// resize interpolates axes of x, by scales or to sizes.
func (c *call) resize(x *tensor.Tensor, r resizer, axes []int, scales []float64, sizes []int) *tensor.Tensor {
	if len(axes) != max(len(scales), len(sizes)) {
		c.fail(views.ErrShape, "%d scales or sizes for %d axes", max(len(scales), len(sizes)), len(axes))
	}
	for i, axis := range axes {
		axes[i] = c.plainAxis(axis, x.Rank())
	}
	if sizes != nil {
		scales = make([]float64, len(axes))
		for i, axis := range axes {
			scales[i] = float64(sizes[i]) / float64(x.Size(axis))
		}
		policy := c.node.text("keep_aspect_ratio_policy", "stretch")
		if policy != "stretch" {
			same := slices.Min(scales)
			if policy == "not_smaller" {
				same = slices.Max(scales)
			}
			for i, axis := range axes {
				scales[i] = same
				sizes[i] = int(math.Floor(same*float64(x.Size(axis)) + 0.5))
			}
		}
	}
	for i, axis := range axes {
		in := x.Size(axis)
		out := int(math.Min(math.Floor(float64(in)*scales[i]), maxSize))
		if sizes != nil {
			out = sizes[i]
		}
		if out < 1 || in < 1 || out*in < 0 {
			c.fail(views.ErrShape, "axis %d of %d elements to %d", axis, in, out)
		}
		if out == in && scales[i] == 1 {
			continue
		}
		x = c.interpolate(x, r, axis, scales[i], out)
	}
	return x
}

func (c *call) interpolate(x *tensor.Tensor, r resizer, axis int, scale float64, out int) *tensor.Tensor {
	in := x.Size(axis)
	if r.mode == "nearest" {
		index := make([]int64, out)
		for i := range index {
			index[i] = int64(min(max(r.round(c.coordinate(r, i, in, out, scale)), 0), in-1))
		}
		return x.IndexSelect(axis, c.elements(tensor.FromSlice(index, out)))
	}
	if out > maxSize/in {
		c.fail(views.ErrShape, "axis %d of %d elements to %d", axis, in, out)
	}
	w := make([]float64, out*in)
	for i := range out {
		at := c.coordinate(r, i, in, out, scale)
		first, taps := r.taps(c, at, scale)
		sum := 0.0
		for k, tap := range taps {
			if r.exclude && (first+k < 0 || first+k >= in) {
				taps[k] = 0
				continue
			}
			sum += tap
		}
		for k, tap := range taps {
			w[i*in+min(max(first+k, 0), in-1)] += tap / sum
		}
	}
	t := x.DType()
	if !t.IsFloat() {
		x = x.Cast(dtype.Float32)
	}
	weights := c.elements(tensor.FromSlice(w, out, in).Cast(x.DType()))
	return tensor.Linear(x.MoveAxis(axis, -1), weights, nil, tensor.NoActivation).MoveAxis(-1, axis).Cast(t)
}

// coordinate returns the place in the input of element i of the output.
func (c *call) coordinate(r resizer, i, in, out int, scale float64) float64 {
	x := float64(i)
	switch r.coordinates {
	case "half_pixel":
		return (x+0.5)/scale - 0.5
	case "pytorch_half_pixel":
		if out == 1 {
			return 0
		}
		return (x+0.5)/scale - 0.5
	case "align_corners":
		if length := scale * float64(in); length > 1 && out > 1 {
			return x * float64(in-1) / (length - 1)
		}
		return 0
	case "asymmetric":
		return x / scale
	case "half_pixel_symmetric":
		adjustment, centre := float64(out)/(scale*float64(in)), float64(in)/2
		return centre*(1-adjustment) + (x+0.5)/scale - 0.5
	}
	c.fail(storage.ErrState, "coordinate_transformation_mode %s", r.coordinates)
	return 0
}

// round returns the element that is nearest to a place.
func (r resizer) round(at float64) int {
	switch r.nearest {
	case "round_prefer_floor":
		return int(math.Ceil(at - 0.5))
	case "ceil":
		return int(math.Ceil(at))
	case "round_prefer_ceil":
		return int(math.Floor(at + 0.5))
	}
	return int(math.Floor(at))
}

// taps returns the weights of elements from first on.
func (r resizer) taps(c *call, at, scale float64) (first int, weights []float64) {
	reach, weight := 1.0, func(x float64) float64 { return max(0, 1-math.Abs(x)) }
	switch r.mode {
	case "linear":
	case "cubic": // Keys, IEEE Transactions on Acoustics 29 (1981)
		reach = 2
		weight = func(x float64) float64 {
			x, a := math.Abs(x), r.cubic
			switch {
			case x <= 1:
				return ((a+2)*x-(a+3))*x*x + 1
			case x < 2:
				return ((a*x-5*a)*x+8*a)*x - 4*a
			}
			return 0
		}
	default:
		c.fail(storage.ErrState, "the mode %s", r.mode)
	}
	if !r.antialias || scale > 1 {
		scale = 1
	}
	first = int(math.Floor(at)) + int(math.Floor(-reach/scale)) + 1
	last := int(math.Floor(at)) + int(math.Ceil(reach/scale))
	for i := first; i <= last; i++ {
		weights = append(weights, weight((float64(i)-at)*scale))
	}
	return first, weights
}
