package nn_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestZeroOptionsAreDefaults compares what constructors make of the fewest options
// with what configurations make of the fewest settings.
func TestZeroOptionsAreDefaults(t *testing.T) {
	for description, m := range map[string]nn.Module{
		`{"linear": {"in_features": 2, "out_features": 3}}`: nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 3}),
		`{"dense": 3}`: nn.NewDense(nn.DenseOptions{OutFeatures: 3}),
		`{"conv2d": {"out_channels": 3, "kernel_size": 2}}`: nn.NewConv2d(nn.ConvOptions{OutChannels: 3, KernelSize: nn.Sizes{2}}),
		`{"maxpool2d": 2}`:   nn.NewMaxPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}}),
		`{"avgpool2d": 2}`:   nn.NewAvgPool2d(nn.PoolOptions{KernelSize: nn.Sizes{2}}),
		`{"batchnorm1d": 3}`: nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 3}),
		`{"batchnorm2d": 3}`: nn.NewBatchNorm2d(nn.BatchNormOptions{NumFeatures: 3}),
		`"dropout"`:          nn.NewDropout(nn.DropoutOptions{}),
		`"softmax"`:          nn.NewSoftmax(nn.SoftmaxOptions{}),
		`"concat"`:           nn.NewConcat(nn.ConcatOptions{}),
	} {
		got, want := canonical(t, mustDescribe(t, m)), canonical(t, mustDescribe(t, fromJSON(t, description)))
		if got != want {
			t.Errorf("%s: %s from options, %s from settings", description, got, want)
		}
	}
	for description, o := range map[string]nn.Optimizer{
		`{"adam": 0.1}`:  nn.NewAdam(nn.AdamOptions{LearningRate: 0.1}),
		`"adam"`:         nn.NewAdam(nn.AdamOptions{}),
		`{"adamw": 0.1}`: nn.NewAdamW(nn.AdamOptions{LearningRate: 0.1}),
		`"sgd"`:          nn.NewSGD(nn.SGDOptions{}),
	} {
		made, err := nn.OptimizerFromConfig(json.RawMessage(description))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := nn.DescribeOptimizer(o)
		want, _ := nn.DescribeOptimizer(made)
		if canonical(t, got) != canonical(t, want) {
			t.Errorf("%s: %v from options, %v from settings", description, got, want)
		}
	}
	for description, l := range map[string]nn.Loss{
		`"huber"`:           nn.NewHuberLoss(nn.HuberLossOptions{}),
		`"smooth_l1"`:       nn.NewSmoothL1Loss(nn.SmoothL1LossOptions{}),
		`"bce_with_logits"`: nn.NewBCEWithLogitsLoss(nn.BCEWithLogitsLossOptions{}),
	} {
		got, _ := nn.DescribeLoss(l)
		want, _ := nn.DescribeLoss(lossFrom(t, description))
		if canonical(t, got) != canonical(t, want) {
			t.Errorf("%s: %v from options, %v from settings", description, got, want)
		}
	}
}

// TestZeroSettingsAreZero in configurations, and in fields of what constructors made.
func TestZeroSettingsAreZero(t *testing.T) {
	b := fromJSON(t, `{"batchnorm1d": {"num_features": 2, "momentum": 0}}`).(*nn.BatchNorm1d)
	b2 := nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 2})
	b2.Momentum = 0
	moving := nn.NewBatchNorm1d(nn.BatchNormOptions{NumFeatures: 2})
	x := storage.From([]float32{1, 2, 3, 5}, 2, 2)
	for _, c := range []struct {
		layer *nn.BatchNorm1d
		moves bool
	}{{b, false}, {b2, false}, {moving, true}} {
		c.layer.Forward(tensor.FromArray(x))
		if mean := storage.Elements[float32](c.layer.RunningMean.Array); (mean[0] != 0) != c.moves {
			t.Errorf("momentum %v: running mean %v", c.layer.Momentum, mean)
		}
	}
	o, err := nn.OptimizerFromConfig(json.RawMessage(`{"adamw": {"weight_decay": 0, "beta1": 0, "lr": 0}}`))
	if err != nil {
		t.Fatal(err)
	}
	if a := o.(*nn.AdamW); a.WeightDecay != 0 || a.Beta1 != 0 || a.LearningRate != 0 || a.Beta2 != 0.999 {
		t.Errorf("settings %+v", a.AdamOptions)
	}
	if d := fromJSON(t, `{"dropout": 0}`).(*nn.Dropout); d.P != 0 {
		t.Errorf("dropout of p %v", d.P)
	}
}

// TestUnseededDropoutsDiffer of two layers in one step.
func TestUnseededDropoutsDiffer(t *testing.T) {
	x := tensor.FromArray(filled(1, 1000))
	a, b := nn.NewDropout(nn.DropoutOptions{}), nn.NewDropout(nn.DropoutOptions{})
	both := tensor.Values[float32](a.Forward(x).Mul(b.Forward(x)))
	kept := 0
	for _, v := range both {
		if v != 0 {
			kept++
		}
	}
	if kept < 180 || kept > 320 { // 250 ± 5 standard deviations of 13.7; 500 if the masks are one
		t.Errorf("%d of 1000 kept by both layers, want about 250", kept)
	}
}

// TestLiteralsWorkOrAreErrors of types that have constructors.
func TestLiteralsWorkOrAreErrors(t *testing.T) {
	features, images := tensor.FromArray(filled(1, 2, 4)), tensor.FromArray(filled(1, 2, 1, 4, 4))
	for _, c := range []struct {
		m    nn.Module
		x    *tensor.Tensor
		want []int // nil if it is an error
	}{
		{nn.MaxPool2d{PoolOptions: nn.PoolOptions{KernelSize: nn.Sizes{2}}}, images, []int{2, 1, 2, 2}},
		{nn.AvgPool2d{PoolOptions: nn.PoolOptions{KernelSize: nn.Sizes{2, 1}}}, images, []int{2, 1, 2, 4}},
		{nn.MaxPool2d{}, images, nil},
		{&nn.Dense{DenseOptions: nn.DenseOptions{OutFeatures: 3}}, features, []int{2, 3}},
		{&nn.Dense{}, features, nil},
		{&nn.Linear{LinearOptions: nn.LinearOptions{OutFeatures: 3}}, features, []int{2, 3}},
		{&nn.Linear{}, features, nil},
		{&nn.Conv2d{}, images, nil},
		{&nn.ConvTranspose2d{}, images, nil},
		{&nn.BatchNorm1d{}, features, nil},
		{&nn.BatchNorm2d{}, images, nil},
		{&nn.LayerNorm{}, features, nil},
		{&nn.Dropout{}, features, []int{2, 4}},
		{&nn.Residual{}, features, nil},
		{&nn.Graph{}, features, nil},
		{nn.Sequential{nil}, features, nil},
	} {
		var got []int
		err := tensor.Try(func() { got = c.m.Forward(c.x).Shape() })
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%T: %v, %v; want %v", c.m, got, err, c.want)
		}
	}
	x, y := tensor.FromArray(filled(2, 1, 2)), tensor.FromArray(filled(0, 1, 2))
	for want, l := range map[float64]nn.Loss{
		1.5: nn.HuberLoss{}, 1.5 + 1e-9: nn.SmoothL1Loss{}, 4: nn.MSELoss{}, 2: nn.L1Loss{}, 2.126928: nn.BCEWithLogitsLoss{}, math.Ln2: &nn.CrossEntropyLoss{},
	} {
		targets := y
		if nn.TakesLabels(l) {
			targets = tensor.FromSlice([]int64{0}, 1)
		}
		if got := l.Forward(x, targets, nil).Value().Item(); math.Abs(got-want) > 1e-6 {
			t.Errorf("%T: %v, want %v", l, got, want)
		}
	}
	for _, s := range []nn.Schedule{nn.OneCycleSchedule{}, nn.WarmupSchedule{}, nn.CosineSchedule{}, nn.ExponentialSchedule{}} {
		if f := s.Factor(nn.Progress{Epoch: 0.25, Epochs: 1}); !(f > 0 && f <= 1) {
			t.Errorf("%T: factor %v", s, f)
		}
	}
	p := nn.NewParameter(filled(1, 1))
	if err := (&nn.Adam{}).Step(maps.All(map[string]*nn.Parameter{"w": p}), tensor.Grads{p.Tensor: tensor.FromArray(filled(1, 1))}); err == nil {
		t.Error("an Adam without settings made a step")
	}
}
