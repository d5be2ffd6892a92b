package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// BiasAct is y = act(z + b), for z of shape (N, C, …) in any layout and b (C). Out y and,
// if wanted, z + b; either may be z. Its options are ActOptions.
var BiasAct = updatesInPlace(define("bias act",
	func(c *Call, options ActOptions) error {
		if err := c.checkOperands(min(max(len(c.Out), 1), 2), 2); err != nil {
			return err
		}
		for i := range c.Out {
			if err := oneShape(c.Out[i], c.In[0]); err != nil {
				return err
			}
		}
		return checkBias(&c.In[0], &c.In[1], options, c.Out...)
	},
	func(c *Call, options ActOptions) error {
		z, b := c.In[0], perChannel(&c.In[1], c.In[0].Shape)
		if len(c.Out) == 2 {
			referenceZip(func(z, b float64) float64 { return z + b }, c.Out[1], z, b)
			referenceMap(options.Act.of, c.Out[0], c.Out[1])
			return nil
		}
		referenceZip(func(z, b float64) float64 { return options.Act.of(z + b) }, c.Out[0], z, b)
		return nil
	},
	func(c *Call, options ActOptions) (bool, error) {
		biased := Call{Out: c.Out, In: []storage.Array{c.In[0], perChannel(&c.In[1], c.In[0].Shape)}}
		if len(c.Out) == 1 {
			return runOp(biasOps[options.Act], &biased, 0, 0), nil
		}
		biased.Out = c.Out[1:]
		if !runOp(biasOps[NoActivation], &biased, 0, 0) {
			return false, nil
		}
		return true, options.Act.apply(&c.Out[0], &c.Out[1])
	}))

var biasOps = [...]native.Op{
	opOf("add"), opOf("bias relu"), opOf("bias tanh"), opOf("bias sigmoid"), opOf("bias gelu"), opOf("bias gelu tanh"), opOf("bias silu"),
}

// ActGrad is dz = dy·act'(z) for y = act(z). Its inputs are y, or z if the activation is
// OfInput, and dy; its options are ActOptions.
var ActGrad = updatesInPlace(define("act grad",
	func(c *Call, options ActOptions) error {
		if err := options.Act.check(); err != nil {
			return err
		}
		return c.checkAlike(2, dtype.Invalid)
	},
	func(c *Call, options ActOptions) error {
		if err := allFloats(c.In...); err != nil {
			return err
		}
		referenceZip(options.Act.grad, c.Out[0], c.In[0], c.In[1])
		return nil
	},
	func(c *Call, options ActOptions) (bool, error) {
		if options.Act == NoActivation {
			return optimizedCopy(&c.Out[0], &c.In[1]), nil
		}
		return runOp(gradOps[options.Act], c, 0, 0), nil
	}))

var gradOps = [...]native.Op{
	ReLUActivation: opOf("relu grad"), TanhActivation: opOf("tanh grad"), SigmoidActivation: opOf("sigmoid grad"),
	GELUActivation: opOf("gelu grad"), GELUTanhActivation: opOf("gelu tanh grad"), SiLUActivation: opOf("silu grad"),
}

// ActGradBias is the gradient of BiasAct in one pass: dz = dy·act'(z), and db, the sum of dz
// over all axes but the channels. Its inputs are those of ActGrad, of shape
// (N, C, …); its options are ActOptions. After a relu, y may be the result of a dropout: then
// it is the gradient of both.
var ActGradBias = updatesInPlace(define("act grad bias",
	func(c *Call, options ActOptions) error {
		if err := c.checkOperands(2, 2); err != nil {
			return err
		}
		if err := oneShape(c.Out[0], c.In[0], c.In[1]); err != nil {
			return err
		}
		if err := options.checkDropped(); err != nil {
			return err
		}
		return checkBias(&c.Out[0], &c.Out[1], options, c.In...)
	},
	func(c *Call, options ActOptions) error {
		dz, db := &c.Out[0], &c.Out[1]
		exact := zeros(dz.Shape)
		referenceZip(func(y, dy float64) float64 { return options.Act.grad(y, dy/(1-options.Dropped)) }, exact, c.In[0], c.In[1])
		convertElements(dz, &exact)
		shape := make([]int, dz.Rank())
		for axis := range shape {
			shape[axis] = 1
		}
		shape[1] = dz.Shape[1]
		sums := storage.From(reduce(0, add[float64], &exact, shape), db.Shape...)
		convertElements(db, &sums)
		return nil
	}, optimizedActGradBias))

// optimizedActGradBias takes one pass if channels are the innermost axis of all operands,
// and else two.
func optimizedActGradBias(c *Call, options ActOptions) (bool, error) {
	dz, db, y, dy := &c.Out[0], &c.Out[1], &c.In[0], &c.In[1]
	real, ok := native.ComputeTypeOf(dz.Type)
	if !ok || dz.Len() == 0 {
		return false, nil
	}
	channels := dz.Shape[1]
	var g native.Grid
	if n, fits := g.Flat(&dz.View, &y.View, &dy.View); fits && (dz.Stride[1] == 1 || channels == 1) && (db.Stride[0] == 1 || channels == 1) {
		return native.ActGradBias(real, int(options.Act), 1/(1-options.Dropped), n/int64(channels), int64(channels), at(&g, 1, y), at(&g, 2, dy), at(&g, 0, dz), start(db)), nil
	}
	if options.Dropped != 0 {
		return false, nil
	}
	if done, err := ActGrad.Optimized(&Call{Out: c.Out[:1], In: c.In, Options: options}); !done || err != nil {
		return false, err
	}
	sums := db.With(views.View{Offset: db.Offset, Shape: make([]int, dz.Rank()), Stride: make([]int, dz.Rank())})
	for axis := range sums.Shape {
		sums.Shape[axis] = 1
	}
	sums.Shape[1], sums.Stride[1] = channels, db.Stride[0]
	return nativeReduce(sumLine, &sums, dz, nil, 1), nil
}

func checkBias(z, b *storage.Array, options ActOptions, others ...storage.Array) error {
	if err := options.Act.check(); err != nil {
		return err
	}
	if z.Rank() < 2 || b.Rank() != 1 || b.Shape[0] != z.Shape[1] {
		return fmt.Errorf("%v with bias %v; want (N, C, …) and (C): %w", z.Shape, b.Shape, views.ErrShape)
	}
	if err := allFloats(*z, *b); err != nil {
		return err
	}
	return oneType(z.Type, others...)
}

// perChannel returns b (C) broadcast to shape (N, C, …).
func perChannel(b *storage.Array, shape []int) storage.Array {
	v := views.View{Offset: b.Offset, Shape: shape, Stride: make([]int, len(shape))}
	v.Stride[1] = b.Stride[0]
	return b.With(v)
}
