package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A step that is recorded once and run again and again finds what changes from
// step to step not in settings but in memory. So SGD and Adam take two more
// inputs, where their caller has them:
//
//	dials  float64 (3)  what Dials returns of their settings, in whose place it is
//	guard  float32 (3)  scale, good, bad: gradients are scale times what they should
//	                    be, and an update is left out where bad is not 0; see Rescale
const (
	guardScale = iota
	guardGood
	guardBad
	guardSize
)

// dialed is how many numbers dials are.
const dialed = 3

// steering checks the inputs of an update behind its gradient.
func (c *Call) steering() error {
	for i, want := range []struct {
		t dtype.Type
		n int
	}{{dtype.Float64, dialed}, {dtype.Float32, guardSize}}[:len(c.In)-1] {
		if err := inARow(&c.In[1+i], want.t, want.n); err != nil {
			return fmt.Errorf("input %d: %w", 1+i, err)
		}
	}
	return nil
}

// inARow checks that a is n elements of type t in a row.
func inARow(a *storage.Array, t dtype.Type, n int) error {
	if a.Type != t || a.Rank() != 1 || a.Len() != n || !a.Contiguous() {
		return fmt.Errorf("%v%v; want %v[%d] in a row: %w", a.Type, a.Shape, t, n, views.ErrShape)
	}
	return nil
}

// dials returns an update's dials on the host, or nil.
func (c *Call) dials() []float64 {
	if len(c.In) < 2 {
		return nil
	}
	a := &c.In[1]
	return storage.Elements[float64](*a)[a.Offset:][:dialed]
}

// guard returns what gradients on the host are to be multiplied by, and whether
// the update is to be left out.
func (c *Call) guard() (unscale float64, bad bool) {
	if len(c.In) < 3 {
		return 1, false
	}
	state := guarded(&c.In[2])
	return 1 / float64(state[guardScale]), state[guardBad] != 0
}

func guarded(a *storage.Array) []float32 { return storage.Elements[float32](*a)[a.Offset:][:guardSize] }

// steer fills in where a GPU finds the dials and the guard.
func (c *Call) steer() (dials, guard uint64) {
	if len(c.In) > 1 {
		dials = c.first(&c.In[1])
	}
	if len(c.In) > 2 {
		guard = c.first(&c.In[2])
	}
	return dials, guard
}
