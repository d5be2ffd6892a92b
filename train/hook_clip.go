package train

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// ClipNorm returns a hook that scales all gradients down so that their norm, taken
// over all of them together, is at most limit (Pascanu, Mikolov and Bengio,
// arXiv:1211.5063):
//
//	g *= min(1, limit/(norm + 1e-6))
//
// Training fails unless limit is positive and finite.
func ClipNorm(limit float64) CapturableHook { return clipNorm(limit) }

type clipNorm float64

// Gradients scales the gradients. A NaN makes all of them NaN.
func (limit clipNorm) Gradients(s *Step) error {
	if err := checkLimit(float64(limit)); err != nil {
		return fmt.Errorf("clip norm: %w", err)
	}
	if s.squares != nil {
		return s.clipPieces(float64(limit))
	}
	s.setGradients(tensor.ClipGradNorm(s.gradients(), float64(limit), s.LossScale))
	return nil
}

// clipPieces scales the pieces of the gradients that this process has.
func (s *Step) clipPieces(limit float64) error {
	sum, err := s.squares()
	if err != nil {
		return err
	}
	norm := math.Sqrt(sum)
	if s.LossScale != nil {
		norm /= s.LossScale.Item()
	}
	if factor := math.Min(1, limit/(norm+1e-6)); factor != 1 { // NaN too
		for i := range s.Gradients {
			s.Gradients[i].Grad = s.Gradients[i].Grad.MulScalar(factor)
		}
	}
	return nil
}

// Variant returns the only one.
func (clipNorm) Variant(BatchInfo) (int, bool) { return 0, true }

// ClipValue returns a hook that limits every element of the gradients to the range
// from -limit to limit. Training fails unless limit is positive and finite.
func ClipValue(limit float64) CapturableHook { return clipValue(limit) }

type clipValue float64

// Gradients limits the gradients.
func (limit clipValue) Gradients(s *Step) error {
	if err := checkLimit(float64(limit)); err != nil {
		return fmt.Errorf("clip value: %w", err)
	}
	s.setGradients(tensor.ClipGradValue(s.gradients(), float64(limit), s.LossScale))
	return nil
}

// Variant returns the only one.
func (clipValue) Variant(BatchInfo) (int, bool) { return 0, true }

// gradients returns the gradients of all parameters.
func (s *Step) gradients() []*tensor.Tensor {
	all := make([]*tensor.Tensor, len(s.Gradients))
	for i, g := range s.Gradients {
		all[i] = g.Grad
	}
	return all
}

// setGradients replaces them.
func (s *Step) setGradients(all []*tensor.Tensor) {
	for i, g := range all {
		s.Gradients[i].Grad = g
	}
}

// checkLimit returns an error unless limit is one that gradients can be clipped to.
func checkLimit(limit float64) error {
	if !(limit > 0) || math.IsInf(limit, 1) {
		return fmt.Errorf("limit %v; want a positive number", limit)
	}
	return nil
}
