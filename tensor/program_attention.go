package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
)

// attend makes a product of queries and keys, the sum with a mask, a softmax and the product with values one attention by blocks of keys, as in graphs of
// exporters that have no operator for it.
func (p *Program) attend() {
	for i := range p.steps {
		soft, ok := p.steps[i].op.(softmax)
		if !ok || soft.f != kernels.Softmax || soft.axis != p.steps[i].in[0].Rank()-1 {
			continue
		}
		scores, joined := p.maker(i, 0), []int{i}
		var mask []operand
		if sum, ok := p.opOf(scores).(binaryOp); ok && sum.f == kernels.Add {
			joined = append(joined, scores)
			by := 0
			if p.opOf(p.maker(scores, 0)) != Op(matmul{}) {
				by = 1
			}
			mask, scores = p.steps[scores].in[1-by:2-by], p.maker(scores, by)
		}
		last := p.onlyUser(i, p.steps[i].out[0])
		if p.opOf(scores) != Op(matmul{}) || p.opOf(last) != Op(matmul{}) || p.steps[last].in[0].value != p.steps[i].out[0].value {
			continue
		}
		in := append([]operand{p.steps[scores].in[0], p.steps[scores].in[1].transposed(), p.steps[last].in[1]}, mask...)
		out := p.steps[last].out[0]
		if !attends(in, &out) {
			continue
		}
		p.steps[last] = programStep{op: &blockAttention{of: attention{AttentionOptions: AttentionOptions{Scale: 1}}}, in: in, out: []operand{out}}
		for _, k := range append(joined, scores) {
			p.steps[k] = programStep{}
		}
	}
	p.steps = slices.DeleteFunc(p.steps, func(s programStep) bool { return s.op == nil })
}

// maker returns the step that computes operand k of step i and nothing else, and that no other step reads, or -1.
func (p *Program) maker(i, k int) int {
	if i < 0 {
		return -1
	}
	x := p.steps[i].in[k]
	made := slices.IndexFunc(p.steps, func(s programStep) bool { return len(s.out) == 1 && s.out[0].value == x.value })
	if x.value < 0 || made < 0 || p.onlyUser(made, p.steps[made].out[0]) != i {
		return -1
	}
	return made
}

// opOf returns the operation of step i, or nil.
func (p *Program) opOf(i int) Op {
	if i < 0 {
		return nil
	}
	return p.steps[i].op
}

// attends makes operands of rank 4, and reports whether they are queries, keys and values, and perhaps a mask, that an attention takes.
func attends(in []operand, out *operand) bool {
	for _, o := range []*operand{&in[0], &in[1], &in[2], out} {
		if o.Rank() < 2 || o.Rank() > 4 || o.Type != dtype.Float32 || o.Stride[o.Rank()-1] != 1 || !slices.Equal(o.Shape[:o.Rank()-2], out.Shape[:out.Rank()-2]) {
			return false
		}
	}
	if len(in) > 3 {
		want := append(slices.Clone(out.Shape[:out.Rank()-1]), in[1].Shape[in[1].Rank()-2])
		mask, ok := in[3].Broadcast(want...)
		if !ok || in[3].Type != dtype.Float32 {
			return false
		}
		in[3].View = mask
	}
	for i := range in {
		in[i].toRank4()
	}
	out.toRank4()
	return true
}

// transposed returns o with its last two axes exchanged.
func (o operand) transposed() operand {
	n := o.Rank()
	o.Shape, o.Stride = slices.Clone(o.Shape), slices.Clone(o.Stride)
	o.Shape[n-2], o.Shape[n-1] = o.Shape[n-1], o.Shape[n-2]
	o.Stride[n-2], o.Stride[n-1] = o.Stride[n-1], o.Stride[n-2]
	return o
}

// toRank4 adds axes of one element before the first.
func (o *operand) toRank4() {
	ones := slices.Repeat([]int{1}, 4-o.Rank())
	o.Shape = append(ones, o.Shape...)
	o.Stride = append(make([]int, len(ones)), o.Stride...)
}
