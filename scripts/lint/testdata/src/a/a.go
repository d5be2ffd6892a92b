package a

// right is documented.
func right() {}

// A kind is documented too.
type kind struct{}

// values's elements are documented.
var values []int

// This one is not. // want `the doc comment of wrong does not begin with its name`
func wrong() {}

// It is a type. // want `the doc comment of other does not begin with its name`
type other struct{}

// rightly is another name. // want `the doc comment of rightl does not begin with its name`
var rightl int

// These are constants.
const (
	// Of them one has a comment. // want `the doc comment of one does not begin with its name`
	one = 1
	two = 2
)

func say() string {
	right()
	_ = kind{}
	return ""
}

// The blank has no name.
var _ = say
