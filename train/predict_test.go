package train_test

import (
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// TestProbabilitiesOfModelsThatEndInOne asks for probabilities of models that end in a
// softmax, in a sigmoid and in neither, and for classes of one output.
func TestProbabilitiesOfModelsThatEndInOne(t *testing.T) {
	x := storage.From([]float32{0, float32(math.Log(3))}, 1, 2)
	for _, c := range []struct {
		model nn.Module
		want  float64
	}{
		{nn.Sequential{nn.Softmax{}}, 0.25}, {nn.Sequential{nn.Identity{}}, 0.25}, {nn.Sequential{nn.Identity{}, nn.Sequential{nn.Sigmoid{}}}, 0.5},
	} {
		p, err := train.NewPredictor(c.model, storage.CPU, train.Feature{Name: "x", Shape: []int{2}})
		if err == nil {
			err = p.Probabilities()
		}
		if err != nil {
			t.Fatal(err)
		}
		y, err := p.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := tensor.Values[float64](tensor.FromArray(y))[0]; !(math.Abs(got-c.want) < 1e-6) {
			t.Errorf("%T: probability %v; want %v", c.model, got, c.want)
		}
	}
	p, err := train.NewPredictor(nn.Sequential{nn.Sigmoid{}}, storage.CPU, train.Feature{Name: "x", Shape: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Classes(); err == nil || !strings.Contains(err.Error(), "one output for each sample") {
		t.Errorf("classes of one output: error %v", err)
	}
}

// A dropsAlways drops elements of predictions, too, by random numbers.
type dropsAlways struct{}

func (dropsAlways) Forward(x *tensor.Tensor) *tensor.Tensor {
	key, _ := x.NextKey()
	return x.Dropout(0.5, key)
}

// TestUnplannedModelsSayWhy they are computed operation by operation.
func TestUnplannedModelsSayWhy(t *testing.T) {
	for _, c := range []struct {
		model nn.Module
		want  string
	}{{nn.Sequential{nn.Sigmoid{}}, ""}, {dropsAlways{}, "it draws random numbers"}} {
		p, err := train.NewPredictor(c.model, storage.CPU, train.Feature{Name: "x", Shape: []int{2}})
		if err != nil {
			t.Fatal(err)
		}
		p.BatchSize = 1
		if _, err := p.Predict(storage.From([]float32{1, 2}, 1, 2)); err != nil {
			t.Fatal(err)
		}
		if why := p.Unplanned(); (why == nil) != (c.want == "") || why != nil && !strings.Contains(why.Error(), c.want) {
			t.Errorf("%T: not planned because %v; want %q", c.model, why, c.want)
		}
	}
}
