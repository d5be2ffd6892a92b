package tensor

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// A fusedStep is a convolution or product of float32 by constants, and what is computed in its kernel: a batch norm, of which
// the weights are the product with its scales, the sum with another value, and an activation or limits.
type fusedStep struct {
	options      kernels.PackOptions
	weight, bias storage.Array // of the batch norm too; bias without data for none
	done         bool          // whether an activation or limits are applied, after which nothing is
}

// fuse makes steps parts of the convolutions and products before them, and packs weights.
func (p *Program) fuse() error {
	p.joinQuantizations()
	p.attend()
	for i := 0; i < len(p.steps); i++ {
		s := &p.steps[i]
		if s.fused = fusedOf(s); s.fused == nil {
			continue
		}
		for p.joinNext(i) {
		}
	}
	p.steps = slices.DeleteFunc(p.steps, func(s programStep) bool { return s.op == nil })
	for i := range p.steps {
		s := &p.steps[i]
		for _, o := range s.in {
			if o.value < 0 {
				p.watch(o.Data)
			}
		}
		if op, ok := s.op.(*recurrent); ok && op.packs(s) {
			s.packed = kernels.PackRecurrent(op.options, s.in[1].Array)
		}
		if s.fused == nil {
			continue
		}
		o := &s.fused.options
		o.Quantized = s.quantized
		o.Int8 = s.quantized != kernels.Quantized{} || p.weights == dtype.Int8 && o.Faster8(s.out[0].View, s.in[0].View, s.fused.weight.View)
		o.BF16 = p.weights == dtype.BFloat16 && o.FasterBF16(s.out[0].View, s.in[0].View, s.fused.weight.View)
		packed, err := kernels.PackConv(s.fused.options, s.out[0].View, s.in[0].View, s.fused.weight, s.fused.bias)
		if err != nil {
			return err
		}
		s.packed = packed
		s.in, s.fused = s.in[:1], nil
	}
	p.chain()
	return nil
}

// chain makes one step of packed convolutions of single pixels, of single channels and of single pixels.
func (p *Program) chain() {
	joins := func(i int) *kernels.PackedConv {
		if i < 0 || i >= len(p.steps) {
			return nil
		}
		packed, _ := p.steps[i].packed.(*kernels.PackedConv)
		return packed
	}
	only := func(i int) bool { // whether the next step alone reads the result of step i, and no other adds to it
		y := p.steps[i].out[0]
		return p.onlyUser(i, y) == i+1 && !slices.ContainsFunc(p.steps[i+1:], func(s programStep) bool { return s.out[0].value == y.value })
	}
	for i := 0; i+1 < len(p.steps); i++ {
		expand, depthwise, project := joins(i-1), joins(i), joins(i+1)
		if depthwise == nil || project == nil || !only(i) {
			continue
		}
		first := i
		var joined *kernels.PackedChain
		if expand != nil && only(i-1) {
			first, joined = i-1, kernels.ChainPacked(expand, depthwise, project)
		}
		if joined == nil {
			first, joined = i, kernels.ChainPacked(nil, depthwise, project)
		}
		if joined == nil {
			continue
		}
		last := &p.steps[i+1]
		last.in, last.packed = p.steps[first].in, joined
		p.steps = slices.Delete(p.steps, first, i+1)
		i = first
	}
}

// packs reports whether the weights of a recurrent layer are packed: constants of float32 among dense operands.
func (op *recurrent) packs(s *programStep) bool {
	w := s.in[1]
	return w.value < 0 && w.Type == dtype.Float32 && !slices.ContainsFunc(slices.Concat(s.in, s.out), func(o operand) bool { return !o.Contiguous() })
}

// joinQuantizations makes the rounding of inputs parts of convolutions and products by weights of 8 bits, as models have whose values
// are quantized and restored between layers (QDQ): the products of integers are exact.
func (p *Program) joinQuantizations() {
	for i := range p.steps {
		s := &p.steps[i]
		f := fusedOf(s)
		if f == nil {
			continue
		}
		k := slices.IndexFunc(p.steps[:i], func(t programStep) bool {
			_, ok := t.op.(fakeQuantize)
			return ok && t.out[0].value == s.in[0].value && slices.Equal(t.out[0].Shape, s.in[0].Shape)
		})
		if k < 0 || p.steps[k].in[0].value < 0 || s.in[0].Offset != 0 {
			continue
		}
		from := p.steps[k].in
		scale, low, high := FromArray(from[1].Array).scalar(), FromArray(from[2].Array).scalar(), FromArray(from[3].Array).scalar()
		if low > 0 || high-low != 255 || !slices.Equal(from[0].Stride, s.in[0].Stride) || !f.options.Is8Bits(s.out[0].View, from[0].View, f.weight) {
			continue
		}
		s.quantized = kernels.Quantized{Scale: float32(scale), Zero: float32(-low)}
		s.in[0] = from[0]
	}
	p.steps = slices.DeleteFunc(p.steps, func(t programStep) bool {
		_, ok := t.op.(fakeQuantize)
		return ok && !p.readAfter(-1, -1, t.out[0].value)
	})
}

// fusedOf describes a convolution or product by constants, or returns nil for other steps.
func fusedOf(s *programStep) *fusedStep {
	f := &fusedStep{}
	switch op := s.op.(type) {
	case conv:
		if op.after.stores || op.after.drop != 0 {
			return nil
		}
		f.options.ConvOptions = op.ConvOptions
		f.options.Act = op.after.act
	case *linear:
		if op.after.stores || op.after.drop != 0 {
			return nil
		}
		f.options.Act = op.after.act
	default:
		return nil
	}
	for _, w := range s.in[1:] {
		if w.value >= 0 {
			return nil
		}
	}
	if len(s.out) != 1 || s.in[0].value < 0 || s.in[0].Type != dtype.Float32 || s.in[1].Type != dtype.Float32 || s.out[0].Offset != 0 {
		return nil
	}
	if !f.options.CanPack(s.out[0].View, s.in[0].View, s.in[1].View) {
		return nil
	}
	f.weight, f.done = s.in[1].Array, f.options.Act != NoActivation
	if len(s.in) > 2 {
		f.bias = s.in[2].Array
	}
	return f
}

// joinNext makes the only step that reads the result of step i part of it, and reports whether there may be another.
func (p *Program) joinNext(i int) bool {
	s := &p.steps[i]
	y := s.out[0]
	k := p.onlyUser(i, y)
	if s.fused.done || k < 0 {
		return false
	}
	next := &p.steps[k]
	if len(next.out) != 1 || next.out[0].Type != y.Type || next.out[0].Offset != 0 || !slices.Equal(next.out[0].Stride, y.Stride) {
		return false
	}
	switch op := next.op.(type) {
	case *batchNorm:
		if op.options.Training || s.fused.options.Sum || !s.fused.scale(op, next.in[1:]) {
			return false
		}
		p.watch(op.options.RunningMean.Data)
		p.watch(op.options.RunningVar.Data)
		for _, o := range slices.Concat(next.in[1:], s.in[1:]) {
			p.watch(o.Data)
		}
		s.fused.options.Act, s.fused.done = op.after.act, op.after.act != NoActivation
	case unaryOp:
		act, ok := activationOf[op.f]
		if !ok {
			return false
		}
		s.fused.options.Act, s.fused.done = act, true
	case hardtanh:
		if next.in[1].value >= 0 || next.in[2].value >= 0 || next.in[0].value != y.value {
			return false
		}
		low, high := FromArray(next.in[1].Array).scalar(), FromArray(next.in[2].Array).scalar()
		if low == 0 && high == 0 {
			return false
		}
		s.fused.options.Low, s.fused.options.High, s.fused.done = low, high, true
	case binaryOp:
		return p.joinSum(i, k, op)
	default:
		return false
	}
	if made := next.out[0].value; s.fused.options.Sum { // what is added to is where the results are
		next.op, next.in, next.out = nil, nil, nil
		p.rename(made, y.value)
		return true
	}
	s.out, next.op = next.out, nil
	next.in, next.out = nil, nil
	return true
}

// scalar returns an element of a constant whose elements are equal.
func (x *Tensor) scalar() float64 {
	for x.Rank() > 0 {
		x = x.Select(0, 0)
	}
	return x.Item()
}

// joinSum makes step k, the sum of the result of step i and another value, part of step i, which then adds to the memory of that
// value: nothing reads it later.
func (p *Program) joinSum(i, k int, op binaryOp) bool {
	s, next := &p.steps[i], &p.steps[k]
	y, sum := s.out[0], next.out[0]
	other := next.in[0]
	if other.value == y.value {
		other = next.in[1]
	}
	if op.f != kernels.Add || s.fused.options.Sum || other.value < len(p.inputs) || other.value == y.value || other.Type != y.Type || other.Offset != 0 ||
		!slices.Equal(other.Shape, y.Shape) || !slices.Equal(other.Stride, y.Stride) || s.in[0].value == other.value {
		return false
	}
	made := slices.IndexFunc(p.steps, func(t programStep) bool {
		return slices.ContainsFunc(t.out, func(o operand) bool { return o.value == other.value })
	})
	if made < 0 || made >= i || p.readAfter(i, k, other.value) {
		return false
	}
	s.fused.options.Sum = true
	s.out = []operand{other}
	next.op, next.in, next.out = nil, nil, nil
	p.rename(sum.value, other.value)
	return true
}

// readAfter reports whether a step after i, other than k, or the caller of the program reads a value.
func (p *Program) readAfter(i, k, value int) bool {
	reads := func(o operand) bool { return o.value == value }
	for j := i + 1; j < len(p.steps); j++ {
		if j != k && slices.ContainsFunc(p.steps[j].in, reads) {
			return true
		}
	}
	return slices.ContainsFunc(p.outputs, reads)
}

// rename makes operands of one value operands of another.
func (p *Program) rename(from, to int) {
	change := func(list []operand) {
		for i := range list {
			if list[i].value == from {
				list[i].value = to
			}
		}
	}
	for _, s := range p.steps {
		change(s.in)
	}
	change(p.outputs)
}

// onlyUser returns the one step that reads y, the result of step i, once and as a whole; or -1. Only steps after i count.
func (p *Program) onlyUser(i int, y operand) int {
	user, count := -1, 0
	for k := i + 1; k < len(p.steps); k++ {
		for _, o := range p.steps[k].in {
			if o.value == y.value {
				count++
				user = k
				if o.Offset != y.Offset || !slices.Equal(o.Shape, y.Shape) || !slices.Equal(o.Stride, y.Stride) {
					return -1
				}
			}
		}
	}
	for _, o := range p.outputs {
		if o.value == y.value {
			return -1
		}
	}
	if count != 1 {
		return -1
	}
	return user
}

// scale multiplies the weights by the scales of a batch norm, and reports whether it could.
func (f *fusedStep) scale(op *batchNorm, params []operand) bool {
	for _, o := range params {
		if o.value >= 0 || o.Type != dtype.Float32 {
			return false
		}
	}
	read := func(a storage.Array) []float64 {
		elems, err := storage.Read[float64](a)
		check("batch norm", err)
		return elems
	}
	gamma, beta, mean, variance := read(params[0].Array), read(params[1].Array), read(op.options.RunningMean), read(op.options.RunningVar)
	weight, outputs := read(f.weight), len(gamma)
	bias := make([]float32, outputs)
	var old []float64
	if f.bias.Data != nil {
		old = read(f.bias)
	}
	scaled, each := make([]float32, len(weight)), len(weight)/max(outputs, 1)
	for o := range outputs {
		by := gamma[o] / math.Sqrt(variance[o]+op.options.Eps)
		b := 0.0
		if old != nil {
			b = old[o]
		}
		bias[o] = float32((b-mean[o])*by + beta[o])
		for i := o * each; i < (o+1)*each; i++ {
			scaled[i] = float32(weight[i] * by)
		}
	}
	f.weight, f.bias = storage.From(scaled, f.weight.Shape...), storage.From(bias, outputs)
	return true
}
