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
//	guard  float32 (4)  scale, good, bad, left: gradients are scale times what they
//	                    should be, an update is left out where bad is not 0, and of
//	                    the steps before it so many were; see Rescale
const (
	guardScale = iota
	guardGood
	guardBad
	guardLeft
	guardSize
)

// dialed is how many numbers dials are.
const dialed = 3

// steering checks what follows the gradients of an update.
func steering(in []storage.Array) error {
	kinds := []struct {
		t dtype.Type
		n int
	}{{dtype.Float64, dialed}, {dtype.Float32, guardSize}}
	if len(in) > len(kinds) {
		return fmt.Errorf("%d inputs behind the gradients; want dials and a guard: %w", len(in), views.ErrShape)
	}
	for i := range in {
		if err := inARow(&in[i], kinds[i].t, kinds[i].n); err != nil {
			return fmt.Errorf("input %d behind the gradients: %w", i, err)
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

// A steered update is what is said to it on the host, behind the gradients.
type steered struct {
	dials   []float64 // nil if settings count
	unscale float64   // what gradients are to be multiplied by
	left    float64   // how many steps were left out before
	bad     bool      // whether this one is
}

func steeredBy(in []storage.Array) steered {
	by := steered{unscale: 1}
	if len(in) > 0 {
		by.dials = storage.Elements[float64](in[0])[in[0].Offset:][:dialed]
	}
	if len(in) > 1 {
		g := guarded(&in[1])
		by.unscale, by.left, by.bad = 1/float64(g[guardScale]), float64(g[guardLeft]), g[guardBad] != 0
	}
	return by
}

func guarded(a *storage.Array) []float32 { return storage.Elements[float32](*a)[a.Offset:][:guardSize] }

// steer tells a GPU where dials and a guard are, which follow an update's gradients.
func (c *Call) steer(steering []storage.Array) (dials, guard uint64) {
	if len(steering) > 0 {
		dials = c.gpu.First(&steering[0])
	}
	if len(steering) > 1 {
		guard = c.gpu.First(&steering[1])
	}
	return dials, guard
}
