package kernels

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// launchUpdate launches an update of all parameters on a GPU.
func (c *Call) launchUpdate(r rule) error {
	arrays := 1 + updates[r.line].Buffers
	args := updateArgs{settings: r.settings, own: r.hyper}
	args.hyper, args.scaler = c.stepAddresses(c.In[len(c.Out)/arrays:])
	l := multiTensor[updateArgs]{c: c, name: r.line, args: multiTensorArgs[updateArgs]{options: args}}
	for i := range len(c.Out) / arrays {
		out, g := c.parameter(i, arrays)
		if err := l.add(&out[0], out[1:], g); err != nil {
			return err
		}
	}
	return l.launch()
}

var _ = onGPU(FindInf, func(c *Call, _ struct{}) error {
	l := multiTensor[findInfArgs]{c: c, name: "find inf", args: multiTensorArgs[findInfArgs]{options: findInfArgs{c.gpu.First(&c.Out[0])}}}
	for i := range c.In {
		x := &c.In[i]
		if err := l.add(x, nil, x); err != nil {
			return err
		}
	}
	return l.launch()
})

// updateArgs and findInfArgs are Update and FindInf of update.cu.
type updateArgs struct {
	hyper, scaler uint64
	settings      settings
	own           changing
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
	p, s1, s2, s3, g uint64 // s1 and s2 are p, and s3 is s1, if there are no such buffers
	n, block         uint32
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

// add adds a parameter, its buffers, if any, and its gradient. It launches those added before if they and p do not
// fit into one launch. A third buffer has the layout of the first.
func (l *multiTensor[S]) add(p *storage.Array, buffers []storage.Array, g *storage.Array) error {
	o := gridOperands{p, p, p, g}
	for i := range buffers[:min(2, len(buffers))] {
		o[1+i] = &buffers[i]
	}
	var third uint64 // the distance of the third buffer from the first
	if len(buffers) == native.Buffers {
		if s := buffers[2]; !slices.Equal(s.Stride, buffers[0].Stride) {
			return fmt.Errorf("buffers with strides %v and %v; want one layout: %w", buffers[0].Stride, s.Stride, views.ErrShape)
		}
		third = l.c.gpu.First(&buffers[2]) - l.c.gpu.First(&buffers[0])
	}
	var flat native.Grid
	n, follows := flat.Flat(&o[0].View, &o[1].View, &o[2].View, &o[3].View)
	switch {
	case follows && n == 0:
		return nil
	case !follows || n >= launch.Limit():
		return l.alone(o, third)
	case l.args.count == maxParameters || l.args.count > 0 && l.of != p.Type:
		if err := l.launch(); err != nil {
			return err
		}
	}
	l.of = p.Type
	var at launch.Addresses
	for k, a := range o {
		at[k] = l.c.gpu.At(a, flat.First[k])
	}
	pack := int64(16 / p.Type.Size())
	l.put(at, third, n, (n+pack-1)/pack)
	return nil
}

// gridOperands are a parameter, two of its buffers, and its gradient.
type gridOperands [native.Operands]*storage.Array

// put adds n elements of a parameter with the given number of units for its threads.
func (l *multiTensor[S]) put(at launch.Addresses, third uint64, n, units int64) {
	blocks, _ := l.c.gpu.Divide(units)
	l.args.list[l.args.count] = parameterArgs{p: at[0], s1: at[1], s2: at[2], s3: at[1] + third, g: at[3], n: uint32(n), block: uint32(l.blocks)}
	l.args.count++
	l.blocks += blocks
}

// alone launches a parameter that is not contiguous, or too large, by itself.
func (l *multiTensor[S]) alone(o gridOperands, third uint64) error {
	if err := l.launch(); err != nil {
		return err
	}
	l.of = o[0].Type
	return l.c.gpu.EachGrid(o[:], func(grid *native.Axes, at launch.Addresses, n int64) error {
		l.args.g = *grid
		l.put(at, third, n, n)
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
