package nn

import "github.com/h5dnn/h5dnn/tensor"

// Flatten makes one axis of all but the samples.
type Flatten struct{}

// Forward returns x as (N, everything else).
func (Flatten) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Flatten(1) }

// Config returns no settings.
func (Flatten) Config() any { return struct{}{} }

var _ = RegisterLayer("flatten", func(struct{}) Flatten { return Flatten{} }, struct{}{})
