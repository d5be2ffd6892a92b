package tensor

import "fmt"

// A Sample is a call that must come out right: in value and in gradient, on
// every device, through every kind of view, and where an input is empty.
type Sample struct {
	Name string
	Call func(in ...*Tensor) *Tensor
	In   []SampleInput
}

func (s Sample) String() string {
	name := s.Name
	for _, in := range s.In {
		name += fmt.Sprint(in.Shape)
	}
	return name
}

// A SampleInput is the distribution that a sample input is drawn from. The zero Kind is normal floats.
type SampleInput struct {
	Shape []int
	Kind  SampleKind
	Count int  // for Labels: how many classes
	Batch bool // whether axis 0 holds samples, and may hold none
}

// A SampleKind is a distribution that an operation is defined on.
type SampleKind int

// The kinds of input.
const (
	Normal   SampleKind = iota // floats, mean 0, standard deviation 1
	Positive                   // floats in [½, 2]
	Distinct                   // floats no two of which are closer than a finite difference reaches
	Labels                     // integers in [0, Count)
	Bools
)

// In returns normal input of the given shape.
func In(shape ...int) SampleInput { return SampleInput{Shape: shape} }

// Of returns the input drawn from kind instead.
func (in SampleInput) Of(kind SampleKind) SampleInput {
	in.Kind = kind
	return in
}

// Rows returns the input with axis 0 declared to hold samples.
func (in SampleInput) Rows() SampleInput {
	in.Batch = true
	return in
}

// Classes returns n labels out of count.
func Classes(count, n int) SampleInput {
	return SampleInput{Shape: []int{n}, Kind: Labels, Count: count}
}

var samples []Sample

// Register adds a call to Samples. An operation's file does so for
// itself; the laws then hold it without being told.
func Register(name string, call func(in ...*Tensor) *Tensor, in ...SampleInput) bool {
	samples = append(samples, Sample{name, call, in})
	return true
}

// Samples lists every registered call.
func Samples() []Sample { return samples }
