// Package samples is the registry of calls on which package tensor tests its operations.
//
// It is generic over the tensor type, so that it can be below package tensor, whose
// operations register themselves, and out of its public interface. Package tensortest
// lists the samples and checks operations written elsewhere by the same rules.
package samples

import "fmt"

// A Sample is a call that is tested for its value and its gradients, on every device,
// for every memory layout of its inputs, and for empty inputs.
type Sample[T any] struct {
	Name string
	Call func(in ...T) T
	In   []Input
	// HostOnly is set for a call that GPUs refuse by name.
	HostOnly bool
}

func (s Sample[T]) String() string {
	name := s.Name
	for _, in := range s.In {
		name += fmt.Sprint(in.Shape)
	}
	return name
}

// An Input is the distribution that an input is drawn from. The zero Kind is normal floats.
type Input struct {
	Shape []int
	Kind  Kind
	Count int  // for Labels and Indices: the number of values
	Batch bool // whether axis 0 holds samples, and may hold none
}

// A Kind is a distribution that an operation is defined on.
type Kind int

// The kinds of input.
const (
	Normal   Kind = iota // floats, mean 0, standard deviation 1
	Positive             // floats in [½, 2]
	Distinct             // floats no two of which are closer than a finite difference reaches
	Labels               // uint8 in [0, Count)
	Indices              // int64 in [0, Count)
	Unit                 // floats in [-0.9, 0.9]
	Bools
)

// In returns normal input of the given shape.
func In(shape ...int) Input { return Input{Shape: shape} }

// Of returns the input drawn from kind instead.
func (in Input) Of(kind Kind) Input {
	in.Kind = kind
	return in
}

// Rows returns the input with axis 0 declared to hold samples.
func (in Input) Rows() Input {
	in.Batch = true
	return in
}

// Classes returns n labels out of count.
func Classes(count, n int) Input {
	return Input{Shape: []int{n}, Kind: Labels, Count: count}
}

var registered []any

// Register adds a call to the registry. The file of an operation does so for itself.
func Register[T any](name string, call func(in ...T) T, in ...Input) bool {
	registered = append(registered, Sample[T]{Name: name, Call: call, In: in})
	return true
}

// RegisterHostOnly is Register of a call that has no device code.
func RegisterHostOnly[T any](name string, call func(in ...T) T, in ...Input) bool {
	registered = append(registered, Sample[T]{name, call, in, true})
	return true
}

// All returns every registered call on T.
func All[T any]() []Sample[T] {
	var all []Sample[T]
	for _, s := range registered {
		if s, ok := s.(Sample[T]); ok {
			all = append(all, s)
		}
	}
	return all
}
