package kernels

import (
	"cmp"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = onGPU(BiasAct, func(c *Call, options ActOptions) error {
		biased := Call{Out: c.Out, In: []storage.Array{c.In[0], perChannel(&c.In[1], c.In[0].Shape)}, gpu: c.gpu}
		if len(c.Out) == 2 {
			biased.Out = c.Out[1:]
			return cmp.Or(biased.launchLoop("add", 0, 0), c.activate(&c.Out[0], &c.Out[1], options.Act))
		}
		if options.Act == NoActivation {
			return biased.launchLoop("add", 0, 0)
		}
		return biased.launchLoop("bias "+options.Act.String(), 0, 0)
	})

	_ = onGPU(ActGrad, func(c *Call, options ActOptions) error {
		if options.Act == NoActivation {
			return c.launchCopy(&c.Out[0], &c.In[1])
		}
		return c.launchLoop(options.Act.String()+" grad", 0, 0)
	})

	_ = channelsOnGPU(ActGradBias, func(c *Call, options ActOptions) error {
		dz, db, y, dy := &c.Out[0], &c.Out[1], &c.In[0], &c.In[1]
		if dz.Len() == 0 {
			return c.launch(Fill, &Call{Out: []storage.Array{*db}})
		}
		over, err := launch.Grid(^uint64(1<<1), dz, y, dy)
		if err != nil {
			return err
		}
		args := gradBiasArgs{
			dz: c.gpu.At(dz, over.First[0]), y: c.gpu.At(y, over.First[1]), dy: c.gpu.At(dy, over.First[2]), db: c.gpu.First(db),
			counter: c.gpu.BlockCounters(), scale: 1 / (1 - options.Dropped), channels: int64(dz.Shape[1]), over: over.Count(), act: int64(options.Act),
			step: [4]int64{int64(dz.Stride[1]), int64(y.Stride[1]), int64(dy.Stride[1]), int64(db.Stride[0])}, o: over.Axes,
		}
		return c.launchGradBias(&args, dz)
	})
)

// gradBiasArgs is GradBias of grads.cu.
type gradBiasArgs struct {
	dz, db, y, dy, part, counter uint64
	scale                        float64
	channels, over               int64
	splits, chunk, act           int64
	pack                         int64
	step                         [4]int64
	o                            native.Axes
}

// setPack sets whether threads load adjacent channels at once.
func (a *gradBiasArgs) setPack(t dtype.Type) {
	wide := min(4, int64(launch.PackOf(t)))
	odd := a.channels
	for k := range 3 {
		if a.step[k] != 1 {
			return
		}
		for i, stride := range a.o.Stride[k][:a.o.Rank] {
			if a.o.Shape[i] > 1 {
				odd |= stride
			}
		}
	}
	if odd%wide == 0 && (a.dz|a.y|a.dy)%uint64(wide*int64(t.Size())) == 0 {
		a.pack = 1
	}
}

// splits returns the number of parts of equal length, at most most, that n is divided into. The last
// part may be shorter, but is not empty.
func splits(n, most int) int { return launch.Ceil(n, launch.Ceil(n, most)) }

// launchGradBias splits the sum of each channel of dz so that there are enough blocks.
func (c *Call) launchGradBias(args *gradBiasArgs, dz *storage.Array) error {
	width, code := 1, launch.Entry("act grad bias", dz.Type)
	if args.channels >= 8 && magnitude(dz.Stride[1]) == 1 {
		width, code = 32, launch.Entry("act grad bias wide", dz.Type)
		args.setPack(dz.Type)
	}
	tiles := launch.Ceil(int(args.channels), width)
	args.splits = 1
	if tiles <= launch.Counters {
		args.splits = int64(splits(int(args.over), min(max(1, launch.FullOccupancy/tiles), launch.Ceil(int(args.over), 8*launch.Threads/width))))
	}
	args.chunk = int64(launch.Ceil(int(args.over), int(args.splits)))
	blocks := [3]uint32{uint32(tiles), uint32(args.splits), 1}
	return c.gpu.Workspace(int(8*args.splits*args.channels), func(part uint64) error {
		args.part = part
		return launch.Blocks(c.gpu, code, blocks, launch.Threads, args)
	})
}
