package kernels

import (
	"slices"

	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

var (
	_ = poolOnGPU(MaxPool, maxPoolOperands)
	_ = poolOnGPU(MaxPoolGrad, maxPoolGradOperands)
	_ = poolOnGPU(AvgPool, avgPoolOperands)
	_ = poolOnGPU(AvgPoolGrad, avgPoolGradOperands)
)

// poolArgs is Pool of pool.cu.
type poolArgs struct {
	x, y, at, relu                uint64
	n, exclude, last, pack, pairs int64
	image, channel                poolStrides
	unit                          [5]unitArgs
	axis                          [3]poolAxisArgs
}

type poolStrides struct{ x, y, at int64 }

type unitArgs struct {
	size int64
	by   launch.Divisor
}

type poolAxisArgs struct {
	in, out, kernel, stride, dilation, pad, end, from int32
	by                                                launch.Divisor
	strides                                           poolStrides
}

// poolOnGPU launches the entry of k's name, or the entry for windows of 2 by 2.
func poolOnGPU(k *Kernel, operands func(c *Call) pool) *Kernel {
	return onGPU(k, func(c *Call, o PoolOptions) error {
		p := operands(c)
		must(p.set(o))
		if c.Out[0].Len() == 0 {
			return nil
		}
		args := p.gpuArgs(c)
		name, computes := k.Name, p.y
		if &c.Out[0] == p.x {
			computes = p.x
		}
		units := spatial(computes)
		units.Shape = slices.Clone(units.Shape)
		if p.max && p.quartered() {
			name = map[*Kernel]string{MaxPool: "max pool 2x2", MaxPoolGrad: "max pool 2x2 grad"}[k]
			for axis := 3; axis < 5 && computes == p.x; axis++ { // those of windows
				units.Shape[axis] = launch.Ceil(units.Shape[axis], 2)
			}
		}
		args.setUnits(&units)
		entry := launch.Entry(name, p.x.Type)
		return args.eachPart(int64(p.x.Type.Size()), func(part *poolArgs) error { return launch.Start(c.gpu, entry, part.n, part) })
	})
}

// quartered reports whether the windows are 2 by 2 pixels, side by side, and complete.
func (p *pool) quartered() bool {
	x, y := spatial(p.x), spatial(p.y)
	return p.size == [3]int{1, 2, 2} && p.stride == p.size && p.padding == [3][2]int{} &&
		y.Shape[3] == x.Shape[3]/2 && y.Shape[4] == x.Shape[4]/2
}

// gpuArgs describes the pooling, but for the units.
func (p *pool) gpuArgs(c *Call) (a poolArgs) {
	x, y, at := spatial(p.x), spatial(p.y), storage.Array{}
	if at.Stride = make([]int, 5); p.at != nil {
		at = spatial(p.at)
	}
	a.x, a.y, a.at, a.relu = c.gpu.First(p.x), c.gpu.First(p.y), c.gpu.First(p.at), c.gpu.First(p.relu)
	strides := func(axis int) poolStrides {
		return poolStrides{int64(x.Stride[axis]), int64(y.Stride[axis]), int64(at.Stride[axis])}
	}
	a.image, a.channel = strides(0), strides(1)
	for i := range a.axis {
		a.axis[i] = poolAxisArgs{
			in: int32(x.Shape[2+i]), out: int32(y.Shape[2+i]), kernel: int32(p.size[i]), stride: int32(p.stride[i]), dilation: int32(p.dilation[i]),
			pad: int32(p.padding[i][0]), end: int32(x.Shape[2+i] + p.padding[i][1]), by: launch.DivideBy(int64(p.stride[i])), strides: strides(2 + i),
		}
	}
	if p.exclude {
		a.exclude = 1
	}
	wide := launch.PackOf(p.x.Type)
	if p.channelPacks(c, &x, wide) && p.channelPacks(c, &y, wide) && (p.at == nil || p.channelPacks(c, &at, wide)) && (p.relu == nil || a.relu%16 == 0) {
		a.pack = int64(wide)
	}
	if size := uint64(p.x.Type.Size()); x.Stride[4] == 1 && alignedBy(a.x/size, x.Stride, 2) && a.x%size == 0 {
		a.pairs = 1
	}
	return a
}

// channelPacks reports whether packs of wide channels of an image are adjacent, and aligned to
// 16 bytes or their size.
func (p *pool) channelPacks(c *Call, image *storage.Array, wide int) bool {
	bytes := uint64(min(16, wide*image.Type.Size()))
	return image.Stride[1] == 1 && image.Shape[1]%wide == 0 && c.gpu.First(image)%bytes == 0 && alignedBy(0, image.Stride, wide)
}

// alignedBy reports whether a position, and all strides but 1, are multiples of n elements.
func alignedBy(position uint64, strides []int, n int) bool {
	for _, stride := range strides {
		if stride != 1 && stride%n != 0 {
			return false
		}
	}
	return position%uint64(n) == 0
}

// setUnits sets what threads compute: the elements of an image, in the order of memory, or packs of channels.
func (a *poolArgs) setUnits(image *storage.Array) {
	order := [5]int{0, 1, 2, 3, 4}
	if magnitude(image.Stride[1]) < magnitude(image.Stride[4]) || a.pack > 0 {
		order, a.last = [5]int{0, 2, 3, 4, 1}, 1
	}
	for i, axis := range order {
		size := image.Shape[axis]
		if axis == 1 && a.pack > 0 {
			size /= int(a.pack)
		}
		a.unit[i].size = int64(size)
	}
}

// eachPart calls visit with parts small enough for a launch, which together are a's units.
func (a poolArgs) eachPart(size int64, visit func(part *poolArgs) error) error {
	longest := 0
	a.n = 1
	for i := range a.unit {
		u := &a.unit[i]
		u.by = launch.DivideBy(u.size)
		if a.n *= u.size; u.size > a.unit[longest].size {
			longest = i
		}
	}
	if a.n < launch.Limit() {
		return visit(&a)
	}
	rest, half := a, a.unit[longest].size/2
	a.unit[longest].size = half
	rest.unit[longest].size -= half
	rest.skip(longest, half, size)
	if err := a.eachPart(size, visit); err != nil {
		return err
	}
	return rest.eachPart(size, visit)
}

// skip moves the beginning along an axis of units by n.
func (a *poolArgs) skip(unit int, n, size int64) {
	by := a.image
	switch axis := unit - 2 + int(a.last); {
	case unit > 0 && axis >= 0 && axis < len(a.axis):
		a.axis[axis].from += int32(n)
		return
	case unit > 0:
		by, n = a.channel, n*max(a.pack, 1)
	}
	a.x += uint64(n * by.x * size)
	a.y += uint64(n * by.y * size)
	if a.at != 0 {
		a.at += uint64(n * by.at * 4)
	}
	if a.relu != 0 {
		a.relu += uint64(n * by.y * size)
	}
}
