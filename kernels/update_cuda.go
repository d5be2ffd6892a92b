package kernels

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(SGD, func(c *Call, set SGDSet) error {
		args := sgdArgs{rate: set.Rate, momentum: set.Momentum, decay: set.Decay}
		if set.Nesterov {
			args.nesterov = 1
		}
		args.dials, args.guard = c.steer(c.In[len(c.Out)/set.arrays():])
		l := lot[sgdArgs]{c: c, name: "sgd", args: lotArgs[sgdArgs]{set: args}}
		return l.update(set.arrays(), func(out []storage.Array, g *storage.Array) error {
			p, v := &out[0], &out[len(out)-1]
			return l.add(p, v, v, g)
		})
	})

	_ = onGPU(Adam, func(c *Call, set AdamSet) error {
		own := set.Dials()
		args := adamArgs{beta1: set.Beta1, beta2: set.Beta2, eps: set.Eps, decay: set.Decay, own: own}
		if set.Decoupled {
			args.decoupled = 1
		}
		args.dials, args.guard = c.steer(c.In[len(c.Out)/adamArrays:])
		l := lot[adamArgs]{c: c, name: "adam", args: lotArgs[adamArgs]{set: args}}
		return l.update(adamArrays, func(out []storage.Array, g *storage.Array) error {
			return l.add(&out[0], &out[1], &out[2], g)
		})
	})

	_ = onGPU(Flag, func(c *Call, _ struct{}) error {
		l := lot[flagArgs]{c: c, name: "flag", args: lotArgs[flagArgs]{set: flagArgs{c.gpu.First(&c.Out[0])}}}
		for i := range c.In {
			x := &c.In[i]
			if err := l.add(x, x, x, x); err != nil {
				return err
			}
		}
		return l.launch()
	})
)

// sgdArgs, adamArgs and flagArgs are SGD, Adam and Flag of update.cu.
type sgdArgs struct {
	dials, guard          uint64
	rate, momentum, decay float64
	nesterov              int64
}

type adamArgs struct {
	dials, guard             uint64
	beta1, beta2, eps, decay float64
	own                      [dialed]float64
	decoupled                int64
}

type flagArgs struct{ guard uint64 }

// many is how many parameters a launch takes: what it is told is less than 4 KiB.
const many = 64

// lotArgs is Lot of update.cu.
type lotArgs[S any] struct {
	set   S
	count int64
	g     native.Axes // of the only parameter, if its elements do not follow one another; else of rank 0
	list  [many]parameterArgs
}

type parameterArgs struct {
	p, m, v, g uint64
	n, block   int64
}

// A lot is parameters of one type, for one launch to go through.
type lot[S any] struct {
	c      *Call
	name   string
	args   lotArgs[S]
	of     dtype.Type
	blocks int64
}

// update goes through all parameters of an update, which add adds.
func (l *lot[S]) update(arrays int, add func(out []storage.Array, g *storage.Array) error) error {
	for i := range len(l.c.Out) / arrays {
		if err := add(l.c.parameter(i, arrays)); err != nil {
			return err
		}
	}
	return l.launch()
}

// add has the lot go through one more, and launches what does not fit with it.
func (l *lot[S]) add(p, m, v, g *storage.Array) error {
	var flat native.Grid
	n, follows := flat.Flat(&p.View, &m.View, &v.View, &g.View)
	switch {
	case follows && n == 0:
		return nil
	case !follows || n >= launch.Limit():
		return l.alone(p, m, v, g)
	case l.args.count == many || l.args.count > 0 && l.of != p.Type:
		if err := l.launch(); err != nil {
			return err
		}
	}
	l.of = p.Type
	at := func(k int, a *storage.Array) uint64 { return l.c.gpu.At(a, flat.First[k]) }
	l.put(parameterArgs{p: at(0, p), m: at(1, m), v: at(2, v), g: at(3, g), n: n})
	return nil
}

func (l *lot[S]) put(p parameterArgs) {
	blocks, _ := l.c.gpu.Divide(p.n)
	p.block = l.blocks
	l.args.list[l.args.count] = p
	l.args.count++
	l.blocks += blocks
}

// alone goes through what does not lie in a row, or is too large, by itself.
func (l *lot[S]) alone(p, m, v, g *storage.Array) error {
	if err := l.launch(); err != nil {
		return err
	}
	l.of = p.Type
	return l.c.gpu.EachGrid([]*storage.Array{p, m, v, g}, func(grid *native.Axes, at launch.Addresses, n int64) error {
		l.args.g = *grid
		l.put(parameterArgs{p: at[0], m: at[1], v: at[2], g: at[3], n: n})
		return l.launch()
	})
}

// launch goes through what was added since the last launch.
func (l *lot[S]) launch() error {
	if l.args.count == 0 {
		return nil
	}
	each := int64(launch.Threads)
	if own := l.c.gpu.Threads; own > 0 {
		each = int64(own)
	}
	err := launch.Blocks(l.c.gpu, launch.Entry(l.name, l.of), [3]uint32{uint32(l.blocks), 1, 1}, uint32(each), &l.args)
	l.args.count, l.args.g.Rank, l.blocks = 0, 0, 0
	return err
}
