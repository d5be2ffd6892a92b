package onnxgraph

import (
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
)

// The opsets whose semantics the rules know.
const (
	oldestOpset = 7 // before which operands broadcast by an attribute
	newestOpset = 28
	newestML    = 5
)

// A rule computes the nodes of an operator.
type rule struct {
	domain string // "" of ONNX's own operators
	op     string
	since  int // the first opset with the operator
	run    func(c *call) []*tensor.Tensor

	ofShape bool // the outputs follow from the shapes of the inputs
	random  bool // nodes differ from call to call, or have none of the inputs
	text    bool // the outputs have the text of the first input
}

type operator struct{ domain, op string }

// rules are the rules of all operators.
var rules = map[operator]*rule{}

// add registers a rule for an operator. It panics if there is one.
func add(r rule) bool {
	key := operator{r.domain, r.op}
	if rules[key] != nil {
		panic(fmt.Sprintf("two rules of %s", r.op))
	}
	rules[key] = &r
	return true
}

// unary registers operators of one input, which have been since an opset.
func unary(since int, functions map[string]func(x *tensor.Tensor) *tensor.Tensor) bool {
	for op, f := range functions {
		add(rule{op: op, since: since, run: func(c *call) []*tensor.Tensor { return one(f(c.x(0))) }})
	}
	return true
}

// simple registers an operator of one output.
func simple(op string, since int, run func(c *call) *tensor.Tensor) bool {
	return add(rule{op: op, since: since, run: func(c *call) []*tensor.Tensor { return one(run(c)) }})
}

func one(x *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x} }

// An Operator is one that h5dnn computes.
type Operator struct {
	Domain, Name string
	Since        int  // the first opset that has it
	Layer        bool // a layer of nn computes the same, so that models with it are converted
}

// Operators lists the operators that h5dnn computes, by domain and name.
func Operators() []Operator {
	var list []Operator
	for _, key := range slices.SortedFunc(maps.Keys(rules), compareOperators) {
		r := rules[key]
		list = append(list, Operator{Domain: r.domain, Name: r.op, Since: r.since, Layer: layers[r.op] != nil || viewOf[r.op] != nil})
	}
	return list
}

// Opsets returns the oldest and the newest opset of ONNX whose semantics are known.
func Opsets() (oldest, newest int) { return oldestOpset, newestOpset }
