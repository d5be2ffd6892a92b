package onnxgraph

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = simple("Conv", 1, func(c *call) *tensor.Tensor { return c.conv(c.x(0), c.x(1), c.optional(2)) })
	_ = simple("ConvTranspose", 1, convTranspose)
)

// A window is how a kernel goes over spatial axes.
type window struct {
	kernel, stride, dilation []int
	padding                  [3][2]int
}

// axesOf returns n numbers of an attribute, or 1 for each.
func (c *call) axesOf(name string, n int) []int {
	list := c.integers(name)
	if list == nil {
		return repeat(1, n)
	}
	if len(list) != n {
		c.fail(views.ErrShape, "%s %v for %d spatial axes", name, list, n)
	}
	return list
}

// window returns the window of a node for an input (N, C, …).
func (c *call) window(x []int, kernel []int) (w window) {
	n := len(x) - 2
	if n < 1 || n > 3 || len(kernel) != n {
		c.fail(views.ErrShape, "a window %v over %v; want one to three spatial axes", kernel, x)
	}
	w.kernel, w.stride, w.dilation = kernel, c.axesOf("strides", n), c.axesOf("dilations", n)
	for i := range n {
		if w.kernel[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 {
			c.fail(views.ErrShape, "kernel %v, strides %v, dilations %v", w.kernel, w.stride, w.dilation)
		}
	}
	switch auto := c.text("auto_pad", "NOTSET"); auto {
	case "SAME_UPPER", "SAME_LOWER":
		for i := range n {
			size := x[2+i]
			outputs := (size + w.stride[i] - 1) / w.stride[i]
			total := max(0, (outputs-1)*w.stride[i]+(w.kernel[i]-1)*w.dilation[i]+1-size)
			w.padding[i] = halves(total, auto == "SAME_UPPER")
		}
	case "VALID":
	default:
		if pads := c.integers("pads"); pads != nil {
			if len(pads) != 2*n {
				c.fail(views.ErrShape, "pads %v for %d spatial axes", pads, n)
			}
			for i := range n {
				w.padding[i] = [2]int{pads[i], pads[n+i]}
			}
		}
	}
	return w
}

// halves divides padding between the two ends of an axis, the rest at the end or at the front.
func halves(total int, atEnd bool) [2]int {
	if atEnd {
		return [2]int{total / 2, total - total/2}
	}
	return [2]int{total - total/2, total / 2}
}

func sizes3(list []int) (sizes [3]int) {
	copy(sizes[:], list)
	return sizes
}

// conv computes a convolution with the window of the node.
func (c *call) conv(x, w, b *tensor.Tensor) *tensor.Tensor {
	if w.Rank() < 3 || w.Rank() != x.Rank() {
		c.fail(views.ErrShape, "%v with weights %v", x.Shape(), w.Shape())
	}
	o := c.window(x.Shape(), w.Shape()[2:])
	return tensor.Conv(x, w, b, tensor.ConvOptions{
		Stride: sizes3(o.stride), Dilation: sizes3(o.dilation), Padding: o.padding, Groups: c.integer("group", 1), Act: c.act,
	})
}

func convTranspose(c *call) *tensor.Tensor {
	x, w := c.x(0), c.x(1)
	if w.Rank() < 3 || w.Rank() != x.Rank() {
		c.fail(views.ErrShape, "%v with weights %v", x.Shape(), w.Shape())
	}
	n := x.Rank() - 2
	o := c.window(x.Shape(), w.Shape()[2:])
	extra := c.integers("output_padding")
	if extra == nil {
		extra = make([]int, n)
	}
	shape, auto := c.integers("output_shape"), c.text("auto_pad", "NOTSET")
	same := auto == "SAME_UPPER" || auto == "SAME_LOWER"
	if len(extra) != n || shape != nil && len(shape) < n {
		c.fail(views.ErrShape, "output padding %v, output shape %v for %d spatial axes", extra, shape, n)
	}
	for i := range n {
		if shape == nil && !same {
			break
		}
		size := x.Size(2+i) * o.stride[i]
		if shape != nil {
			size = shape[len(shape)-n+i]
		}
		total := o.stride[i]*(x.Size(2+i)-1) + extra[i] + (w.Size(2+i)-1)*o.dilation[i] + 1 - size
		if total < 0 { // a row more than the windows reach
			extra[i] -= total
			total = 0
		}
		o.padding[i] = halves(total, auto == "SAME_UPPER")
	}
	return tensor.ConvTranspose(x, w, c.optional(2), tensor.ConvTransposeOptions{
		ConvOptions:   tensor.ConvOptions{Stride: sizes3(o.stride), Dilation: sizes3(o.dilation), Padding: o.padding, Groups: c.integer("group", 1), Act: c.act},
		OutputPadding: sizes3(extra),
	})
}
