package train_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// hostileModel is a linear layer whose functions may be replaced.
type hostileModel struct {
	*nn.Linear
	forward func(x *tensor.Tensor) *tensor.Tensor
}

func (m hostileModel) Forward(x *tensor.Tensor) *tensor.Tensor {
	if m.forward != nil {
		return m.forward(x)
	}
	return m.Linear.Forward(x)
}

// manyOutputs is a hostileModel of other outputs.
type manyOutputs struct {
	hostileModel
	outputs func(x *tensor.Tensor) []*tensor.Tensor
}

func (m manyOutputs) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	return m.outputs(inputs[0])
}

type panickingNames struct{ hostileModel }

func (panickingNames) InputNames() []string { panic("no names") }

type hostileLoss func(y *tensor.Tensor) *tensor.Tensor

func (l hostileLoss) Forward(y, _, _ *tensor.Tensor) nn.Fraction { return nn.MeanFraction(l(y), 1) }

// hostileOptimizer is an SGD whose functions may be replaced.
type hostileOptimizer struct {
	nn.Optimizer
	step    func() error
	setRate func()
}

func (o hostileOptimizer) Step(params iter.Seq2[string, *nn.Parameter], grads tensor.Grads) error {
	if o.step != nil {
		return o.step()
	}
	return o.Optimizer.Step(params, grads)
}

func (o hostileOptimizer) SetRate(rate float64) {
	if o.setRate != nil {
		o.setRate()
	}
	o.Optimizer.SetRate(rate)
}

// hostileDataset has 8 samples; its functions may be replaced.
type hostileDataset struct {
	n      int
	fields []dataset.Field
	read   func() error
}

func (d hostileDataset) Len() int                { return d.n }
func (d hostileDataset) Fields() []dataset.Field { return d.fields }
func (d hostileDataset) Read(into dataset.Batch, rows []int) error {
	if d.read != nil {
		return d.read()
	}
	return nil
}

type hostileSchedule struct{}

func (hostileSchedule) Factor(nn.Progress) float64 { panic("no rate") }

type hostileHook struct{}

func (hostileHook) Gradients(*train.Step) error { panic("no gradients") }

// A hostileCase is arguments of Fit, one of them invalid.
type hostileCase struct {
	model     nn.Module
	loss      nn.Loss
	optimizer nn.Optimizer
	data      dataset.Dataset
	options   train.FitOptions
}

func harmless() hostileCase {
	fields := []dataset.Field{{Name: "x", Type: dtype.Float32, Shape: []int{2}}, {Name: "y", Role: dataset.Target, Type: dtype.Float32, Shape: []int{1}}}
	linear := nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 1})
	return hostileCase{hostileModel{Linear: linear}, nn.MSELoss{}, nn.NewSGD(nn.SGDOptions{LearningRate: 0.1}), hostileDataset{n: 8, fields: fields}, train.FitOptions{}}
}

var none []int

// outOfRange panics as a mistake in a program does.
func outOfRange() int { return none[3] }

// hostileCases changes the arguments of Fit, and what the error has to name.
var hostileCases = map[string]struct {
	change func(*hostileCase)
	want   string
}{
	"nil from Forward": {func(c *hostileCase) {
		c.model = hostileModel{forward: func(*tensor.Tensor) *tensor.Tensor { return nil }}
	}, "train_test.hostileModel: Forward returned nil"},
	"nil among outputs": {func(c *hostileCase) {
		c.model = manyOutputs{outputs: func(x *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x, nil} }}
	}, "train_test.manyOutputs: ForwardAll returned 2 outputs"},
	"no outputs": {func(c *hostileCase) {
		c.model = manyOutputs{outputs: func(x *tensor.Tensor) []*tensor.Tensor { return nil }}
	}, "ForwardAll returned 0 outputs"},
	"a number from Forward": {func(c *hostileCase) {
		m := c.model.(hostileModel)
		m.forward = func(x *tensor.Tensor) *tensor.Tensor { return m.Linear.Forward(x).Sum() }
		c.model = m
	}, "want samples along the first axis"},
	"panic in Forward": {func(c *hostileCase) {
		c.model = hostileModel{forward: func(x *tensor.Tensor) *tensor.Tensor { return x.Sum(outOfRange()) }}
	}, "panic in train_test.outOfRange (hostile_test.go:"},
	"panic in InputNames":   {func(c *hostileCase) { c.model = panickingNames{} }, "panic in train_test.panickingNames.InputNames"},
	"pointer to no model":   {func(c *hostileCase) { c.model = (*nn.Linear)(nil) }, "no model"},
	"model without layer":   {func(c *hostileCase) { c.model = hostileModel{} }, "panic in"},
	"panic in the loss":     {func(c *hostileCase) { c.loss = hostileLoss(func(y *tensor.Tensor) *tensor.Tensor { panic("no loss") }) }, "no loss"},
	"nil from the loss":     {func(c *hostileCase) { c.loss = hostileLoss(func(y *tensor.Tensor) *tensor.Tensor { return nil }) }, "the loss train_test.hostileLoss returned"},
	"losses of the samples": {func(c *hostileCase) { c.loss = hostileLoss(func(y *tensor.Tensor) *tensor.Tensor { return y }) }, "want one number"},
	"panic in Step": {func(c *hostileCase) {
		c.optimizer = hostileOptimizer{c.optimizer, func() error { panic(errors.New("no step")) }, nil}
	}, "hostile_test.go:"},
	"error of Step": {func(c *hostileCase) {
		c.optimizer = hostileOptimizer{c.optimizer, func() error { return errors.New("no step") }, nil}
	}, "step 1: no step"},
	"panic in SetRate":     {func(c *hostileCase) { c.optimizer = hostileOptimizer{c.optimizer, nil, func() { outOfRange() }} }, "panic in train_test.outOfRange"},
	"optimizer of nothing": {func(c *hostileCase) { c.optimizer = hostileOptimizer{} }, "panic in"},
	"no dataset":           {func(c *hostileCase) { c.data = nil }, "no dataset"},
	"no fields":            {func(c *hostileCase) { c.data = hostileDataset{n: 8} }, "no input"},
	"no samples":           {func(c *hostileCase) { c.data = hostileDataset{fields: c.data.Fields()} }, "0 samples"},
	"negative length":      {func(c *hostileCase) { c.data = hostileDataset{n: -3, fields: c.data.Fields()} }, "-3 samples"},
	"negative size": {func(c *hostileCase) {
		c.data = hostileDataset{n: 8, fields: []dataset.Field{{Name: "x", Type: dtype.Float32, Shape: []int{-2}}}}
	}, "samples of x are [-2]"},
	"no type": {func(c *hostileCase) {
		c.data = hostileDataset{n: 8, fields: []dataset.Field{{Name: "x", Shape: []int{2}}}}
	}, "x has the type"},
	"no such role": {func(c *hostileCase) {
		c.data = hostileDataset{n: 8, fields: []dataset.Field{{Name: "x", Type: dtype.Int8, Role: 99}}}
	}, "the role 99"},
	"panic in Read": {func(c *hostileCase) { c.data = hostileDataset{8, c.data.Fields(), func() error { panic("no data") }} }, "no data"},
	"error of Read": {func(c *hostileCase) {
		c.data = hostileDataset{8, c.data.Fields(), func() error { return errors.New("no data") }}
	}, "no data"},
	"nil validation":  {func(c *hostileCase) { c.options.Val = (*hostileDataset)(nil) }, "panic in"},
	"no validation":   {func(c *hostileCase) { c.options.Val = hostileDataset{fields: c.data.Fields()} }, "no samples"},
	"panic in Factor": {func(c *hostileCase) { c.options.Schedule = hostileSchedule{} }, "hostileSchedule.Factor"},
	"panic in a hook": {func(c *hostileCase) { c.options.Hooks = []train.Hook{hostileHook{}} }, "hostileHook.Gradients"},
	"nil hook":        {func(c *hostileCase) { c.options.Hooks = []train.Hook{nil} }, "panic in"},
	"nil callback":    {func(c *hostileCase) { c.options.Callbacks = []train.Callback{nil} }, "panic in"},
	"RunBegin": {func(c *hostileCase) {
		c.call(train.CallbackFuncs{OnRunBegin: func(train.Plan) error { panic("no begin") }})
	}, "no begin"},
	"StepEnd": {func(c *hostileCase) {
		c.call(train.CallbackFuncs{OnStepEnd: func(train.Progress) error { panic("no step") }})
	}, "no step"},
	"EpochEnd": {func(c *hostileCase) {
		c.call(train.CallbackFuncs{OnEpochEnd: func(train.Epoch) error { panic("no epoch") }})
	}, "no epoch"},
	"RunEnd": {func(c *hostileCase) { c.call(train.CallbackFuncs{OnRunEnd: func(error) { panic("no end") }}) }, "no end"},
}

func (c *hostileCase) call(f train.CallbackFuncs) { c.options.Callbacks = []train.Callback{f} }

// TestNoPanicEscapesFit whatever the model, the loss, the optimizer, the dataset and what follows training do. The error
// names what did it, and RunEnd is called with it.
func TestNoPanicEscapesFit(t *testing.T) {
	fit := func(c hostileCase) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("escaped: %v", p)
			}
		}()
		loader, err := dataset.NewLoader(c.data, dataset.Options{BatchSize: 4})
		if err != nil {
			return err
		}
		_, err = train.Fit(context.Background(), c.model, c.loss, c.optimizer, loader, c.options)
		return err
	}
	if err := fit(harmless()); err != nil {
		t.Fatal(err)
	}
	for name, h := range hostileCases {
		c := harmless()
		h.change(&c)
		var ended error
		if len(c.options.Callbacks) == 0 {
			c.call(train.CallbackFuncs{OnRunEnd: func(err error) { ended = err }})
		}
		err := fit(c)
		if err == nil || !strings.Contains(err.Error(), h.want) || strings.Contains(err.Error(), "escaped") {
			t.Errorf("%s: error %v, want %q", name, err, h.want)
		}
		if began := ended != nil; began && ended.Error() != err.Error() {
			t.Errorf("%s: RunEnd was told %v, Fit returned %v", name, ended, err)
		}
	}
}

// TestNoPanicEscapesPredict whatever the model does.
func TestNoPanicEscapesPredict(t *testing.T) {
	feature := train.Feature{Name: "x", Type: dtype.Float32, Shape: []int{2}}
	calls := 0
	m := harmless().model.(hostileModel)
	late := m
	late.forward = func(x *tensor.Tensor) *tensor.Tensor {
		if calls++; calls > 2 { // those that find the shape of the output
			outOfRange()
		}
		return m.Linear.Forward(x)
	}
	p, err := train.NewPredictor(late, storage.CPU, feature)
	if err == nil {
		_, err = p.Predict(storage.From([]float32{1, 2}, 1, 2))
	}
	if err == nil || !strings.Contains(err.Error(), "panic in train_test.outOfRange") {
		t.Errorf("error %v", err)
	}
	for _, m := range []nn.Module{hostileModel{}, hostileModel{forward: func(*tensor.Tensor) *tensor.Tensor { return nil }}, nil} {
		if _, err := train.NewPredictor(m, storage.CPU, feature); err == nil {
			t.Errorf("a predictor of %T", m)
		}
	}
}
