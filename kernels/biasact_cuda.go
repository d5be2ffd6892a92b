package kernels

// #include "loops.h"
import "C"

import "github.com/h5dnn/h5dnn/storage"

var (
	_ = onGPU(BiasAct, func(c *Call, set ActSet) error {
		biased := Call{Out: c.Out, In: []storage.Array{c.In[0], perChannel(&c.In[1], c.In[0].Shape)}, gpu: c.gpu}
		return biased.launchLoop([...]string{"add", "bias relu", "bias tanh", "bias sigmoid"}[set.Act], 0, 0)
	})

	_ = onGPU(ActSlope, func(c *Call, set ActSet) error {
		if set.Act == NoActivation {
			return c.launchCopy(&c.Out[0], &c.In[1])
		}
		return c.launchLoop(activations[set.Act]+" slope", 0, 0)
	})

	_ = channelsOnGPU(ActSlopeBias, func(c *Call, set ActSet) error {
		dz, db, y, dy := &c.Out[0], &c.Out[1], &c.In[0], &c.In[1]
		if dz.Len() == 0 {
			return Fill.CUDA(c.gpu, &Call{Out: []storage.Array{*db}})
		}
		var over grid
		if err := over.gpuAlong(^uint64(1<<1), dz, y, dy); err != nil {
			return err
		}
		args := slopeBiasArgs{
			dz: c.address(dz, over.first[0]), y: c.address(y, over.first[1]), dy: c.address(dy, over.first[2]), db: c.first(db),
			counter: c.gpu.BlockCounters(), scale: 1 / (1 - set.Dropped), channels: int64(dz.Shape[1]), over: over.count(), act: int64(set.Act),
			step: [4]int64{int64(dz.Stride[1]), int64(y.Stride[1]), int64(dy.Stride[1]), int64(db.Stride[0])}, o: over.C,
		}
		return c.launchSlopeBias(&args, dz)
	})
)

// slopeBiasArgs is SlopeBias of grads.cu.
type slopeBiasArgs struct {
	dz, db, y, dy, part, counter uint64
	scale                        float64
	channels, over, splits, act  int64
	step                         [4]int64
	o                            C.h5k_grid
}

// cut returns how many stretches of one length, the last of which may be shorter, but not
// empty, n is cut into: at most so many.
func cut(n, most int) int { return ceil(n, ceil(n, most)) }

// launchSlopeBias cuts what is added up for a channel of dz so that there are blocks enough.
func (c *Call) launchSlopeBias(args *slopeBiasArgs, dz *storage.Array) error {
	width, code := 1, entry("act slope bias", dz.Type)
	if args.channels >= 8 && magnitude(dz.Stride[1]) == 1 {
		width, code = 32, entry("act slope bias wide", dz.Type)
	}
	tiles := ceil(int(args.channels), width)
	args.splits = 1
	if tiles <= Counters {
		args.splits = int64(cut(int(args.over), min(max(1, busy/tiles), ceil(int(args.over), 8*threads/width))))
	}
	blocks := [3]uint32{uint32(tiles), uint32(args.splits), 1}
	return c.gpu.Workspace(int(8*args.splits*args.channels), func(part uint64) error {
		args.part = part
		return launchBlocks(c.gpu, code, blocks, threads, args)
	})
}
