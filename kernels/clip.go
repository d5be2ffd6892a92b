package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ClipFactorOptions are the options of ClipFactor.
type ClipFactorOptions struct {
	Limit     float64 // of the norm
	LossScale bool    // whether the last input is a factor of all others, a single float
}

// ClipFactor is the factor by which gradients are scaled down so that their norm, taken over all of them
// together, is at most Limit (Pascanu, Mikolov and Bengio, arXiv:1211.5063):
//
//	min(1, Limit/(√Σ(x/scale)² + 1e-6))
//
// In the gradients and, with LossScale, scale; Out the factor, a single float64. A NaN makes it NaN.
var ClipFactor = define("clip factor",
	func(c *Call, options ClipFactorOptions) error {
		if err := c.checkOperands(1, len(c.In)); err != nil {
			return err
		}
		for i := range c.In {
			if err := allFloats(c.In[i]); err != nil {
				return err
			}
		}
		if !(options.Limit > 0) || math.IsInf(options.Limit, 1) {
			return fmt.Errorf("limit %v; want a positive number: %w", options.Limit, storage.ErrState)
		}
		if n := len(c.In); options.LossScale && (n == 0 || c.In[n-1].Len() != 1) {
			return fmt.Errorf("the last input is no loss scale; want a single element: %w", views.ErrShape)
		}
		return checkSingle(&c.Out[0])
	},
	func(c *Call, options ClipFactorOptions) error {
		return c.clipFactor(options, func(x *storage.Array, unscale float64) (sum float64, _ error) {
			var elems [block]float64
			blocks(func(at, step []int, n int) {
				load(elems[:n], x, at[0], step[0])
				for _, x := range elems[:n] {
					sum += x * unscale * x * unscale
				}
			}, *x)
			return sum, nil
		})
	},
	func(c *Call, options ClipFactorOptions) (bool, error) {
		for i := range c.In {
			var g native.Grid
			if _, ok := native.ComputeTypeOf(c.In[i].Type); !ok {
				return false, nil
			} else if _, flat := g.Flat(&c.In[i].View); !flat {
				return false, nil
			}
		}
		return true, c.clipFactor(options, func(x *storage.Array, unscale float64) (float64, error) {
			var g native.Grid
			n, _ := g.Flat(&x.View)
			if n == 0 {
				return 0, nil
			}
			real, _ := native.ComputeTypeOf(x.Type)
			sum, ok := native.SquareSum(real, n, at(&g, 0, x), unscale)
			if !ok {
				return 0, fmt.Errorf("no memory for the sums of %d elements", n)
			}
			return sum, nil
		})
	})

// clipFactor computes the factor from the sum of squares of each gradient, divided by the loss scale.
func (c *Call) clipFactor(options ClipFactorOptions, squares func(x *storage.Array, unscale float64) (float64, error)) error {
	gradients, unscale := c.gradients(options), 1.0
	if options.LossScale {
		var scale [1]float64
		last := &c.In[len(c.In)-1]
		load(scale[:], last, last.Offset, 0)
		unscale = 1 / scale[0]
	}
	sum := 0.0
	for i := range gradients {
		one, err := squares(&gradients[i], unscale)
		if err != nil {
			return err
		}
		sum += one
	}
	factor := 1.0
	if norm := math.Sqrt(sum) + 1e-6; !(norm < options.Limit) {
		factor = options.Limit / norm
	}
	storage.Elements[float64](c.Out[0])[c.Out[0].Offset] = factor
	return nil
}

// gradients returns the inputs without the loss scale.
func (c *Call) gradients(options ClipFactorOptions) []storage.Array {
	if options.LossScale {
		return c.In[:len(c.In)-1]
	}
	return c.In
}

// checkSingle checks that a is a single float64.
func checkSingle(a *storage.Array) error {
	if a.Len() != 1 {
		return fmt.Errorf("%v; want one element: %w", a.Shape, views.ErrShape)
	}
	return oneType(dtype.Float64, *a)
}

// ClampAllOptions are the options of ClampAll.
type ClampAllOptions struct{ Limit float64 }

// ClampAll limits the elements of several arrays at once to the range from −Limit·scale to Limit·scale: Out the
// results; In the arrays and, if there is one more input, scale, a single float. NaN stays.
var ClampAll = updatesInPlace(define("clamp all",
	func(c *Call, options ClampAllOptions) error {
		if err := c.checkOperands(len(c.Out), min(max(len(c.Out), len(c.In)), len(c.Out)+1)); err != nil {
			return err
		}
		for i := range c.Out {
			if err := oneShape(c.Out[i], c.In[i]); err != nil {
				return err
			}
			if err := allFloats(c.Out[i], c.In[i]); err != nil {
				return err
			}
		}
		if !(options.Limit > 0) || math.IsInf(options.Limit, 1) {
			return fmt.Errorf("limit %v; want a positive number: %w", options.Limit, storage.ErrState)
		}
		if len(c.In) == len(c.Out) {
			return nil
		}
		scale := &c.In[len(c.Out)]
		if scale.Len() != 1 {
			return fmt.Errorf("scale %v; want one element: %w", scale.Shape, views.ErrShape)
		}
		return allFloats(*scale)
	},
	func(c *Call, options ClampAllOptions) error {
		limit := c.clampLimit(options)
		for i := range c.Out {
			referenceMap(func(x float64) float64 { return max(-limit, min(limit, x)) }, c.Out[i], c.In[i])
		}
		return nil
	},
	func(c *Call, options ClampAllOptions) (bool, error) {
		limit := c.clampLimit(options)
		for i := range c.Out {
			bounds, err := storage.Make(storage.CPU, c.In[i].Type, 2)
			if err != nil {
				return false, err
			}
			store(&bounds, 0, 1, []float64{-limit, limit})
			bound := func(at int) storage.Array {
				return bounds.With(views.View{Offset: at, Shape: c.Out[i].Shape, Stride: make([]int, c.Out[i].Rank())})
			}
			one := Call{Out: c.Out[i : i+1], In: []storage.Array{c.In[i], bound(0), bound(1)}}
			if !runOp(clampOp, &one, 0, 0) {
				referenceMap(func(x float64) float64 { return max(-limit, min(limit, x)) }, c.Out[i], c.In[i])
			}
		}
		return true, nil
	}))

var clampOp = opOf("clamp")

// clampLimit returns the limit of ClampAll, times the scale if there is one.
func (c *Call) clampLimit(options ClampAllOptions) float64 {
	if len(c.In) == len(c.Out) {
		return options.Limit
	}
	var scale [1]float64
	last := &c.In[len(c.Out)]
	load(scale[:], last, last.Offset, 0)
	return options.Limit * scale[0]
}

// Scale is y = factor·x for several arrays at once: Out the y, In the x and the factor, a single float64.
var Scale = updatesInPlace(define("scale all",
	func(c *Call, _ struct{}) error {
		if err := c.checkOperands(len(c.Out), len(c.Out)+1); err != nil {
			return err
		}
		for i := range c.Out {
			if err := oneShape(c.Out[i], c.In[i]); err != nil {
				return err
			}
			if err := allFloats(c.Out[i], c.In[i]); err != nil {
				return err
			}
		}
		return checkSingle(&c.In[len(c.Out)])
	},
	func(c *Call, _ struct{}) error {
		return c.scaleAll(func(factor float64, y, x storage.Array) error {
			referenceMap(func(x float64) float64 { return x * factor }, y, x)
			return nil
		})
	},
	func(c *Call, _ struct{}) (bool, error) {
		return true, c.scaleAll(func(factor float64, y, x storage.Array) error {
			one := Call{Out: []storage.Array{y}, In: []storage.Array{x}}
			if runOp(scaleOffset, &one, factor, 0) {
				return nil
			}
			referenceMap(func(x float64) float64 { return x * factor }, y, x)
			return nil
		})
	}))

func (c *Call) scaleAll(scale func(factor float64, y, x storage.Array) error) error {
	last := &c.In[len(c.Out)]
	factor := storage.Elements[float64](*last)[last.Offset]
	for i := range c.Out {
		if err := scale(factor, c.Out[i], c.In[i]); err != nil {
			return err
		}
	}
	return nil
}

var (
	_ = onGPU(ClipFactor, func(c *Call, options ClipFactorOptions) error {
		on := *c
		on.gpu.Geometry = launch.Geometry{Blocks: launch.FullOccupancy} // the sum of squares depends on it
		gradients, args := c.gradients(options), clipFactorArgs{factor: c.gpu.First(&c.Out[0]), limit: options.Limit}
		if options.LossScale {
			scale := &c.In[len(c.In)-1]
			args.lossScale, args.scaleType = c.gpu.First(scale), int64(scale.Type.Number())
		}
		squareSums := func(counting bool) (blocks int64, err error) {
			l := multiTensor[clipFactorArgs]{c: &on, name: "square sums", args: multiTensorArgs[clipFactorArgs]{options: args}, counting: counting}
			for i := range gradients {
				x := &gradients[i]
				if err := l.add(x, nil, x); err != nil {
					return 0, err
				}
			}
			err = l.launch()
			return l.args.before, err
		}
		var err error
		if args.blocks, err = squareSums(true); err != nil {
			return err
		}
		return c.gpu.Workspace(int(8*args.blocks), func(part uint64) error {
			args.part = part
			if _, err := squareSums(false); err != nil {
				return err
			}
			return launch.Blocks(c.gpu, "clip_factor", [3]uint32{1, 1, 1}, launch.Threads, &args)
		})
	})

	_ = onGPU(ClampAll, func(c *Call, options ClampAllOptions) error {
		args := clampAllArgs{limit: options.Limit}
		if len(c.In) > len(c.Out) {
			scale := &c.In[len(c.Out)]
			args.lossScale, args.scaleType = c.gpu.First(scale), int64(scale.Type.Number())
		}
		l := multiTensor[clampAllArgs]{c: c, name: "clamp all", args: multiTensorArgs[clampAllArgs]{options: args}}
		for i := range c.Out {
			y := &c.Out[i]
			if err := l.add(y, nil, &c.In[i]); err != nil {
				return err
			}
		}
		return l.launch()
	})

	_ = onGPU(Scale, func(c *Call, _ struct{}) error {
		factor := scaleAllArgs{c.gpu.First(&c.In[len(c.Out)])}
		l := multiTensor[scaleAllArgs]{c: c, name: "scale all", args: multiTensorArgs[scaleAllArgs]{options: factor}}
		for i := range c.Out {
			y := &c.Out[i]
			if err := l.add(y, nil, &c.In[i]); err != nil {
				return err
			}
		}
		return l.launch()
	})
)

// clipFactorArgs, clampAllArgs and scaleAllArgs are ClipFactor, ClampAll and Scale of update.cu.
type clipFactorArgs struct {
	part, factor, lossScale uint64
	limit                   float64
	blocks, scaleType       int64
}

type clampAllArgs struct {
	lossScale uint64
	scaleType int64
	limit     float64
}

type scaleAllArgs struct{ factor uint64 }
