package tensor

import "fmt"

// A Sample is a call that must come out right: in value and in gradient, on
// every device, through every kind of view, and where an input is empty.
type Sample struct {
	Name string
	Call func(in ...*Tensor) *Tensor
	In   []Input
}

func (s Sample) String() string {
	name := s.Name
	for _, in := range s.In {
		name += fmt.Sprint(in.Shape)
	}
	return name
}

// An Input says what a sample's input is drawn from. The zero Kind is normal floats.
type Input struct {
	Shape []int
	Kind  InputKind
	Count int  // for Labels: how many classes
	Batch bool // whether axis 0 holds samples, and may hold none
}

// An InputKind is a distribution that an operation is defined on.
type InputKind int

// The kinds of input.
const (
	Normal   InputKind = iota // floats, mean 0, deviation 1
	Positive                  // floats in [½, 2]
	Distinct                  // floats no two of which are closer than a finite difference reaches
	Labels                    // integers in [0, Count)
	Bools
)

// In returns normal input of the given shape.
func In(shape ...int) Input { return Input{Shape: shape} }

// Of returns the input drawn from kind instead.
func (in Input) Of(kind InputKind) Input {
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

var samples []Sample

// Register adds a call to what Samples lists. An operation's file does so for
// itself; the laws then hold it without being told.
func Register(name string, call func(in ...*Tensor) *Tensor, in ...Input) bool {
	samples = append(samples, Sample{name, call, in})
	return true
}

// Samples lists every registered call.
func Samples() []Sample { return samples }
