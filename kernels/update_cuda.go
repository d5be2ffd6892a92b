package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(SGD, func(c *Call, options SGDOptions) error {
		args := sgdArgs{rate: options.Rate, momentum: options.Momentum, decay: options.Decay}
		if options.Nesterov {
			args.nesterov = 1
		}
		args.hyper, args.scaler = c.stepAddresses(c.In[len(c.Out)/options.arrays():])
		l := multiTensor[sgdArgs]{c: c, name: "sgd", args: multiTensorArgs[sgdArgs]{options: args}}
		return l.update(options.arrays(), func(out []storage.Array, g *storage.Array) error {
			p, v := &out[0], &out[len(out)-1]
			return l.add(p, v, v, g)
		})
	})

	_ = onGPU(Adam, func(c *Call, options AdamOptions) error {
		own := options.Hyperparameters()
		args := adamArgs{beta1: options.Beta1, beta2: options.Beta2, eps: options.Eps, decay: options.Decay, own: own}
		if options.Decoupled {
			args.decoupled = 1
		}
		args.hyper, args.scaler = c.stepAddresses(c.In[len(c.Out)/adamArrays:])
		l := multiTensor[adamArgs]{c: c, name: "adam", args: multiTensorArgs[adamArgs]{options: args}}
		return l.update(adamArrays, func(out []storage.Array, g *storage.Array) error {
			return l.add(&out[0], &out[1], &out[2], g)
		})
	})

	_ = onGPU(FindInf, func(c *Call, _ struct{}) error {
		l := multiTensor[findInfArgs]{c: c, name: "find inf", args: multiTensorArgs[findInfArgs]{options: findInfArgs{c.gpu.First(&c.Out[0])}}}
		for i := range c.In {
			x := &c.In[i]
			if err := l.add(x, x, x, x); err != nil {
				return err
			}
		}
		return l.launch()
	})
)

// sgdArgs, adamArgs and findInfArgs are SGD, Adam and Flag of update.cu.
type sgdArgs struct {
	hyper, scaler         uint64
	rate, momentum, decay float64
	nesterov              int64
}

type adamArgs struct {
	hyper, scaler            uint64
	beta1, beta2, eps, decay float64
	own                      [hyperparameters]float64
	decoupled                int64
}

type findInfArgs struct{ scaler uint64 }

// maxParameters is the number of parameters of a launch, whose arguments take less than 4 KiB.
const maxParameters = 64

// multiTensorArgs is MultiTensor of update.cu.
type multiTensorArgs[S any] struct {
	options S
	count   int64
	before  int64       // blocks of earlier launches of the same call
	g       native.Axes // of the only parameter, if its elements do not follow one another; else of rank 0
	list    [maxParameters]parameterArgs
}

type parameterArgs struct {
	p, m, v, g uint64
	n, block   int64
}

// A multiTensor collects parameters of one type for a launch.
type multiTensor[S any] struct {
	c      *Call
	name   string
	args   multiTensorArgs[S]
	of     dtype.Type
	blocks int64

	counting bool // nothing is launched, only args.before is counted
}

// update calls add with each parameter of an update, and launches the rest.
func (l *multiTensor[S]) update(arrays int, add func(out []storage.Array, g *storage.Array) error) error {
	for i := range len(l.c.Out) / arrays {
		if err := add(l.c.parameter(i, arrays)); err != nil {
			return err
		}
	}
	return l.launch()
}

// add adds a parameter. It launches those added before if they and p do not fit into one launch.
func (l *multiTensor[S]) add(p, m, v, g *storage.Array) error {
	var flat native.Grid
	n, follows := flat.Flat(&p.View, &m.View, &v.View, &g.View)
	switch {
	case follows && n == 0:
		return nil
	case !follows || n >= launch.Limit():
		return l.alone(p, m, v, g)
	case l.args.count == maxParameters || l.args.count > 0 && l.of != p.Type:
		if err := l.launch(); err != nil {
			return err
		}
	}
	l.of = p.Type
	at := func(k int, a *storage.Array) uint64 { return l.c.gpu.At(a, flat.First[k]) }
	pack := int64(16 / p.Type.Size())
	l.put(parameterArgs{p: at(0, p), m: at(1, m), v: at(2, v), g: at(3, g), n: n}, (n+pack-1)/pack)
	return nil
}

// put adds a parameter with the given number of units for its threads.
func (l *multiTensor[S]) put(p parameterArgs, units int64) {
	blocks, _ := l.c.gpu.Divide(units)
	p.block = l.blocks
	l.args.list[l.args.count] = p
	l.args.count++
	l.blocks += blocks
}

// alone launches a parameter that is not contiguous, or too large, by itself.
func (l *multiTensor[S]) alone(p, m, v, g *storage.Array) error {
	if err := l.launch(); err != nil {
		return err
	}
	l.of = p.Type
	return l.c.gpu.EachGrid([]*storage.Array{p, m, v, g}, func(grid *native.Axes, at launch.Addresses, n int64) error {
		l.args.g = *grid
		l.put(parameterArgs{p: at[0], m: at[1], v: at[2], g: at[3], n: n}, n)
		return l.launch()
	})
}

// launch launches the parameters added since the last launch.
func (l *multiTensor[S]) launch() error {
	if l.args.count == 0 {
		return nil
	}
	each := int64(launch.Threads)
	if own := l.c.gpu.Threads; own > 0 {
		each = int64(own)
	}
	var err error
	if !l.counting {
		err = launch.Blocks(l.c.gpu, launch.Entry(l.name, l.of), [3]uint32{uint32(l.blocks), 1, 1}, uint32(each), &l.args)
	}
	l.args.before += l.blocks
	l.args.count, l.args.g.Rank, l.blocks = 0, 0, 0
	return err
}
