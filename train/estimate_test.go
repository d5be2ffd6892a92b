package train_test

import (
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train"
)

// TestMetricsAndPredictionsAreOfTheTargets where outputs are logarithms of rates, or means and variances: metrics compare rates and means, and
// so are values.
func TestMetricsAndPredictionsAreOfTheTargets(t *testing.T) {
	y := []float32{0, 1, 3, 2, 0, 5}
	for loss, expected := range map[string]func(outputs []float32) []float64{
		"poisson_nll": func(outputs []float32) (rates []float64) {
			for _, x := range outputs {
				rates = append(rates, math.Exp(float64(x)))
			}
			return rates
		},
		"gaussian_nll": func(outputs []float32) (means []float64) {
			for i := 0; i < len(outputs); i += 2 {
				means = append(means, float64(outputs[i]))
			}
			return means
		},
	} {
		outputs := map[string]string{"poisson_nll": "1", "gaussian_nll": "2"}[loss]
		c, err := train.ParseConfig([]byte("{data: {file: f, x: x, y: y}, loss: " + loss + ", metrics: [mae], epochs: 1, model: [{dense: " + outputs + "}]}"))
		if err != nil {
			t.Fatal(err)
		}
		x := storage.From([]float32{1, -1, 2, 0.5, -2, 3}, len(y), 1)
		data, err := dataconfig.New(c.Data, 1, []dataset.NamedArray{{Name: "x", Array: x}, {Name: "y", Array: storage.From(y, len(y)), Role: dataset.Target}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := train.New(t.Context(), c, data, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		m, err := run.Evaluate(t.Context(), data.Train)
		if err != nil {
			t.Fatal(err)
		}
		p, err := run.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		predict := func() []float32 {
			out, err := p.Predict(x)
			if err != nil {
				t.Fatal(err)
			}
			return tensor.Values[float32](tensor.FromArray(out))
		}
		want := expected(predict())
		mean := 0.0
		for i, e := range want {
			mean += math.Abs(e-float64(y[i])) / float64(len(y))
		}
		if got := tensor.FromArray(m.Values["mean_absolute_error"]).Item(); math.Abs(got-mean) > 1e-6 {
			t.Errorf("%s: mean absolute error %v, want %v", loss, got, mean)
		}
		if err := p.Values(); err != nil {
			t.Fatal(err)
		}
		if got := predict(); !slices.EqualFunc(got, want, func(x float32, y float64) bool { return math.Abs(float64(x)-y) < 1e-6*(1+math.Abs(y)) }) {
			t.Errorf("%s: values %v, want %v", loss, got, want)
		}
	}
}
