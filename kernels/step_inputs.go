package kernels

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A captured step fixes its kernels' options. Values that change from step to step are
// read from memory instead: updates have two optional inputs after the gradients.
//
//	hyperparameters  float64 (n)  what Hyperparameters returns of their options, in place of those
//	loss scaler      float32 (4)  scale, growth tracker, found-inf flag, skipped steps: gradients
//	                              are multiplied by scale, and the update is skipped if the flag is not 0;
//	                              skipped steps counts such updates. See UpdateScale
const (
	scalerScale = iota
	scalerGrowth
	scalerFoundInf
	scalerSkipped
	scalerSize
)

// checkStepInputs checks the inputs that follow the gradients of an update with a number of hyperparameters.
func checkStepInputs(in []storage.Array, hyperparameters int) error {
	kinds := []struct {
		t dtype.Type
		n int
	}{{dtype.Float64, hyperparameters}, {dtype.Float32, scalerSize}}
	if len(in) > len(kinds) {
		return fmt.Errorf("%d inputs after the gradients; want hyperparameters and a loss scaler: %w", len(in), views.ErrShape)
	}
	for i := range in {
		if err := checkVector(&in[i], kinds[i].t, kinds[i].n); err != nil {
			return fmt.Errorf("input %d after the gradients: %w", i, err)
		}
	}
	return nil
}

// checkVector checks that a is n contiguous elements of type t.
func checkVector(a *storage.Array, t dtype.Type, n int) error {
	if a.Type != t || a.Rank() != 1 || a.Len() != n || !a.Contiguous() {
		return fmt.Errorf("%v%v; want a contiguous %v[%d]: %w", a.Type, a.Shape, t, n, views.ErrShape)
	}
	return nil
}

// stepInputs are the values of these inputs, in host memory.
type stepInputs struct {
	hyper    []float64 // nil if the options hold
	unscale  float64   // factor of the gradients: 1/scale
	skipped  float64   // steps skipped before
	foundInf bool      // whether this step is skipped
}

func stepInputsOf(in []storage.Array, hyperparameters int) stepInputs {
	by := stepInputs{unscale: 1}
	if len(in) > 0 {
		by.hyper = storage.Elements[float64](in[0])[in[0].Offset:][:hyperparameters]
	}
	if len(in) > 1 {
		g := scalerState(&in[1])
		by.unscale, by.skipped, by.foundInf = 1/float64(g[scalerScale]), float64(g[scalerSkipped]), g[scalerFoundInf] != 0
	}
	return by
}

func scalerState(a *storage.Array) []float32 {
	return storage.Elements[float32](*a)[a.Offset:][:scalerSize]
}

// stepAddresses returns the addresses of these inputs on a GPU; 0 for those that are missing.
func (c *Call) stepAddresses(in []storage.Array) (hyper, scaler uint64) {
	if len(in) > 0 {
		hyper = c.gpu.First(&in[0])
	}
	if len(in) > 1 {
		scaler = c.gpu.First(&in[1])
	}
	return hyper, scaler
}
