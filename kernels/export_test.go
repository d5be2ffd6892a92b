package kernels

// SetMost makes launches take fewer than so many elements, until undo.
func SetMost(n int64) (undo func()) {
	old := most
	most = n
	return func() { most = old }
}
