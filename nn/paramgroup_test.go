package nn_test

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/tensor"
)

// only yields the parameters whose names end in suffix, or do not.
func only(model any, suffix string, do bool) iter.Seq2[string, *nn.Parameter] {
	return func(yield func(string, *nn.Parameter) bool) {
		for name, p := range nn.Parameters(model) {
			if strings.HasSuffix(name, suffix) == do && !yield(name, p) {
				return
			}
		}
	}
}

// TestGroupsAreOptimizersOfTheirOwn compares an optimizer of two groups with two
// optimizers, also when the learning rate changes and the step is captured.
func TestGroupsAreOptimizersOfTheirOwn(t *testing.T) {
	for _, c := range []struct{ both, biases, others string }{
		{
			`{"sgd": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "groups": [{"params": "*.bias", "lr": 0.02, "weight_decay": 0}]}}`,
			`{"sgd": {"lr": 0.02, "momentum": 0.9}}`, `{"sgd": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}}`,
		},
		{
			`{"adamw": {"lr": 0.1, "groups": [{"params": ["0.bias", "2.b*"], "lr": 0.4, "weight_decay": 0.5}]}}`,
			`{"adamw": {"lr": 0.4, "weight_decay": 0.5}}`, `{"adamw": 0.1}`,
		},
		{
			`{"adam": {"lr": 0.1, "groups": [{"params": "*.bias", "weight_decay": 0.5}]}}`,
			`{"adam": {"lr": 0.1, "weight_decay": 0.5}}`, `{"adam": 0.1}`,
		},
	} {
		train := func(grouped, captured bool) (weights []float32) {
			model := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 4}), nn.Tanh{}, nn.NewLinear(nn.LinearOptions{InFeatures: 4, OutFeatures: 2})}
			nn.Init(model, 5)
			build := func(description string) nn.Optimizer {
				o, err := nn.OptimizerFromConfig(json.RawMessage(description))
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			both, biases, others := build(c.both), build(c.biases), build(c.others)
			base, biasRate := others.Rate(), biases.Rate()
			n := len(both.(nn.Capturable).StepArgs(nil))
			args := storage.From(make([]float64, n), n)
			x, y := filled(0.5, 4, 3), storage.From([]int64{0, 1, 0, 0}, 4)
			for i := range 4 {
				factor := 1 / float64(i+1)
				both.SetRate(base * factor)
				others.SetRate(base * factor)
				biases.SetRate(biasRate * factor)
				if captured {
					o := both.(nn.Capturable)
					o.SetStepArgs(tensor.StepArgs{args})
					copy(storage.Elements[float64](args), o.StepArgs(nil))
					o.CountStep()
				}
				err := tensor.Step(func(tape *tensor.Tape) error {
					grads := tensor.Gradients(tensor.CrossEntropy(model.Forward(tape.Input(x)), tape.Input(y)))
					if grouped {
						return both.Step(nn.Parameters(model), grads)
					}
					return errors.Join(biases.Step(only(model, "bias", true), grads), others.Step(only(model, "bias", false), grads))
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range nn.Parameters(model) {
				weights = append(weights, tensor.Values[float32](p.Tensor)...)
			}
			return weights
		}
		want := train(false, false)
		if got := train(true, false); !slices.Equal(got, want) {
			t.Errorf("%s: %v, two optimizers %v", c.both, got, want)
		}
		if got := train(true, true); !slices.Equal(got, want) {
			t.Errorf("%s, captured: %v, two optimizers %v", c.both, got, want)
		}
	}
}

func TestGroupsAreDescribed(t *testing.T) {
	o := nn.NewSGD(nn.SGDOptions{LearningRate: 0.5, Groups: []nn.ParamGroup{{Params: nn.Names{"*.bias"}, LearningRate: new(0.1), WeightDecay: new(0.0)}}})
	o.SetRate(0.25)
	described, err := nn.DescribeOptimizer(o)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"sgd":{"groups":[{"lr":0.05,"params":["*.bias"],"weight_decay":0}],"lr":0.25,"momentum":0,"nesterov":false,"weight_decay":0}}`
	if got := canonical(t, described); got != want {
		t.Errorf("described as %s, want %s", got, want)
	}
	for description, want := range map[string]string{
		`{"sgd": {"groups": [{"lr": 1}]}}`:                            "sgd: a group without params",
		`{"sgd": {"groups": [{"params": "[", "lr": 1}]}}`:             `sgd: params "["`,
		`{"sgd": {"groups": [{"params": "a", "lr": -1}]}}`:            "sgd: lr of a group -1",
		`{"adam": {"lr": 0, "groups": [{"params": "a", "lr": 1}]}}`:   "adam: lr 0 and a group of lr 1",
		`{"adam": {"groups": [{"params": "a", "weight_decay": -1}]}}`: "adam: weight_decay of a group -1",
	} {
		if _, err := nn.OptimizerFromConfig(json.RawMessage(description)); err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, nn.ErrConfig) {
			t.Errorf("%s: error %v, want %q", description, err, want)
		}
	}
}

// TestStepsThatChangeNothingAreErrors: with the gradients of parameters that To has
// replaced, and with a group that matches nothing.
func TestStepsThatChangeNothingAreErrors(t *testing.T) {
	m := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2})}
	grads := func() tensor.Grads {
		return tensor.Gradients(tensor.CrossEntropy(m.Forward(tensor.FromArray(filled(1, 1, 2))), tensor.FromSlice([]int64{0}, 1)))
	}
	old := grads()
	if err := nn.To(m, storage.CPU); err != nil {
		t.Fatal(err)
	}
	o := nn.NewAdam(nn.AdamOptions{})
	if err := o.Step(nn.Parameters(m), old); !errors.Is(err, storage.ErrState) {
		t.Errorf("gradients of parameters that were replaced: error %v, want one of kind %v", err, storage.ErrState)
	}
	if err := o.Step(nn.Parameters(m), grads()); err != nil || o.Steps() != 1 {
		t.Errorf("%d steps, %v; want one", o.Steps(), err)
	}
	o = nn.NewAdam(nn.AdamOptions{Groups: []nn.ParamGroup{{Params: nn.Names{"*.bais"}}}})
	if err := o.Step(nn.Parameters(m), grads()); !errors.Is(err, nn.ErrConfig) {
		t.Errorf("a group without parameters: error %v, want one of kind %v", err, nn.ErrConfig)
	}
}

// TestOptimizerStateFollowsParameters to another device and back.
func TestOptimizerStateFollowsParameters(t *testing.T) {
	x, y := filled(0.5, 4, 3), storage.From([]int64{0, 1, 0, 0}, 4)
	train := func(move bool) []float32 {
		m := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2})}
		nn.Init(m, 1)
		o := nn.NewAdam(nn.AdamOptions{LearningRate: 0.1})
		step(t, m, o, x, y)
		if move {
			away := storagetest.NewDevice("fake:0")
			if err := nn.ToInPlace(m, away); err != nil {
				t.Fatal(err)
			}
			if err := o.MoveTo(away); err != nil {
				t.Fatal(err)
			}
			for name, a := range o.State() {
				if name != "step" && a.Data.Device() != away {
					t.Errorf("%s is on %v", name, a.Data.Device())
				}
			}
			if err := nn.ToInPlace(m, storage.CPU); err != nil {
				t.Fatal(err)
			}
		}
		step(t, m, o, x, y) // finds its state on another device
		return tensor.Values[float32](m[0].(*nn.Linear).Weight.Tensor)
	}
	if got, want := train(true), train(false); !slices.Equal(got, want) {
		t.Errorf("%v after moving, %v without", got, want)
	}
}
