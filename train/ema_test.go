package train_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

const averaging = settings + "ema: 0.9\n"

// TestAveragesFollowTheParameters computes the averages by hand after each step, on a
// CPU and with captured steps, and compares the predictor's parameters with them.
func TestAveragesFollowTheParameters(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		c, err := train.ParseConfig([]byte(averaging))
		if err != nil {
			t.Fatal(err)
		}
		x, y := blobs(48)
		data, err := train.NewData(c, train.Arrays{X: x, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, d)
		if err != nil {
			t.Fatal(err)
		}
		weight := maps.Collect(nn.Parameters(run.Model))["6.weight"]
		values := func() []float32 { return slices.Clone(tensor.Values[float32](weight.Tensor)) }
		want := values()
		follow := train.CallbackFuncs{OnStepEnd: func(train.Progress) error {
			for i, v := range values() {
				want[i] += (v - want[i]) * (1 - 0.9)
			}
			return nil
		}}
		if err := run.Fit(context.Background(), data, train.Options{Callbacks: []train.Callback{follow}}); err != nil {
			t.Fatal(err)
		}
		trained := values()
		if _, err := run.Predictor(); err != nil {
			t.Fatal(err)
		}
		for i, got := range values() {
			if diff := got - want[i]; diff > 1e-5 || diff < -1e-5 {
				t.Fatalf("%v: average %v of element %d, want %v; the parameter is %v", d, got, i, want[i], trained[i])
			}
		}
		if slices.Equal(values(), trained) {
			t.Errorf("%v: the averages are the parameters", d)
		}
	}
}

// TestValidationUsesAverages: the loss of the last validation is that of the averages, as
// an evaluation of the trained run finds it, and not that of the parameters.
func TestValidationUsesAverages(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		c, err := train.ParseConfig([]byte(averaging))
		if err != nil {
			t.Fatal(err)
		}
		x, y := blobs(48)
		valX, valY := blobsFrom(7, 32)
		data, err := train.NewData(c, train.Arrays{X: x, Y: y, ValX: valX, ValY: valY})
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(context.Background(), c, data, d)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		m, err := run.Evaluate(context.Background(), data.Val)
		if err != nil {
			t.Fatal(err)
		}
		p, err := nn.FromConfig(run.Config.Model) // the parameters, without averages
		if err != nil {
			t.Fatal(err)
		}
		if err := nn.LoadStateDict(p, nn.StateDict(run.Model)); err != nil {
			t.Fatal(err)
		}
		validated, _ := run.History.Last("val_loss")
		if math.Abs(validated-m.MeanLoss()) > 1e-6 {
			t.Errorf("%v: validated to a loss of %v, evaluated to %v", d, validated, m.MeanLoss())
		}
		run.Config.EMA = 0
		plain, err := train.New(context.Background(), run.Config, data, d)
		if err != nil {
			t.Fatal(err)
		}
		if err := nn.LoadStateDict(plain.Model, nn.StateDict(p)); err != nil {
			t.Fatal(err)
		}
		if m, err := plain.Evaluate(context.Background(), data.Val); err != nil || math.Abs(validated-m.MeanLoss()) < 1e-4 {
			t.Errorf("%v: the parameters evaluate to %v too (error %v)", d, m.MeanLoss(), err)
		}
	}
}

// TestAveragesAreResumed interrupts runs, within an epoch and at its end.
func TestAveragesAreResumed(t *testing.T) {
	finish := func(run *train.Run, data *train.Data) map[string]string {
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		all := state(t, run)
		if _, err := run.Predictor(); err != nil {
			t.Fatal(err)
		}
		for name, values := range state(t, run) {
			all["averaged/"+name] = values
		}
		return all
	}
	whole, data := setUp(t, averaging)
	want := finish(whole, data)
	if want["averaged/model/6.weight"] == want["model/6.weight"] {
		t.Error("the averages are the parameters")
	}
	for _, stop := range []int{1, 10, 14} {
		run, data := setUp(t, averaging)
		again := interrupted(t, run, data, stop)
		sameState(t, fmt.Sprintf("stopped after step %d", stop), finish(again, data), want)
	}
}

// losing is a metric that loses the averages of a run while it is validated with them.
type losing struct{ nn.MetricSums }

var losingRun *train.Run

func (m *losing) Update(_, _, _ *tensor.Tensor) {
	if losingRun != nil && losingRun.Position.Epoch == 0 && losingRun.Position.Consumed == losingRun.Position.Samples {
		if err := train.LoseAverages(losingRun); err != nil {
			panic(err)
		}
	}
}

func (m *losing) Result() (storage.Array, error) { return storage.From([]float64{0}), nil }

var _ = nn.RegisterMetric("losing", func(struct{}) *losing { return &losing{} }, struct{}{})

// TestTrainingNeverGoesOnWithAverages wants an error where the parameters cannot be put back after validation.
func TestTrainingNeverGoesOnWithAverages(t *testing.T) {
	run, data := setUp(t, averaging+"metrics: [losing]\n")
	losingRun = run
	defer func() { losingRun = nil }()
	if err := run.Fit(context.Background(), data, train.Options{}); err == nil || !strings.Contains(err.Error(), "ema: no average") || run.Position.Epoch != 0 {
		t.Errorf("error %v in epoch %d; want one of the averages in the first", err, run.Position.Epoch)
	}
}
