package kernels

// #include "loops.h"
import "C"

import "github.com/h5dnn/h5dnn/storage"

var (
	_ = onGPU(SGD, func(c *Call, set SGDSet) error {
		p, v, grad := &c.Out[0], &c.Out[len(c.Out)-1], &c.In[0]
		args := sgdArgs{rate: set.Rate, momentum: set.Momentum, decay: set.Decay, velocity: int64(len(c.Out) - 1)}
		if set.Nesterov {
			args.nesterov = 1
		}
		args.dials, args.guard = c.steer()
		return c.eachGrid([]*storage.Array{p, v, grad}, func(g *C.h5k_grid, at starts, n int64) error {
			args.p, args.v, args.g, args.n, args.grid = at[0], at[1], at[2], n, *g
			return launch(c.gpu, entry("sgd", p.Type), n, &args)
		})
	})

	_ = onGPU(Adam, func(c *Call, set AdamSet) error {
		a := set.terms(nil)
		args := adamArgs{beta1: set.Beta1, beta2: set.Beta2, eps: set.Eps, coupled: a.coupled, keep: a.keep, rate: a.rate, scale: a.scale}
		args.dials, args.guard = c.steer()
		return c.eachGrid([]*storage.Array{&c.Out[0], &c.Out[1], &c.Out[2], &c.In[0]}, func(g *C.h5k_grid, at starts, n int64) error {
			args.p, args.m, args.v, args.g, args.n, args.grid = at[0], at[1], at[2], at[3], n, *g
			return launch(c.gpu, entry("adam", c.Out[0].Type), n, &args)
		})
	})
)

// sgdArgs and adamArgs are SGD and Adam of update.cu.
type sgdArgs struct {
	p, v, g, dials, guard uint64
	rate, momentum, decay float64
	nesterov, velocity, n int64
	grid                  C.h5k_grid
}

type adamArgs struct {
	p, m, v, g, dials, guard                      uint64
	beta1, beta2, eps, coupled, keep, rate, scale float64
	n                                             int64
	grid                                          C.h5k_grid
}
