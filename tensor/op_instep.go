package tensor

// InStepOf returns x as a value of the step that y belongs to, sharing x's memory: results computed from it live in the
// memory of the step. Expressions of parameters alone, such as a weight that follows from two others, begin with it.
func (x *Tensor) InStepOf(y *Tensor) *Tensor {
	checkGiven("in step", y)
	in := []*Tensor{x}
	mode := modeOf("in step", inStep{}, y.tape, in)
	mode.noGrad = mode.noGrad || y.noGrad
	out := mode.results(1)
	out[0].array, out[0].block, out[0].format, out[0].isView, x.viewed = x.array, x.block, x.format, true, true
	mode.record(inStep{}, in, out, mode.tape.allocated())
	return out[0]
}

type inStep struct{ viewOp }

func (inStep) Name() string { return "in step" }

func (inStep) Backward(_, grads, _ []*Tensor) []*Tensor { return grads }
