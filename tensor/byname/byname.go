// Package byname calls operations on tensors by PyTorch's names, with settings in JSON, for callers in
// other languages.
//
// An operation is a line of one table: its signature in PyTorch's words and a function of package
// tensor. What the function takes says which parameters are tensors and how settings are decoded.
package byname

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// An Operation describes an operation.
type Operation struct {
	Name       string      `json:"name"`
	Torch      string      `json:"torch"` // its name below torch, such as "nn.functional.gelu"
	Parameters []Parameter `json:"parameters"`
	f          reflect.Value
}

// A Parameter is an operand or a setting of an operation.
type Parameter struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Default string `json:"default,omitempty"` // in Python's syntax; "" if it must be given
}

// A Kind says what a parameter takes.
type Kind string

// The kinds of parameter.
const (
	Operand  Kind = "tensor"
	Operands Kind = "tensors"          // all operands of the call, of any number
	Either   Kind = "tensor or number" // a setting where the operand is nil
	Setting  Kind = "setting"
)

// operations are the table's operations by name, and the names in its order.
var operations = sync.OnceValues(func() (map[string]*Operation, []string) {
	all, names := map[string]*Operation{}, make([]string, len(table))
	for i, line := range table {
		op := line.parse()
		all[op.Name], names[i] = op, op.Name
	}
	return all, names
})

// Operations lists all operations, in the order of the table.
func Operations() []Operation {
	all, names := operations()
	list := make([]Operation, len(names))
	for i, name := range names {
		list[i] = *all[name]
	}
	return list
}

// parse reads the signature of a line.
func (l line) parse() *Operation {
	head, rest, _ := strings.Cut(l.signature, "(")
	op := &Operation{Name: head[strings.LastIndex(head, ".")+1:], Torch: head, f: reflect.ValueOf(l.f)}
	for i, text := range strings.Split(strings.TrimSuffix(rest, ")"), ", ") {
		name, value, _ := strings.Cut(text, "=")
		p := Parameter{Name: name, Kind: Setting, Default: value}
		switch op.f.Type().In(i) {
		case reflect.TypeFor[*tensor.Tensor]():
			p.Kind = Operand
		case reflect.TypeFor[[]*tensor.Tensor]():
			p.Kind = Operands
		case reflect.TypeFor[any]():
			p.Kind = Either
		}
		op.Parameters = append(op.Parameters, p)
	}
	return op
}

// A Call is an operation with operands and settings.
type Call struct {
	op   *Operation
	args []reflect.Value
	at   []int // the place in args of each operand; all are 0 if args[0] lists them
	in   []*tensor.Tensor
}

// Bind returns the call of an operation. In has an element for each parameter that takes a tensor, in order,
// which is nil for one that is left out. The settings are a JSON object of the other parameters, by name; numbers
// that JSON lacks are the strings "nan", "inf", "-inf" and, as complex ones, "1+2i".
func Bind(name string, settings []byte, in ...*tensor.Tensor) (*Call, error) {
	all, names := operations()
	op := all[name]
	if op == nil {
		return nil, errkind.Errorf(fs.ErrNotExist, "no operation is called %q%s", name, spell.Hint(name, names))
	}
	given := map[string]json.RawMessage{}
	if len(settings) > 0 {
		if err := json.Unmarshal(settings, &given); err != nil {
			return nil, config.Errorf("%s: the settings are no JSON object: %v", name, err)
		}
	}
	c := &Call{op: op, in: in}
	for _, p := range op.Parameters {
		value, present := given[p.Name]
		delete(given, p.Name)
		if err := c.add(p, value, present); err != nil {
			return nil, err
		}
	}
	if unknown := slices.Sorted(maps.Keys(given)); len(unknown) > 0 {
		return nil, config.Errorf("%s has no setting %q%s", name, unknown[0], spell.Hint(unknown[0], op.settings()))
	}
	if len(c.at) != len(in) {
		return nil, errkind.Errorf(storage.ErrState, "%s: %d operands; want %d", name, len(in), len(c.at))
	}
	return c, nil
}

// Check returns an error if no operation has that name, or the operation does not take the settings.
func Check(name string, settings []byte) error {
	placeholder := tensor.NewMeta(dtype.Float32)
	_, err := bindInOrder(name, settings, func() *tensor.Tensor { return placeholder })
	return err
}

// Apply computes an operation. Operands are given in order to the parameters that the settings leave open.
func Apply(name string, settings []byte, operands ...*tensor.Tensor) (results []*tensor.Tensor, err error) {
	c, err := bindInOrder(name, settings, func() (x *tensor.Tensor) {
		if len(operands) > 0 {
			x, operands = operands[0], operands[1:]
		}
		return x
	}, operands...)
	if err == nil && len(operands) > 0 {
		err = errkind.Errorf(storage.ErrState, "%s: %d operands too many", name, len(operands))
	}
	if err == nil {
		err = c.try(func() { results = c.apply(c.in) })
	}
	return results, err
}

// bindInOrder is Bind of operands that next returns, for each parameter that takes a tensor and is not among the settings; all are those of
// a parameter of any number.
func bindInOrder(name string, settings []byte, next func() *tensor.Tensor, all ...*tensor.Tensor) (*Call, error) {
	given := map[string]json.RawMessage{}
	_ = json.Unmarshal(settings, &given) // or an error of Bind
	var in []*tensor.Tensor
	known, _ := operations()
	if op := known[name]; op != nil {
		for _, p := range op.Parameters {
			switch _, set := given[p.Name]; {
			case p.Kind == Operands:
				for in = append(in, next()); len(in) < len(all); {
					in = append(in, next())
				}
			case p.Kind == Either && set:
				in = append(in, nil)
			case p.Kind == Either, p.Kind == Operand:
				in = append(in, next())
			}
		}
	}
	return Bind(name, settings, in...)
}

func (op *Operation) settings() []string {
	var names []string
	for _, p := range op.Parameters {
		if p.Kind == Setting || p.Kind == Either {
			names = append(names, p.Name)
		}
	}
	return names
}

// add appends the argument for a parameter.
func (c *Call) add(p Parameter, value json.RawMessage, given bool) error {
	name, to := c.op.Name, c.op.f.Type().In(len(c.args))
	var operand *tensor.Tensor
	switch p.Kind {
	case Operands:
		for i, x := range c.in {
			if x == nil {
				return errkind.Errorf(storage.ErrState, "%s: operand %d is missing", name, i)
			}
			c.at = append(c.at, len(c.args))
		}
		if len(c.in) == 0 {
			return errkind.Errorf(storage.ErrState, "%s: no operands; want at least 1", name)
		}
		c.args = append(c.args, reflect.ValueOf(append([]*tensor.Tensor{}, c.in...)))
		return nil
	case Operand, Either:
		if len(c.at) < len(c.in) {
			operand = c.in[len(c.at)]
		}
		c.at = append(c.at, len(c.args))
		if p.Kind == Operand && given {
			return config.Errorf("%s: %s is %s; want a tensor", name, p.Name, value)
		}
		if p.Kind == Operand && operand == nil && p.Default == "" {
			return errkind.Errorf(storage.ErrState, "%s: %s is missing", name, p.Name)
		}
		if operand != nil && given {
			return config.Errorf("%s: %s is given twice, as a tensor and as a setting", name, p.Name)
		}
		if operand != nil || p.Kind == Operand {
			c.args = append(c.args, reflect.ValueOf(operand))
			return nil
		}
	}
	if !given {
		if p.Default == "" {
			return config.Errorf("%s: %s is missing", name, p.Name)
		}
		value = fromPython(p.Default)
	}
	arg, err := decode(value, to)
	if err != nil {
		return config.Errorf("%s: %s is %s; want %v", name, p.Name, value, err)
	}
	c.args = append(c.args, arg)
	return nil
}

// apply computes the call with other operands, which are as many and nil where the call's are.
func (c *Call) apply(in []*tensor.Tensor) []*tensor.Tensor {
	args := append([]reflect.Value{}, c.args...)
	for i, x := range in {
		switch at := c.at[i]; {
		case c.op.Parameters[at].Kind == Operands:
			args[at] = reflect.ValueOf(in)
		case x != nil:
			args[at] = reflect.ValueOf(x)
		}
	}
	f := c.op.f.Call
	if c.op.f.Type().IsVariadic() {
		f = c.op.f.CallSlice
	}
	var results []*tensor.Tensor
	for _, y := range f(args) {
		switch y := y.Interface().(type) {
		case *tensor.Tensor:
			results = append(results, y)
		case []*tensor.Tensor:
			results = append(results, y...)
		}
	}
	return results
}

// Infer returns the specifications of the results, without computing them.
func (c *Call) Infer() (specs []tensor.Spec, err error) {
	in := make([]*tensor.Tensor, len(c.in))
	for i, x := range c.in {
		if x != nil {
			in[i] = tensor.NewMeta(x.DType(), x.Shape()...)
		}
	}
	err = c.try(func() {
		for _, y := range c.apply(in) {
			specs = append(specs, y.Spec())
		}
	})
	return specs, err
}

// try runs f and names the operation in its error.
func (c *Call) try(f func()) error {
	err := tensor.Try(f)
	if e := (*tensor.Error)(nil); errors.As(err, &e) && e.Op == "into" {
		err = e.Err
	}
	if err != nil && !strings.HasPrefix(err.Error(), c.op.Name+": ") {
		err = fmt.Errorf("%s: %w", c.op.Name, err)
	}
	return err
}

// Into computes the results into the memory of out, of their shapes and types and on the device of the
// operands. It may overlap the operands, as nothing is written before they are read.
func (c *Call) Into(out ...*tensor.Tensor) error {
	if err := checkApart(c.op.Name, out); err != nil {
		return err
	}
	return c.try(func() {
		if first := c.first(); len(out) == 1 && first >= 0 {
			tensor.Into(out[0], c.in[first], func(x *tensor.Tensor) *tensor.Tensor {
				in := append([]*tensor.Tensor{}, c.in...)
				in[first] = x
				results := c.apply(in)
				if len(results) != 1 {
					tensor.Fail(c.op.Name, storage.ErrState, "there are %d results and 1 output", len(results))
				}
				return results[0]
			})
			return
		}
		c.write(c.apply(c.in), out)
	})
}

// first returns the first operand that is given, or -1.
func (c *Call) first() int {
	for i, x := range c.in {
		if x != nil {
			return i
		}
	}
	return -1
}

// write copies results to out, except where that is nil.
func (c *Call) write(results, out []*tensor.Tensor) {
	if len(results) != len(out) {
		tensor.Fail(c.op.Name, storage.ErrState, "there are %d results and %d outputs", len(results), len(out))
	}
	for i, y := range results { // all of them, before any is written
		for _, to := range out {
			if y != nil && to != nil && y.Array().Overlaps(to.Array()) {
				results[i] = y.CloneDetached()
				break
			}
		}
	}
	for i, to := range out {
		if to != nil {
			tensor.Into(to, results[i], (*tensor.Tensor).Detach)
		}
	}
}

// checkApart returns an error if outputs share memory.
func checkApart(name string, out []*tensor.Tensor) error {
	for i, x := range out {
		for j, y := range out[:i] {
			if x != nil && y != nil && x.Array().Overlaps(y.Array()) {
				return errkind.Errorf(storage.ErrState, "%s: outputs %d and %d share memory", name, j, i)
			}
		}
	}
	return nil
}

// VJP computes the gradients of Σ incoming·result with respect to the operands into the memory of out, where
// an element is nil if no gradient is wanted. An element of incoming is nil for 0.
func (c *Call) VJP(incoming, out []*tensor.Tensor) error {
	if len(out) != len(c.in) {
		return errkind.Errorf(storage.ErrState, "%s: %d outputs for the gradients of %d operands", c.op.Name, len(out), len(c.in))
	}
	if err := checkApart(c.op.Name, out); err != nil {
		return err
	}
	return c.try(func() { c.write(c.gradients(incoming, out), out) })
}

// gradients returns the gradient of each operand for which wanted is not nil.
func (c *Call) gradients(incoming, wanted []*tensor.Tensor) []*tensor.Tensor {
	name, in := c.op.Name, append([]*tensor.Tensor{}, c.in...)
	var leaves, ys, dys []*tensor.Tensor
	for i, x := range in {
		switch {
		case wanted[i] == nil:
		case x == nil:
			tensor.Fail(name, storage.ErrState, "operand %d is not given, and has no gradient", i)
		default:
			in[i] = tensor.Leaf(x.Array())
			leaves = append(leaves, in[i])
		}
	}
	results := c.apply(in)
	if len(results) != len(incoming) {
		tensor.Fail(name, storage.ErrState, "there are %d results and %d incoming gradients", len(results), len(incoming))
	}
	for i, y := range results {
		if incoming[i] == nil {
			continue
		}
		if !y.RequiresGrad() && len(leaves) > 0 {
			tensor.Fail(name, storage.ErrState, "result %d, %v, has no gradient", i, y.DType())
		}
		ys, dys = append(ys, y), append(dys, incoming[i])
	}
	grads := make([]*tensor.Tensor, len(leaves))
	if len(ys) > 0 && len(leaves) > 0 {
		grads = tensor.Grad(ys, leaves, tensor.GradOptions{Incoming: dys, AllowUnused: true})
	}
	all, next := make([]*tensor.Tensor, len(in)), 0
	for i, to := range wanted {
		if to == nil {
			continue
		}
		if all[i] = grads[next]; all[i] == nil {
			all[i] = tensor.ZerosLike(c.in[i])
		}
		next++
	}
	return all
}
