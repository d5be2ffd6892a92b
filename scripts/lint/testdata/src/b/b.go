package b

// There are so // want `"so many": write "the number of"`
// many of them.

// Names are unique.
func say(n int) string {
	if n == 0 {
		return "one of them, which there is not" // want `write "there is no …"`
	}
	return "x is there twice" // want `write "duplicate"`
}
