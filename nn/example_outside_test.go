package nn_test

import (
	"fmt"
	"iter"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// Lion is an optimizer as another package writes it: x -= lr·sign(β1·m + (1−β1)·g), then
// m = β2·m + (1−β2)·g (Chen et al., arXiv:2302.06675, program 2).
type Lion struct {
	LionOptions
	nn.OptimizerState // the step count, m of each parameter, saving and loading
}

// LionOptions are its settings, with the names that configurations use.
type LionOptions struct {
	LearningRate float64 `json:"lr"`
	Beta1        float64 `json:"beta1"`
	Beta2        float64 `json:"beta2"`
}

// NewLion returns a Lion.
func NewLion(o LionOptions) *Lion {
	l := &Lion{LionOptions: o}
	l.Setup("outside_lion", o.LearningRate, nil, "momentum")
	return l
}

// Step updates the elements of the parameters in place, outside of what is recorded for
// gradients: by Detach and AddInPlace.
func (l *Lion) Step(params iter.Seq2[string, *nn.Parameter], grads tensor.Grads) error {
	return l.Update(params, grads, func(group nn.UpdateGroup) {
		for _, u := range group.Updates {
			x, m, g := u.Leaf.Detach(), u.State[0], u.Grad.Detach()
			direction := m.MulScalar(l.Beta1).Add(g.MulScalar(1 - l.Beta1))
			zero := direction.MulScalar(0)
			up := direction.Gt(zero).Cast(x.DType())
			down := direction.Lt(zero).Cast(x.DType())
			x.AddInPlace(down.Sub(up).MulScalar(l.LearningRate * group.RateFactor))
			m.Assign(m.MulScalar(l.Beta2).Add(g.MulScalar(1 - l.Beta2)))
		}
	})
}

func (l *Lion) Rate() float64        { return l.LearningRate }
func (l *Lion) SetRate(rate float64) { l.LearningRate = rate }

var _ = nn.RegisterOptimizer("outside_lion", NewLion, LionOptions{LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.99})

// An optimizer of another package embeds OptimizerState and changes parameters in place.
func ExampleOptimizer() {
	layer := nn.NewLinear(nn.LinearOptions{InFeatures: 1, OutFeatures: 1, NoBias: true})
	layer.Weight.Detach().Fill(1)
	lion, err := nn.OptimizerFromConfig(map[string]any{"outside_lion": map[string]any{"lr": 0.25}})
	if err != nil {
		fmt.Println(err)
		return
	}
	x, y := storage.From([]float32{1, 2}, 2, 1), storage.From([]float32{3, 6}, 2, 1) // y = 3x
	for range 4 {
		err := tensor.Step(func(t *tensor.Tape) error {
			loss := tensor.MeanSquaredError(layer.Forward(t.Input(x)), t.Input(y))
			return lion.Step(nn.Parameters(layer), tensor.Gradients(loss))
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(tensor.Values[float32](layer.Weight.Tensor))
	for name, a := range lion.State() {
		fmt.Println(name, a.Shape)
	}
	// Output:
	// [2]
	// step []
	// momentum/weight [1 1]
}

// Scale is a layer as another package writes it: a parameter in an exported field, a
// constructor that fails by tensor.Fail, Forward, and Config for configurations.
type Scale struct {
	ScaleOptions `nn:"-"`
	Factor       *nn.Parameter // of each feature
}

// ScaleOptions are its settings.
type ScaleOptions struct {
	Features int     `json:"features"`
	Initial  float64 `json:"initial"`
}

// NewScale returns a Scale.
func NewScale(o ScaleOptions) *Scale {
	if o.Features < 1 {
		tensor.Fail("scale", nn.ErrConfig, "%d features; want at least 1", o.Features)
	}
	allocator := nn.NewAllocator("scale", nil, dtype.Invalid)
	return &Scale{o, allocator.Param(nn.ConstantFill(o.Initial), o.Features)}
}

// Forward multiplies each feature by its factor.
func (s *Scale) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Mul(s.Factor.Tensor) }

// A layer of another package is used, saved and configured as those of this one.
func ExampleRegisterLayer() {
	nn.RegisterLayer("scale", NewScale, ScaleOptions{Initial: 1})

	model, err := nn.FromConfig([]any{"relu", map[string]any{"scale": map[string]any{"features": 2, "initial": 3}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	y := model.Forward(tensor.FromArray(storage.From([]float32{-1, 2}, 1, 2)))
	fmt.Println(tensor.Values[float32](y))
	for name, p := range nn.Parameters(model) {
		fmt.Println(name, p.Shape())
	}
	description, err := nn.Describe(model)
	fmt.Println(description, err)
	_, err = nn.FromConfig([]any{map[string]any{"scale": map[string]any{"features": 0}}})
	fmt.Println(err)
	// Output:
	// [0 6]
	// 1.factor [2]
	// [relu map[scale:map[features:2 initial:3]]] <nil>
	// layer 0: scale: 0 features; want at least 1
}
