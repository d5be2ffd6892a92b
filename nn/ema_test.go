package nn_test

import (
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestEMAIsTheMovingAverage of a parameter that is 1, 2, 3 and 4, saved and loaded in
// between: with decay 0.5 it is ((1·½ + 2·½)·½ + 3·½)·½ + 4·½.
func TestEMAIsTheMovingAverage(t *testing.T) {
	model := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 1, OutFeatures: 2})}
	weight := model[0].(*nn.Linear).Weight
	e := nn.NewEMA(nn.EMAOptions{Decay: 0.5})
	if err := e.Swap(nn.Parameters(model)); err == nil {
		t.Error("swapped averages that there are not")
	}
	for value := range 4 {
		weight.Detach().Fill(float64(value + 1))
		if err := e.Update(nil, nn.Parameters(model)); err != nil {
			t.Fatal(err)
		}
		again := nn.NewEMA(nn.EMAOptions{Decay: 0.5})
		if err := again.Load(nn.Parameters(model), e.State()); err != nil {
			t.Fatal(err)
		}
		e = again
	}
	values := func() []float32 { return slices.Clone(tensor.Values[float32](weight.Tensor)) }
	for _, want := range []float32{3.125, 4} { // swapped, and swapped back
		if err := e.Swap(nn.Parameters(model)); err != nil {
			t.Fatal(err)
		}
		if got := values(); !slices.Equal(got, []float32{want, want}) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	other := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2})}
	if err := e.Load(nn.Parameters(other), e.State()); err == nil {
		t.Error("averages of another shape were loaded")
	}
	away := storagetest.NewDevice("fake:0")
	if err := nn.ToInPlace(model, away); err != nil {
		t.Fatal(err)
	}
	if err := e.Swap(nn.Parameters(model)); err == nil {
		t.Error("swapped with averages on another device")
	}
	if err := nn.ToInPlace(model, storage.CPU); err != nil {
		t.Fatal(err)
	}
	if d := nn.NewEMA(nn.EMAOptions{}).Decay; math.Abs(d-0.999) > 0 {
		t.Errorf("decay %v by default", d)
	}
}

// TestZeroEMAHasDefaults wants new(EMA) to average as NewEMA's does.
func TestZeroEMAHasDefaults(t *testing.T) {
	layer := nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 1})
	zero := new(nn.EMA)
	if err := zero.Update(nil, nn.Parameters(layer)); err != nil {
		t.Fatal(err)
	}
	if zero.Decay != nn.NewEMA(nn.EMAOptions{}).Decay {
		t.Errorf("decay %v", zero.Decay)
	}
}
