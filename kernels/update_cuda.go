package kernels

// #include "loops.h"
import "C"

import (
	"github.com/h5dnn/h5dnn/dtype"
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
		l := lot[flagArgs]{c: c, name: "flag", args: lotArgs[flagArgs]{set: flagArgs{c.first(&c.Out[0])}}}
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
	g     C.h5k_grid // of the only parameter, if its elements do not follow one another; else of rank 0
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
	var flat grid
	n, follows := flat.flat(p, m, v, g)
	switch {
	case follows && n == 0:
		return nil
	case !follows || int64(n) >= most:
		return l.alone(p, m, v, g)
	case l.args.count == many || l.args.count > 0 && l.of != p.Type:
		if err := l.launch(); err != nil {
			return err
		}
	}
	l.of = p.Type
	at := func(k int, a *storage.Array) uint64 { return l.c.address(a, flat.first[k]) }
	l.put(parameterArgs{p: at(0, p), m: at(1, m), v: at(2, v), g: at(3, g), n: int64(n)})
	return nil
}

func (l *lot[S]) put(p parameterArgs) {
	s, _ := l.c.gpu.(shaped)
	blocks, _ := s.of(p.n)
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
	return l.c.eachGrid([]*storage.Array{p, m, v, g}, func(grid *C.h5k_grid, at starts, n int64) error {
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
	each := int64(threads)
	if s, ok := l.c.gpu.(shaped); ok && s.Threads > 0 {
		each = int64(s.Threads)
	}
	err := launchBlocks(l.c.gpu, entry(l.name, l.of), [3]uint32{uint32(l.blocks), 1, 1}, uint32(each), &l.args)
	l.args.count, l.args.g.rank, l.blocks = 0, 0, 0
	return err
}
