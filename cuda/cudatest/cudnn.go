package cudatest

// #include "libraries.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
)

// Status codes of cudnnStatus_t.
const (
	dnnInvalid     status = 2000
	dnnUnsupported status = 3000
)

// The objects of cuDNN.
type (
	dnnHandle struct {
		gpu    *gpu
		stream C.h5_handle
	}

	tensorNd struct {
		kind         C.int
		rank         int
		size, stride [5]int
	}

	filter struct {
		kind, format C.int
		rank         int
		size         [5]int
	}

	windows struct {
		axes, groups          int
		pad, stride, dilation [3]int
		mode, compute, math   C.int
	}

	activation struct {
		mode, nan C.int
	}
)

// unknownWindow is the height of a window that this cuDNN has no algorithm for; for
// failedWindow it returns an algorithm that then fails.
const (
	unknownWindow = 5
	failedWindow  = 7
)

var dnnTypes = map[C.int]dtype.Type{C.H5_DNN_FLOAT: dtype.Float32, C.H5_DNN_HALF: dtype.Float16, C.H5_DNN_BFLOAT16: dtype.BFloat16}

func dnnIf(ok bool) status {
	if ok {
		return 0
	}
	return dnnInvalid
}

//export fake_cudnnGetVersion
func fake_cudnnGetVersion() C.size_t { return 90203 }

//export fake_cudnnGetErrorString
func fake_cudnnGetErrorString(s status) *C.char {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	return keep(map[status]string{dnnInvalid: "CUDNN_STATUS_BAD_PARAM", dnnUnsupported: "CUDNN_STATUS_NOT_SUPPORTED"}[s])
}

//export fake_cudnnCreate
func fake_cudnnCreate(handle *C.h5_object) status {
	answer := dnnInvalid
	in(func(g *gpu) code { answer = create(handle, &dnnHandle{gpu: g}); return success })
	return answer
}

//export fake_cudnnSetStream
func fake_cudnnSetStream(handle C.h5_object, to C.h5_handle) status {
	return issued(to, dnnInvalid, func(g *gpu, _ *stream) status {
		h := object[dnnHandle](handle)
		if h == nil || h.gpu != g {
			return dnnInvalid
		}
		h.stream = to
		return 0
	})
}

//export fake_cudnnCreateTensorDescriptor
func fake_cudnnCreateTensorDescriptor(handle *C.h5_object) status {
	return locked(func() status { return create(handle, new(tensorNd)) })
}

//export fake_cudnnDestroyTensorDescriptor
func fake_cudnnDestroyTensorDescriptor(handle C.h5_object) status {
	return destroy[tensorNd](handle, dnnInvalid)
}

//export fake_cudnnSetTensorNdDescriptor
func fake_cudnnSetTensorNdDescriptor(handle C.h5_object, kind, rank C.int, size, stride *C.int) status {
	return locked(func() status {
		t := object[tensorNd](handle)
		_, known := dnnTypes[kind]
		if t == nil || !known || rank < 4 || rank > 5 {
			return dnnInvalid
		}
		*t = tensorNd{kind, int(rank), sizes(size, rank), sizes(stride, rank)}
		return dnnIf(min(slices.Min(t.size[:rank]), slices.Min(t.stride[:rank])) > 0)
	})
}

// sizes returns n ints of an array.
func sizes(of *C.int, n C.int) (all [5]int) {
	for i, size := range unsafe.Slice(of, int(n)) {
		all[i] = int(size)
	}
	return all
}

//export fake_cudnnCreateFilterDescriptor
func fake_cudnnCreateFilterDescriptor(handle *C.h5_object) status {
	return locked(func() status { return create(handle, new(filter)) })
}

//export fake_cudnnDestroyFilterDescriptor
func fake_cudnnDestroyFilterDescriptor(handle C.h5_object) status {
	return destroy[filter](handle, dnnInvalid)
}

//export fake_cudnnSetFilterNdDescriptor
func fake_cudnnSetFilterNdDescriptor(handle C.h5_object, kind, format, rank C.int, size *C.int) status {
	return locked(func() status {
		f := object[filter](handle)
		if f == nil || rank < 4 || rank > 5 || format != C.H5_DNN_NCHW && format != C.H5_DNN_NHWC {
			return dnnInvalid
		}
		*f = filter{kind, format, int(rank), sizes(size, rank)}
		return dnnIf(slices.Min(f.size[:rank]) > 0)
	})
}

//export fake_cudnnCreateConvolutionDescriptor
func fake_cudnnCreateConvolutionDescriptor(handle *C.h5_object) status {
	return locked(func() status { return create(handle, new(windows)) })
}

//export fake_cudnnDestroyConvolutionDescriptor
func fake_cudnnDestroyConvolutionDescriptor(handle C.h5_object) status {
	return destroy[windows](handle, dnnInvalid)
}

//export fake_cudnnSetConvolutionNdDescriptor
func fake_cudnnSetConvolutionNdDescriptor(handle C.h5_object, axes C.int, pad, stride, dilation *C.int, mode, compute C.int) status {
	return locked(func() status {
		w := object[windows](handle)
		if w == nil || axes < 2 || axes > 3 {
			return dnnInvalid
		}
		p, s, d := sizes(pad, axes), sizes(stride, axes), sizes(dilation, axes)
		*w = windows{int(axes), 1, [3]int(p[:3]), [3]int(s[:3]), [3]int(d[:3]), mode, compute, C.H5_DNN_DEFAULT_MATH}
		return dnnIf(min(slices.Min(s[:axes]), slices.Min(d[:axes])) > 0 && slices.Min(p[:axes]) >= 0)
	})
}

//export fake_cudnnSetConvolutionGroupCount
func fake_cudnnSetConvolutionGroupCount(handle C.h5_object, groups C.int) status {
	return locked(func() status {
		w := object[windows](handle)
		if w == nil || groups < 1 {
			return dnnInvalid
		}
		w.groups = int(groups)
		return 0
	})
}

//export fake_cudnnSetConvolutionMathType
func fake_cudnnSetConvolutionMathType(handle C.h5_object, math C.int) status {
	return locked(func() status {
		w := object[windows](handle)
		if w == nil {
			return dnnInvalid
		}
		w.math = math
		return 0
	})
}

//export fake_cudnnCreateActivationDescriptor
func fake_cudnnCreateActivationDescriptor(handle *C.h5_object) status {
	return locked(func() status { return create(handle, new(activation)) })
}

//export fake_cudnnDestroyActivationDescriptor
func fake_cudnnDestroyActivationDescriptor(handle C.h5_object) status {
	return destroy[activation](handle, dnnInvalid)
}

//export fake_cudnnSetActivationDescriptor
func fake_cudnnSetActivationDescriptor(handle C.h5_object, mode, nan C.int, _ C.double) status {
	return locked(func() status {
		a := object[activation](handle)
		if a == nil {
			return dnnInvalid
		}
		*a = activation{mode, nan}
		return 0
	})
}

// A convolution is the descriptors of one, whichever of its arrays is computed.
type convolution struct {
	windows
	x, y tensorNd
	w    filter
}

// convOf returns the convolution, and cuDNN's status for it.
func convOf(handle, x, w, windowing, y C.h5_object) (convolution, status) {
	xs, ws, cs, ys := object[tensorNd](x), object[filter](w), object[windows](windowing), object[tensorNd](y)
	if object[dnnHandle](handle) == nil || xs == nil || ws == nil || cs == nil || ys == nil {
		return convolution{}, dnnInvalid
	}
	c := convolution{*cs, *xs, *ys, *ws}
	if !c.fits() {
		return c, dnnInvalid
	}
	slow := c.x.kind != C.H5_DNN_FLOAT && c.math != C.H5_DNN_TENSOR_MATH // NVIDIA's would do it, without tensor cores
	if c.w.size[2] == unknownWindow || !c.alike() || slow {
		return c, dnnUnsupported
	}
	return c, 0
}

// fits reports whether shapes, types and modes match.
func (c *convolution) fits() bool {
	if c.x.kind != c.w.kind || c.y.kind != c.x.kind || c.mode != C.H5_DNN_CROSS_CORRELATION || c.compute != C.H5_DNN_FLOAT {
		return false
	}
	if rank := c.axes + 2; c.x.rank != rank || c.w.rank != rank || c.y.rank != rank {
		return false
	}
	for i := range c.axes {
		if c.y.size[2+i] != (c.x.size[2+i]+2*c.pad[i]-(c.w.size[2+i]-1)*c.dilation[i]-1)/c.stride[i]+1 {
			return false
		}
	}
	return c.x.size[0] == c.y.size[0] && c.x.size[1] == c.w.size[1]*c.groups && c.y.size[1] == c.w.size[0] && c.w.size[0]%c.groups == 0
}

// alike reports whether all arrays have the weights' format.
func (c *convolution) alike() bool {
	return c.x.stride == c.w.strides(c.x.size) && c.y.stride == c.w.strides(c.y.size)
}

// strides returns the strides of a dense array of that size in the weights' format.
func (f *filter) strides(size [5]int) (strides [5]int) {
	step := 1
	if f.format == C.H5_DNN_NHWC {
		strides[1], step = 1, size[1]
	}
	for i := f.rank - 1; i >= 0; i-- {
		if i != 1 || f.format != C.H5_DNN_NHWC {
			strides[i] = step
			step *= size[i]
		}
	}
	return strides
}

// needs returns the workspace size: none for few channels.
func (c *convolution) needs() C.size_t { return C.size_t(c.w.size[1]/2) << 10 }

// right is the only algorithm of those offered that may be chosen.
const right C.int = 6

// offered lists algorithms, those first that must not be taken: one that fails, one
// whose results vary, one that needs too much memory, and one with less precise factors.
func (c *convolution) offered(count *C.int, found *C.h5_candidate) status {
	list := []C.h5_candidate{
		{algorithm: 0, status: dnnUnsupported, determinism: C.H5_DNN_DETERMINISTIC, math: C.H5_DNN_FMA_MATH},
		{algorithm: 4, status: dnnUnsupported, determinism: C.H5_DNN_DETERMINISTIC, math: C.H5_DNN_TENSOR_MATH},
		{algorithm: 1, math: C.H5_DNN_FMA_MATH},
		{algorithm: 2, workspace: 1 << 40, determinism: C.H5_DNN_DETERMINISTIC, math: C.H5_DNN_FMA_MATH},
		{algorithm: right, workspace: c.needs(), determinism: C.H5_DNN_DETERMINISTIC, math: c.math},
	}
	if c.math == C.H5_DNN_FMA_MATH {
		list[1].status = 0 // which computes by tensor cores, when that was not asked for
	}
	*count = C.int(copy(unsafe.Slice(found, C.H5_DNN_ALGORITHMS), list))
	return 0
}

func findAlgorithms(handle, x, w, windowing, y C.h5_object, most C.int, count *C.int, found *C.h5_candidate) status {
	return locked(func() status {
		fake.countLaunch("cudnnGetConvolutionAlgorithm")
		c, answer := convOf(handle, x, w, windowing, y)
		if answer != 0 || most < C.H5_DNN_ALGORITHMS {
			return answer
		}
		return c.offered(count, found)
	})
}

//export fake_cudnnGetConvolutionForwardAlgorithm_v7
func fake_cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, conv, y C.h5_object, most C.int, count *C.int, found *C.h5_candidate) status {
	return findAlgorithms(handle, x, w, conv, y, most, count, found)
}

//export fake_cudnnGetConvolutionBackwardDataAlgorithm_v7
func fake_cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, dy, conv, dx C.h5_object, most C.int, count *C.int, found *C.h5_candidate) status {
	return findAlgorithms(handle, dx, w, conv, dy, most, count, found)
}

//export fake_cudnnGetConvolutionBackwardFilterAlgorithm_v7
func fake_cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, dy, conv, dw C.h5_object, most C.int, count *C.int, found *C.h5_candidate) status {
	return findAlgorithms(handle, x, dw, conv, dy, most, count, found)
}

// A dnnCall holds the arguments that all three kinds of convolution share.
type dnnCall struct {
	name        string
	computes    int             // of at: 0 is x, 1 is w, 2 is y
	at          [3]C.h5_address // x, w, y
	alpha, beta unsafe.Pointer
	algorithm   C.int
	workspace   C.h5_address
	bytes       C.size_t
	finish      func(gpu *gpu, c *convolution, sums []float64) error // nil for none
}

// do issues a convolution.
func (k dnnCall) do(handle, x, w, windowing, y C.h5_object, ready func(gpu *gpu, c *convolution) status) status {
	fake.mu.Lock()
	h := object[dnnHandle](handle)
	fake.mu.Unlock()
	if h == nil {
		return dnnInvalid
	}
	return issued(h.stream, dnnInvalid, func(gpu *gpu, s *stream) status {
		c, answer := convOf(handle, x, w, windowing, y)
		if answer == 0 && (k.algorithm != right || *(*float32)(k.alpha) != 1 || *(*float32)(k.beta) != 0 || !validWorkspace(gpu, k.workspace, k.bytes, c.needs())) {
			answer = dnnInvalid
		}
		if answer == 0 && c.w.size[2] == failedWindow {
			answer = dnnUnsupported
		}
		if answer == 0 && ready != nil {
			answer = ready(gpu, &c)
		}
		if answer == 0 {
			answer = dnnIf(success == fake.issue(s, position{}, func() error {
				fake.countLaunch(k.name)
				if fake.skipKernels.Load() {
					return nil
				}
				return k.run(gpu, &c)
			}))
		}
		return answer
	})
}

// run computes the convolution.
func (k *dnnCall) run(gpu *gpu, c *convolution) (err error) {
	t := dnnTypes[c.x.kind]
	var all [3][]float64
	for i, size := range [3][5]int{c.x.size, c.w.size, c.y.size} {
		n := 1
		for _, s := range size[:c.axes+2] {
			n *= s
		}
		if all[i], err = gpu.load(uint64(k.at[i]), n, t); err != nil {
			return err
		}
	}
	i, j, sums := (k.computes+1)%3, (k.computes+2)%3, all[k.computes]
	clear(sums)
	c.taps(func(at [3]int) { sums[at[k.computes]] += all[i][at[i]] * all[j][at[j]] })
	if k.finish != nil {
		if err := k.finish(gpu, c, sums); err != nil {
			return err
		}
	}
	return gpu.store(uint64(k.at[k.computes]), sums, t)
}

// taps calls visit with the positions in x, w and y of every product of the sums.
func (c *convolution) taps(visit func(at [3]int)) {
	weights, outputs := c.w.strides(c.w.size), c.w.size[0]/c.groups
	each(c.y.size[:c.axes+2], func(y []int) {
		taps := append([]int{c.w.size[1]}, c.w.size[2:c.axes+2]...)
		each(taps, func(tap []int) {
			at := [3]int{
				y[0]*c.x.stride[0] + (y[1]/outputs*c.w.size[1]+tap[0])*c.x.stride[1],
				y[1]*weights[0] + tap[0]*weights[1],
				y[0]*c.y.stride[0] + y[1]*c.y.stride[1],
			}
			for i := range c.axes {
				x := y[2+i]*c.stride[i] + tap[1+i]*c.dilation[i] - c.pad[i]
				if x < 0 || x >= c.x.size[2+i] {
					return
				}
				at[0] += x * c.x.stride[2+i]
				at[1] += tap[1+i] * weights[2+i]
				at[2] += y[2+i] * c.y.stride[2+i]
			}
			visit(at)
		})
	})
}

// each calls visit with every index of an array of that size.
func each(size []int, visit func(index []int)) {
	index := make([]int, len(size))
	for {
		visit(index)
		axis := len(size) - 1
		for ; axis >= 0; axis-- {
			if index[axis]++; index[axis] < size[axis] {
				break
			}
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

//export fake_cudnnConvolutionForward
func fake_cudnnConvolutionForward(handle C.h5_object, alpha unsafe.Pointer, x C.h5_object, xAt C.h5_address, w C.h5_object, wAt C.h5_address,
	conv C.h5_object, algorithm C.int, workspace C.h5_address, bytes C.size_t, beta unsafe.Pointer, y C.h5_object, yAt C.h5_address) status {
	k := dnnCall{"cudnnConvolutionForward", 2, [3]C.h5_address{xAt, wAt, yAt}, alpha, beta, algorithm, workspace, bytes, nil}
	return k.do(handle, x, w, conv, y, nil)
}

//export fake_cudnnConvolutionBackwardData
func fake_cudnnConvolutionBackwardData(handle C.h5_object, alpha unsafe.Pointer, w C.h5_object, wAt C.h5_address, dy C.h5_object, dyAt C.h5_address,
	conv C.h5_object, algorithm C.int, workspace C.h5_address, bytes C.size_t, beta unsafe.Pointer, dx C.h5_object, dxAt C.h5_address) status {
	k := dnnCall{"cudnnConvolutionBackwardData", 0, [3]C.h5_address{dxAt, wAt, dyAt}, alpha, beta, algorithm, workspace, bytes, nil}
	return k.do(handle, dx, w, conv, dy, nil)
}

//export fake_cudnnConvolutionBackwardFilter
func fake_cudnnConvolutionBackwardFilter(handle C.h5_object, alpha unsafe.Pointer, x C.h5_object, xAt C.h5_address, dy C.h5_object, dyAt C.h5_address,
	conv C.h5_object, algorithm C.int, workspace C.h5_address, bytes C.size_t, beta unsafe.Pointer, dw C.h5_object, dwAt C.h5_address) status {
	k := dnnCall{"cudnnConvolutionBackwardFilter", 1, [3]C.h5_address{xAt, dwAt, dyAt}, alpha, beta, algorithm, workspace, bytes, nil}
	return k.do(handle, x, dw, conv, dy, nil)
}

// fake_cudnnConvolutionBiasActivationForward: beta, which is 0, scales what z holds; z may be y.
//
//export fake_cudnnConvolutionBiasActivationForward
func fake_cudnnConvolutionBiasActivationForward(handle C.h5_object, alpha unsafe.Pointer, x C.h5_object, xAt C.h5_address, w C.h5_object, wAt C.h5_address,
	conv C.h5_object, algorithm C.int, workspace C.h5_address, bytes C.size_t, beta unsafe.Pointer, z C.h5_object, zAt C.h5_address,
	bias C.h5_object, biasAt C.h5_address, act C.h5_object, y C.h5_object, yAt C.h5_address) status {
	k := dnnCall{"cudnnConvolutionBiasActivationForward", 2, [3]C.h5_address{xAt, wAt, yAt}, alpha, beta, algorithm, workspace, bytes, biased(biasAt)}
	return k.do(handle, x, w, conv, y, func(gpu *gpu, c *convolution) status {
		b, a, zs := object[tensorNd](bias), object[activation](act), object[tensorNd](z)
		ok := b != nil && a != nil && zs != nil && *zs == c.y && zAt == yAt && b.kind == c.x.kind && b.rank == c.y.rank && b.size == sizeOfBias(c) &&
			*a == activation{C.H5_DNN_RELU, C.H5_DNN_PROPAGATE_NAN}
		return dnnIf(ok)
	})
}

func sizeOfBias(c *convolution) (size [5]int) {
	for i := range c.axes + 2 {
		size[i] = 1
	}
	size[1] = c.w.size[0]
	return size
}

// biased adds a bias to y, and applies relu.
func biased(at C.h5_address) func(gpu *gpu, c *convolution, y []float64) error {
	return func(gpu *gpu, c *convolution, y []float64) error {
		bias, err := gpu.load(uint64(at), c.y.size[1], dnnTypes[c.y.kind])
		if err != nil {
			return err
		}
		for i := range y {
			channel := i / c.y.stride[1] % c.y.size[1]
			if y[i] += bias[channel]; y[i] < 0 {
				y[i] = 0
			}
		}
		return nil
	}
}
