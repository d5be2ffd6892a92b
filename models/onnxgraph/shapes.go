package onnxgraph

import (
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

var (
	_ = add(rule{op: "Shape", since: 1, ofShape: true, run: func(c *call) []*tensor.Tensor {
		shape := c.in[0].Shape()
		bound := func(name string, otherwise int) int {
			n := c.integer(name, otherwise)
			if n < 0 {
				n += len(shape)
			}
			return min(max(n, 0), len(shape))
		}
		first := bound("start", 0)
		return one(ints(shape[first:max(first, bound("end", len(shape)))]...))
	}})
	_ = add(rule{op: "Size", since: 1, ofShape: true, run: func(c *call) []*tensor.Tensor {
		return one(ints(c.in[0].Len()).Reshape())
	}})
	_ = add(rule{op: "Constant", since: 1, run: constant})
	_ = simple("ConstantOfShape", 9, func(c *call) *tensor.Tensor {
		shape := c.shape(c.list(0))
		if value := c.tensors["value"]; value != nil {
			return value.Detach().Reshape(repeat(1, len(shape))...).Expand(shape...)
		}
		return tensor.Zeros(dtype.Float32, repeat(1, len(shape))...).Expand(shape...)
	})
	_ = add(rule{op: "Reshape", since: 1, text: true, run: func(c *call) []*tensor.Tensor {
		x := c.x(0)
		shape := c.integers("shape")
		if shape == nil {
			shape = c.list(1)
		}
		if c.integer("allowzero", 0) == 0 {
			for axis, size := range shape {
				if size == 0 && axis < x.Rank() {
					shape[axis] = x.Size(axis)
				}
			}
		}
		return one(x.Reshape(shape...))
	}})
	_ = simple("Flatten", 1, func(c *call) *tensor.Tensor {
		x := c.x(0)
		axis := c.integer("axis", 1)
		if axis < 0 {
			axis += x.Rank()
		}
		if axis < 0 || axis > x.Rank() {
			c.fail(views.ErrShape, "axis %d of %v", axis, x.Shape())
		}
		return x.Reshape(product(x.Shape()[:axis]), product(x.Shape()[axis:]))
	})
	_ = add(rule{op: "Squeeze", since: 1, text: true, run: func(c *call) []*tensor.Tensor {
		x := c.x(0)
		axes, shape := c.axes(1, x.Rank()), []int{}
		for axis, size := range x.Shape() {
			if size != 1 && slices.Contains(axes, axis) {
				c.fail(views.ErrShape, "axis %d of %v is not of size 1", axis, x.Shape())
			}
			if size != 1 || axes != nil && !slices.Contains(axes, axis) {
				shape = append(shape, size)
			}
		}
		return one(x.Reshape(shape...))
	}})
	_ = add(rule{op: "Unsqueeze", since: 1, text: true, run: func(c *call) []*tensor.Tensor {
		x := c.x(0)
		list := c.integers("axes")
		if list == nil {
			list = c.list(1)
		}
		rank := x.Rank() + len(list)
		for i := range list {
			list[i] = c.plainAxis(list[i], rank)
		}
		shape := slices.Clone(x.Shape())
		for _, axis := range sorted(list) {
			shape = slices.Insert(shape, min(axis, len(shape)), 1)
		}
		return one(x.Reshape(shape...))
	}})
	_ = simple("Transpose", 1, func(c *call) *tensor.Tensor {
		x, order := c.x(0), c.integers("perm")
		if order == nil {
			order = rest(0, x.Rank())
			slices.Reverse(order)
		}
		return x.Permute(order...)
	})
	_ = simple("Concat", 4, func(c *call) *tensor.Tensor {
		xs := c.all()
		return tensor.Cat(c.axis("axis", 1, xs[0].Rank()), xs...)
	})
	_ = add(rule{op: "Split", since: 2, run: split})
	_ = simple("Slice", 1, slice)
	_ = add(rule{op: "Gather", since: 1, text: true, run: func(c *call) []*tensor.Tensor { return one(gather(c)) }})
	_ = simple("GatherElements", 11, func(c *call) *tensor.Tensor {
		x := c.x(0)
		axis := c.axis("axis", 0, x.Rank())
		return x.Gather(axis, wrapped(c.x(1), x.Size(axis)))
	})
	_ = simple("GatherND", 11, gatherND)
	_ = simple("ScatterElements", 11, scatterElements)
	_ = simple("Scatter", 9, scatterElements)
	_ = simple("ScatterND", 11, scatterND)
	_ = simple("Expand", 8, func(c *call) *tensor.Tensor {
		x := c.x(0)
		shape, ok := views.BroadcastShape(x.Shape(), c.shape(c.list(1)))
		if !ok {
			c.fail(views.ErrShape, "%v does not broadcast with %v", x.Shape(), c.list(1))
		}
		return x.Expand(shape...)
	})
	_ = simple("Tile", 6, func(c *call) *tensor.Tensor { return c.x(0).Tile(c.list(1)...) })
	_ = simple("Pad", 1, pad)
	_ = simple("Range", 11, func(c *call) *tensor.Tensor {
		t := c.in[0].DType()
		start, stop, step := c.scalar(0), c.scalar(1), c.scalar(2)
		if step == 0 || (stop-start)/step > maxSize {
			c.fail(views.ErrShape, "from %v to %v by %v", start, stop, step)
		}
		if (stop-start)/step <= 0 {
			return tensor.Zeros(t, 0)
		}
		return tensor.Arange(t, start, stop, step)
	})
	_ = simple("DepthToSpace", 1, func(c *call) *tensor.Tensor {
		x, b := c.x(0), c.integer("blocksize", 1)
		n, ch, h, w := c.image(x)
		if b < 1 || ch%(b*b) != 0 {
			c.fail(views.ErrShape, "blocks of %d of %d channels", b, ch)
		}
		if c.text("mode", "DCR") == "CRD" {
			return x.Reshape(n, ch/(b*b), b, b, h, w).Permute(0, 1, 4, 2, 5, 3).Reshape(n, ch/(b*b), h*b, w*b)
		}
		return x.Reshape(n, b, b, ch/(b*b), h, w).Permute(0, 3, 4, 1, 5, 2).Reshape(n, ch/(b*b), h*b, w*b)
	})
	_ = simple("SpaceToDepth", 1, func(c *call) *tensor.Tensor {
		x, b := c.x(0), c.integer("blocksize", 1)
		n, ch, h, w := c.image(x)
		if b < 1 || h%b != 0 || w%b != 0 {
			c.fail(views.ErrShape, "blocks of %d of %v", b, x.Shape())
		}
		if c.text("mode", "DCR") == "CRD" {
			return x.Reshape(n, ch, h/b, b, w/b, b).Permute(0, 1, 3, 5, 2, 4).Reshape(n, ch*b*b, h/b, w/b)
		}
		return x.Reshape(n, ch, h/b, b, w/b, b).Permute(0, 3, 5, 1, 2, 4).Reshape(n, ch*b*b, h/b, w/b)
	})
	_ = simple("OneHot", 9, func(c *call) *tensor.Tensor {
		depth, index, values := int(c.scalar(1)), c.x(0), c.x(2)
		axis := c.axis("axis", -1, index.Rank()+1)
		positions := c.elements(tensor.Arange(dtype.Int64, 0, float64(depth), 1))
		shape := repeat(1, index.Rank()+1)
		shape[axis] = depth
		hot := wrapped(index.Cast(dtype.Int64), depth).Unsqueeze(axis).Eq(positions.Reshape(shape...))
		return tensor.Where(hot, values.Select(0, 1), values.Select(0, 0))
	})
	_ = simple("Trilu", 14, func(c *call) *tensor.Tensor {
		k := 0
		if c.has(1) {
			k = int(c.scalar(1))
		}
		if c.integer("upper", 1) == 1 {
			return c.x(0).Triu(k)
		}
		return c.x(0).Tril(k)
	})
	_ = add(rule{op: "EyeLike", since: 9, ofShape: true, run: func(c *call) []*tensor.Tensor {
		x := c.in[0]
		if x.Rank() != 2 {
			c.fail(views.ErrShape, "%v; want a matrix", x.Shape())
		}
		rows, columns, k := x.Size(0), x.Size(1), c.integer("k", 0)
		i := tensor.Arange(dtype.Int64, 0, float64(rows), 1).Unsqueeze(1).AddScalar(k)
		return one(i.Eq(tensor.Arange(dtype.Int64, 0, float64(columns), 1)).Cast(c.typ("dtype", x.DType())))
	}})
	_ = simple("NonZero", 9, func(c *call) *tensor.Tensor { return c.x(0).Nonzero().Transpose(0, 1) })
	_ = simple("Compress", 9, func(c *call) *tensor.Tensor {
		x, axis := c.x(0), 0
		if _, ok := c.attribute("axis"); ok {
			axis = c.axis("axis", 0, x.Rank())
		} else {
			x = x.Flatten()
		}
		var kept []int
		for i, v := range c.values(1) {
			if v != 0 {
				kept = append(kept, i)
			}
		}
		return x.IndexSelect(axis, c.elements(ints(kept...)))
	})
	_ = simple("ReverseSequence", 10, func(c *call) *tensor.Tensor {
		x := c.x(0)
		return reverseSequences(x, c.x(1), c.integer("batch_axis", 1), c.integer("time_axis", 0))
	})
	_ = add(rule{op: "TopK", since: 1, run: func(c *call) []*tensor.Tensor {
		x, k := c.x(0), c.integer("k", 0)
		if c.has(1) {
			k = int(c.scalar(1))
		}
		values, index := x.TopK(k, c.axis("axis", -1, x.Rank()), c.integer("largest", 1) == 1)
		return []*tensor.Tensor{values, index.Cast(dtype.Int64)}
	}})
	_ = simple("CumSum", 11, func(c *call) *tensor.Tensor {
		x := c.x(0)
		axis := c.plainAxis(int(c.scalar(1)), x.Rank())
		reverse := c.integer("reverse", 0) == 1
		if reverse {
			x = x.Flip(axis)
		}
		y := x.CumSum(axis).Cast(x.DType())
		if c.integer("exclusive", 0) == 1 {
			y = y.Sub(x)
		}
		if reverse {
			y = y.Flip(axis)
		}
		return y
	})
)

// ints returns integers in host memory.
func ints(list ...int) *tensor.Tensor {
	elements := make([]int64, len(list))
	for i, n := range list {
		elements[i] = int64(n)
	}
	return tensor.FromSlice(elements, len(list))
}

func repeat(value, n int) []int { return slices.Repeat([]int{value}, n) }

// shape returns sizes that are not negative, and not larger than memory.
func (c *call) shape(sizes []int) []int {
	if _, err := views.New(sizes, maxSize); err != nil {
		c.fail(views.ErrShape, "shape %v: %v", sizes, err)
	}
	return sizes
}

// image returns the sizes of (N, C, H, W).
func (c *call) image(x *tensor.Tensor) (n, channels, height, width int) {
	s := x.Shape()
	if len(s) != 4 {
		c.fail(views.ErrShape, "%v; want (N, C, H, W)", s)
	}
	return s[0], s[1], s[2], s[3]
}

// constant returns the value of a Constant.
func constant(c *call) []*tensor.Tensor {
	for _, name := range slices.Sorted(maps.Keys(c.attributes)) {
		a := c.attributes[name]
		switch name {
		case "value":
			return one(c.tensors["value"])
		case "value_float":
			return one(tensor.FromSlice(a.Floats, 1).Reshape())
		case "value_floats":
			return one(tensor.FromSlice(a.Floats, len(a.Floats)))
		case "value_int":
			return one(tensor.FromSlice(a.Ints, 1).Reshape())
		case "value_ints":
			return one(tensor.FromSlice(a.Ints, len(a.Ints)))
		}
	}
	c.fail(dtype.ErrType, "a constant that is neither numbers nor strings of a tensor")
	return nil
}

// wrapped returns indices, negative ones counted from the end of an axis.
func wrapped(index *tensor.Tensor, size int) *tensor.Tensor {
	return tensor.Where(index.LtScalar(0), index.AddScalar(size), index)
}

func split(c *call) []*tensor.Tensor {
	x := c.x(0)
	axis, sizes := c.axis("axis", 0, x.Rank()), c.integers("split")
	if sizes == nil && c.has(1) {
		sizes = c.list(1)
	}
	if sizes == nil {
		n := c.integer("num_outputs", len(c.out))
		if n < 1 || n > x.Size(axis) {
			c.fail(views.ErrShape, "%d parts of %d elements", n, x.Size(axis))
		}
		size := (x.Size(axis) + n - 1) / n
		for left := x.Size(axis); len(sizes) < n; left -= size {
			sizes = append(sizes, max(0, min(size, left)))
		}
	}
	return x.Split(axis, sizes...)
}

// slice selects ranges of axes, which are attributes before opset 10.
func slice(c *call) *tensor.Tensor {
	x := c.x(0)
	var starts, ends, axes, steps []int
	if c.opset < 10 {
		starts, ends, axes = c.integers("starts"), c.integers("ends"), c.integers("axes")
	} else {
		starts, ends = c.list(1), c.list(2)
		if c.has(3) {
			axes = c.list(3)
		}
		if c.has(4) {
			steps = c.list(4)
		}
	}
	if axes == nil {
		axes = rest(0, len(starts))
	}
	if steps == nil {
		steps = repeat(1, len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		c.fail(views.ErrShape, "%d starts, %d ends, %d axes, %d steps", len(starts), len(ends), len(axes), len(steps))
	}
	for i, axis := range axes {
		axis = c.plainAxis(axis, x.Rank())
		size, step := x.Size(axis), steps[i]
		bound := func(at int) int {
			if at < 0 {
				at += size
			}
			return at
		}
		switch start, end := bound(starts[i]), bound(ends[i]); {
		case step == 0:
			c.fail(views.ErrShape, "a step of 0")
		case step > 0:
			start, end = min(max(start, 0), size), min(max(end, 0), size)
			if start != 0 || end != size || step != 1 {
				x = x.Slice(axis, start, max(start, end), step)
			}
		default:
			start, end = min(max(start, 0), size-1), min(max(end, -1), size-1)
			last := size - 1 - start
			x = x.Flip(axis).Slice(axis, last, max(last, size-1-end), -step)
		}
	}
	return x
}

func gather(c *call) *tensor.Tensor {
	x := c.x(0)
	axis := c.axis("axis", 0, x.Rank())
	if c.isConstant(1) && c.in[1].Len() == 1 && x.Size(axis) > 0 { // a view
		i := c.list(1)[0]
		if i < 0 {
			i += x.Size(axis)
		}
		if i < 0 || i >= x.Size(axis) {
			c.fail(views.ErrShape, "index %d of %d elements", c.list(1)[0], x.Size(axis))
		}
		y := x.Select(axis, i)
		for range c.in[1].Rank() {
			y = y.Unsqueeze(axis)
		}
		return y
	}
	index := c.x(1)
	shape := slices.Concat(x.Shape()[:axis], index.Shape(), x.Shape()[axis+1:])
	return x.IndexSelect(axis, wrapped(index.Cast(dtype.Int64).Reshape(index.Len()), x.Size(axis))).Reshape(shape...)
}

// flatIndex returns the positions that the last axis of an index selects among the first axes of x
// behind the batch axes, and the number of these axes.
func (c *call) flatIndex(x, index *tensor.Tensor, batch int) (flat *tensor.Tensor, axes int) {
	axes = index.Size(-1)
	if batch+axes > x.Rank() {
		c.fail(views.ErrShape, "indices of %d axes in %v", axes, x.Shape())
	}
	index = index.Cast(dtype.Int64)
	for i := range axes {
		size := x.Size(batch + i)
		at := wrapped(index.Select(-1, i), size)
		if flat == nil {
			flat = at
		} else {
			flat = flat.MulScalar(size).Add(at)
		}
	}
	return flat, axes
}

func gatherND(c *call) *tensor.Tensor {
	x, index, batch := c.x(0), c.x(1), c.integer("batch_dims", 0)
	if batch < 0 || batch >= index.Rank() || batch > x.Rank() {
		c.fail(views.ErrShape, "%d batch axes of %v and %v", batch, x.Shape(), index.Shape())
	}
	flat, axes := c.flatIndex(x, index, batch)
	n, inner := product(x.Shape()[:batch]), product(x.Shape()[batch:batch+axes])
	after := x.Shape()[batch+axes:]
	shape := slices.Concat(index.Shape()[:index.Rank()-1], after)
	if batch > 0 {
		first := c.elements(tensor.Arange(dtype.Int64, 0, float64(n), 1)).MulScalar(inner)
		flat = flat.Reshape(n, flat.Len()/max(1, n)).Add(first.Unsqueeze(1))
	}
	rows := x.Reshape(n*inner, product(after))
	return rows.IndexSelect(0, flat.Reshape(flat.Len())).Reshape(shape...)
}

// reductions of scattered elements: names of PyTorch by names of ONNX.
var reductions = map[string]string{"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}

func scatterElements(c *call) *tensor.Tensor {
	x := c.x(0)
	axis := c.axis("axis", 0, x.Rank())
	index := wrapped(c.x(1).Cast(dtype.Int64), x.Size(axis))
	if reduction := c.text("reduction", "none"); reduction != "none" {
		return x.ScatterReduce(axis, index, c.x(2), reductions[reduction], true)
	}
	return x.Scatter(axis, index, c.x(2))
}

func scatterND(c *call) *tensor.Tensor {
	x, index, values := c.x(0), c.x(1), c.x(2)
	flat, axes := c.flatIndex(x, index, 0)
	rows, width := product(x.Shape()[:axes]), product(x.Shape()[axes:])
	n := flat.Len()
	target := x.Reshape(rows, width)
	values = values.Reshape(n, width)
	at := flat.Reshape(n, 1).Expand(n, width)
	if reduction := c.text("reduction", "none"); reduction != "none" {
		return target.ScatterReduce(0, at, values, reductions[reduction], true).Reshape(x.Shape()...)
	}
	return target.Scatter(0, at, values).Reshape(x.Shape()...)
}

// pad adds elements around x; their numbers are an attribute before opset 11, and name axes since 18.
func pad(c *call) *tensor.Tensor {
	x := c.x(0)
	sizes := c.integers("pads")
	if sizes == nil {
		sizes = c.list(1)
	}
	axes := rest(0, x.Rank())
	if c.has(3) {
		axes = c.list(3)
	}
	if len(sizes) != 2*len(axes) {
		c.fail(views.ErrShape, "%d pads for %d axes", len(sizes), len(axes))
	}
	pads := make([]int, 2*x.Rank()) // before and after each axis, the last axis first
	for i, axis := range axes {
		axis = c.plainAxis(axis, x.Rank())
		before, after := sizes[i], sizes[len(axes)+i]
		at := 2 * (x.Rank() - 1 - axis)
		pads[at], pads[at+1] = before, after
	}
	for len(pads) > 2 && pads[len(pads)-1] == 0 && pads[len(pads)-2] == 0 {
		pads = pads[:len(pads)-2]
	}
	switch mode := c.text("mode", "constant"); mode {
	case "constant":
		var value any = c.number("value", 0)
		if c.has(2) {
			value = c.scalar(2)
		}
		return x.PadConstant(value, pads...)
	case "reflect":
		return x.PadReflect(pads...)
	case "edge":
		return x.PadEdge(pads...)
	case "wrap":
		return x.PadWrap(pads...)
	default:
		c.fail(storage.ErrState, "the mode %s", mode)
	}
	return nil
}

// reverseSequences reverses the first elements of x along an axis, as many as the lengths say for
// each position of the batch axis.
func reverseSequences(x, lengths *tensor.Tensor, batch, time int) *tensor.Tensor {
	steps := x.Size(time)
	t := tensor.Arange(dtype.Int64, 0, float64(steps), 1)
	if x.Device() != t.Device() && !x.IsMeta() {
		t = t.To(x.Device())
	}
	n := lengths.Cast(dtype.Int64).Unsqueeze(1)
	index := tensor.Where(t.Unsqueeze(0).Lt(n), n.SubScalar(1).Sub(t.Unsqueeze(0)), t.Unsqueeze(0)) // (N, T)
	if batch > time {
		index = index.Transpose(0, 1)
	}
	shape := repeat(1, x.Rank())
	shape[batch], shape[time] = x.Size(batch), steps
	return x.Gather(time, index.Reshape(shape...).Expand(x.Shape()...))
}
