package nn_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// What follows is a layer, an optimizer, a loss, a metric and a schedule as packages
// outside nn write them, with exported names only.

// outsideDense is a lazy layer that can be fused with activations.
type outsideDense struct {
	nn.DenseOptions
	nn.Weights
	Scale *nn.Parameter
}

func newOutsideDense(o nn.DenseOptions) *outsideDense {
	d := &outsideDense{DenseOptions: o}
	d.Scale = nn.NewAllocator("outside_dense", o.Device, o.DType).Param(nn.ConstantFill(2), 1)
	d.Prepare(d.spec())
	return d
}

func (d *outsideDense) spec() nn.WeightSpec {
	return nn.WeightSpec{Layer: "outside_dense", Inputs: &d.InFeatures, Outputs: d.OutFeatures, NoBias: d.NoBias, Initializer: &d.Initializer, DType: &d.DType, Device: &d.Device}
}

func (d *outsideDense) Forward(x *tensor.Tensor) *tensor.Tensor {
	return d.ForwardActivated(x, tensor.NoActivation)
}

func (d *outsideDense) ForwardActivated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	d.BuildFor(d.spec(), x)
	return tensor.Linear(x.Mul(d.Scale.Tensor), d.Weight.Tensor, d.Bias.Tensor, act)
}

// outsideSign moves parameters by the running mean of the signs of their gradients.
type outsideSign struct {
	nn.SGDOptions
	nn.OptimizerState
}

func newOutsideSign(o nn.SGDOptions) *outsideSign {
	s := &outsideSign{SGDOptions: o}
	s.Setup("outside_sign", o.LearningRate, o.Groups, "mean")
	return s
}

func (o *outsideSign) Step(params iter.Seq2[string, *nn.Parameter], grads tensor.Grads) error {
	return o.Update(params, grads, func(g nn.UpdateGroup) {
		for _, u := range g.Updates {
			mean, grad := u.State[0], u.Grad.Detach()
			mean.AddInPlace(grad.Div(grad.Abs().AddScalar(1e-9)))
			u.Leaf.Detach().AddInPlace(mean.MulScalar(-o.LearningRate * g.RateFactor))
		}
	})
}

func (o *outsideSign) Rate() float64        { return o.LearningRate }
func (o *outsideSign) SetRate(rate float64) { o.LearningRate = rate }

// outsideLoss counts its calls.
type outsideLoss struct{ calls int }

func (l *outsideLoss) Forward(outputs, targets, weights *tensor.Tensor) nn.Fraction {
	l.calls++
	return nn.MeanFraction(tensor.MeanSquaredError(outputs, targets), outputs.Len())
}

// outsideMetric is the mean output.
type outsideMetric struct{ nn.MetricSums }

func (m *outsideMetric) Update(outputs, targets, weights *tensor.Tensor) {
	m.Add("outputs", outputs.Mean())
}

func (m *outsideMetric) Result() (storage.Array, error) {
	sum, err := m.Sum("outputs")
	return storage.From(sum, len(sum)), err
}

// outsideSchedule is half of the learning rate.
type outsideSchedule struct{}

func (outsideSchedule) Factor(nn.Progress) float64 { return 0.5 }

var (
	_ = nn.RegisterLayer("outside_dense", newOutsideDense, nn.DenseOptions{})
	_ = nn.RegisterOptimizer("outside_sign", newOutsideSign, nn.SGDOptions{LearningRate: 0.1})
	_ = nn.RegisterLoss("outside_loss", func(struct{}) *outsideLoss { return &outsideLoss{} }, struct{}{})
	_ = nn.RegisterMetric("outside_metric", func(struct{}) *outsideMetric { return &outsideMetric{} }, struct{}{})
	_ = nn.RegisterSchedule("outside_schedule", func(struct{}) outsideSchedule { return outsideSchedule{} }, struct{}{})
)

func TestOtherPackagesAddToAllRegistries(t *testing.T) {
	m := fromJSON(t, `[{"outside_dense": 3}, "relu", {"outside_dense": 1}]`)
	if _, err := nn.Build(m, []int{2}); err != nil {
		t.Fatal(err)
	}
	nn.Init(m, 1)
	want := []string{"0.weight", "0.bias", "0.scale", "2.weight", "2.bias", "2.scale"}
	if got := names(m); !slices.Equal(got, want) {
		t.Errorf("parameters %q, want %q", got, want)
	}
	o, err := nn.OptimizerFromConfig(json.RawMessage(`{"outside_sign": {"lr": 0.01, "groups": [{"params": "*.scale", "lr": 0.001}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	loss, metric := lossFrom(t, `"outside_loss"`), metricFrom(t, `"outside_metric"`)
	schedule, err := nn.ScheduleFromConfig("outside_schedule")
	if err != nil || schedule.Factor(nn.Progress{}) != 0.5 {
		t.Errorf("schedule %v, %v", schedule, err)
	}
	x, y := storage.From([]float32{0, 1, 1, 0}, 2, 2), storage.From([]float32{1, 2}, 2, 1)
	var values []float64
	for range 30 {
		err := tensor.Step(func(tape *tensor.Tape) error {
			out := m.Forward(tape.Input(x))
			metric.Update(out, nil, nil)
			l := loss.Forward(out, tape.Input(y), nil).Value()
			values = append(values, l.Item())
			return o.Step(nn.Parameters(m), tensor.Gradients(l))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if first, last := values[0], values[len(values)-1]; !(last < first/2) {
		t.Errorf("loss %v, then %v; nothing was learned", first, last)
	}
	if loss.(*outsideLoss).calls != 30 {
		t.Errorf("%d calls of the loss, want 30", loss.(*outsideLoss).calls)
	}
	state := maps.Collect(o.State())
	if len(state) != 7 || state["mean/2.scale"].Len() != 1 {
		t.Errorf("optimizer state %v, want the step and a mean of each parameter", slices.Sorted(maps.Keys(state)))
	}
	again, err := nn.FromConfig(mustDescribe(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if err := nn.LoadStateDict(again, nn.StateDict(m)); err != nil {
		t.Error(err)
	}
}

func mustDescribe(t *testing.T, m nn.Module) any {
	t.Helper()
	description, err := nn.Describe(m)
	if err != nil {
		t.Fatal(err)
	}
	return description
}

func metricFrom(t *testing.T, description string) nn.Metric {
	t.Helper()
	m, err := nn.MetricFromConfig(json.RawMessage(description))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRegisteredTypesHaveTheirSettings(t *testing.T) {
	type options struct {
		Size int `json:"size"`
	}
	type forgetful struct{ nn.Identity }
	defer func() {
		if message := fmt.Sprint(recover()); !strings.Contains(message, "nn_test.forgetful neither embeds an exported nn_test.options nor has a method Config") {
			t.Errorf("panics with %q", message)
		}
		if settings := nn.Settings(forgetful{}); settings != nil {
			t.Errorf("settings %v of a type that is not registered", settings)
		}
	}()
	nn.RegisterLayer("forgetful", func(options) forgetful { return forgetful{} }, options{})
	t.Error("registered")
}
