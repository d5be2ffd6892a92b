package nn

import "github.com/h5dnn/h5dnn/tensor"

// Flatten reshapes x (N, …) to (N, features).
type Flatten struct{}

// Forward returns x as (N, features).
func (Flatten) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Flatten(1) }

var _ = registerPlain[Flatten](&layers, "flatten")
