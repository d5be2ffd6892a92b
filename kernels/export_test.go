package kernels

import "reflect"

// SetMost makes launches take fewer than so many elements, until undo.
func SetMost(n int64) (undo func()) {
	old := most
	most = n
	return func() { most = old }
}

// Own returns a kernel for one output that has neither an entry for GPUs nor a launch.
func Own[S any](name string) *Kernel {
	registered := all
	defer func() { all = registered }()
	return define(name, func(c *Call, _ S) error { return c.holds(len(c.Out), len(c.In)) }, func(*Call, S) error { return nil }, nil)
}

// Words is what GPUs are told of settings.
func Words(set any) ([]uint64, error) { return words(nil, reflect.ValueOf(set)) }
