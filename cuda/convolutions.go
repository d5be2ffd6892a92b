package cuda

// #include "vendor.h"
import "C"

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
)

// Convolve implements [launch.Convolver] by cuDNN.
func (d *Device) Convolve(c launch.Convolution) (done bool, err error) {
	v := &d.vendor
	v.mu.Lock()
	defer v.mu.Unlock()
	g, ok := convolutionOf(c, v.tf32)
	if !ok {
		return false, nil
	}
	handle, err := v.handle(d, cudnn)
	if handle == 0 || err != nil {
		return false, err
	}
	choice := v.choice(g.problem())
	if choice.state == C.H5_NONE {
		return false, nil
	}
	if c.Before != nil {
		if err := c.Before(); err != nil {
			return false, err
		}
	}
	d.retain(v.dnnState) // the handle must not be used by two branches of a graph
	g.workspace, g.bytes = d.workspaceFor(choice)
	timer := d.startTimer(d.stream)
	code := C.h5_convolution_issue(d.context, handle, d.stream.handle, (*C.h5_convolution)(&g), choice)
	switch {
	case unsupported(code):
		refuse(choice, "the chosen algorithm does not support it after all")
	case code != 0:
		d.decline(choice, cudnn, status("convolve", code, dnnText))
	}
	if choice.state == C.H5_NONE {
		if timer != nil {
			timer.Close()
		}
		return false, nil
	}
	d.count("launch", "cuDNN", 0)
	d.stopTimer(timer, d.stream, "cuDNN")
	return true, nil
}

// unsupported reports whether a cuDNN status means "not supported" rather than a
// failure: status codes have classes, by the thousand.
func unsupported(code C.h5_status) bool { return code/1000 == 3 }

// A convolution is one as cuDNN has it.
type convolution C.h5_convolution

// convolutionOf describes c, and reports whether cuDNN takes it: all arrays lie
// row-major, or all channels-last.
func convolutionOf(c launch.Convolution, tf32 bool) (g convolution, ok bool) {
	if g._type, ok = dnnTypes[c.Type]; !ok {
		return g, false
	}
	g.kind, g.compute, g.math = dnnKinds[c.Computes], C.H5_DNN_FLOAT, C.H5_DNN_DEFAULT_MATH
	switch {
	case c.Type != dtype.Float32:
		g.math = C.H5_DNN_TENSOR_MATH
	case !tf32:
		g.math = C.H5_DNN_FMA_MATH
	}
	if g.format = C.H5_DNN_NCHW; c.ChannelsLast {
		g.format = C.H5_DNN_NHWC
	}
	g.x, g.y, g.w, g.bias = imageOf(c.X), imageOf(c.Y), C.h5_address(c.W.Address), C.h5_address(c.Bias)
	g.rank, g.groups = C.int(c.X.Rank), C.int(c.Groups)
	for i := range 3 {
		g.stride[i], g.dilation[i], g.pad[i] = C.int(c.Stride[i]), C.int(c.Dilation[i]), C.int(c.Padding[i])
	}
	for i := range 5 {
		g.weights[i] = C.int(c.W.Size[i])
	}
	return g, fitsInt32(c.W) && fitsInt32(c.X) && fitsInt32(c.Y)
}

var dnnTypes = map[dtype.Type]C.int{
	dtype.Float32: C.H5_DNN_FLOAT, dtype.Float16: C.H5_DNN_HALF, dtype.BFloat16: C.H5_DNN_BFLOAT16,
}

var dnnKinds = map[launch.Operand]C.int{
	launch.OperandY: C.H5_FORWARD, launch.OperandX: C.H5_BACKWARD_DATA, launch.OperandW: C.H5_BACKWARD_FILTER,
}

// imageOf describes an image.
func imageOf(image launch.Image) C.h5_image {
	i := C.h5_image{at: C.h5_address(image.Address)}
	for axis := range image.Rank {
		i.size[axis], i.stride[axis] = C.int(image.Size[axis]), C.int(image.Stride[axis])
	}
	return i
}

// fitsInt32 reports whether the number of an array's elements fits cuDNN's int.
func fitsInt32(image launch.Image) bool {
	elements := 1
	for _, size := range image.Size[:image.Rank] {
		elements *= size
	}
	return elements <= math.MaxInt32
}

// problem returns the part of g that the choice of an algorithm depends on.
func (g convolution) problem() C.h5_convolution {
	g.x.at, g.y.at, g.w, g.bias = alignment(g.x.at), alignment(g.y.at), alignment(g.w), alignment(g.bias)
	return C.h5_convolution(g)
}
