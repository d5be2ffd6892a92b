package nn_test

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// metricCases have three batches each; want is computed by hand.
var metricCases = []struct {
	description string
	outputs     [][]float32 // of three columns
	labels      [][]int64
	values      [][]float32 // in the place of labels
	weights     [][]float32
	want        []float64
}{
	{
		description: `"accuracy"`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 0}, {9, 0, 0}},
		labels:      [][]int64{{2, 1}, {1}, {2}},
		want:        []float64{0.5},
	},
	{
		description: `"accuracy"`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 0}, {9, 0, 0}},
		labels:      [][]int64{{2, 1}, {1}, {2}},
		weights:     [][]float32{{3, 1}, {0}, {4}},
		want:        []float64{3. / 8},
	},
	{
		description: `{"top_k": 2}`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 1}, {9, 0, 1}},
		labels:      [][]int64{{2, 1}, {0}, {2}},
		want:        []float64{0.75},
	},
	{
		description: `"confusion_matrix"`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 0}, {9, 0, 0}},
		labels:      [][]int64{{2, 1}, {1}, {2}},
		want:        []float64{0, 0, 0, 1, 1, 0, 1, 0, 1},
	},
	{ // the second sample and the last one are left out
		description: `{"accuracy": {"ignore_index": -1}}`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 0}, {9, 0, 0}},
		labels:      [][]int64{{2, -1}, {0}, {-1}},
		weights:     [][]float32{{3, 5}, {1}, {4}},
		want:        []float64{3. / 4},
	},
	{
		description: `{"top_k": {"k": 2, "ignore_index": 0}}`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 1}, {9, 0, 1}},
		labels:      [][]int64{{0, 1}, {2}, {1}},
		want:        []float64{2. / 3},
	},
	{
		description: `{"confusion_matrix": {"ignore_index": 1}}`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 0}, {9, 0, 0}},
		labels:      [][]int64{{2, 1}, {1}, {2}},
		want:        []float64{0, 0, 0, 0, 0, 0, 1, 0, 1},
	},
	{
		description: `"mean_absolute_error"`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 0}, {9, 0, 0}},
		values:      [][]float32{{1, 1, 3, 3, 2, 1}, {0, 3, 0}, {6, 0, 0}},
		want:        []float64{6. / 12},
	},
	{
		description: `"mse"`,
		outputs:     [][]float32{{1, 2, 3, 3, 2, 1}, {0, 5, 0}, {9, 0, 0}},
		values:      [][]float32{{1, 1, 3, 3, 2, 1}, {0, 3, 0}, {6, 0, 0}},
		weights:     [][]float32{{1, 0}, {2}, {1}},
		want:        []float64{(1 + 2*4 + 9) / 12.},
	},
}

// TestMetricsAccumulate in one, saved and loaded between batches, and in three
// replicas that are merged.
func TestMetricsAccumulate(t *testing.T) {
	for _, c := range metricCases {
		build := func() nn.Metric {
			m, err := nn.MetricFromConfig(json.RawMessage(c.description))
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		update := func(m nn.Metric, i int) {
			err := tensor.Infer(func(tape *tensor.Tape) error {
				n := len(c.outputs[i]) / 3
				var targets, weights *tensor.Tensor
				if c.labels != nil {
					targets = tape.Input(storage.From(c.labels[i], n))
				} else {
					targets = tape.Input(storage.From(c.values[i], n, 3))
				}
				if c.weights != nil {
					weights = tape.Input(storage.From(c.weights[i], n))
				}
				m.Update(tape.Input(storage.From(c.outputs[i], n, 3)), targets, weights)
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", c.description, err)
			}
		}
		check := func(how string, m nn.Metric) {
			result, err := m.Result()
			if err != nil {
				t.Errorf("%s, %s: %v", c.description, how, err)
				return
			}
			got := storage.Elements[float64](result)
			if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
				t.Errorf("%s, %s: %v, want %v", c.description, how, got, c.want)
			}
		}
		whole, resumed, replicas := build(), build(), []nn.Metric{build(), build(), build()}
		for i := range c.outputs {
			update(whole, i)
			update(resumed, i)
			update(replicas[i], i)
			again := build()
			if err := again.Load(copied(t, resumed.State())); err != nil {
				t.Fatal(err)
			}
			resumed = again
		}
		for _, other := range replicas[1:] {
			if err := replicas[0].Merge(other.State()); err != nil {
				t.Fatal(err)
			}
		}
		check("whole", whole)
		check("resumed", resumed)
		check("merged", replicas[0])
		whole.Reset()
		for i := range c.outputs {
			update(whole, i)
		}
		check("after Reset", whole)
		described, err := nn.DescribeMetric(whole)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.MetricFromConfig(described); err != nil {
			t.Errorf("%s described as %v: %v", c.description, described, err)
		}
	}
}

// copied returns a state in arrays of its own.
func copied(t *testing.T, state iter.Seq2[string, storage.Array]) iter.Seq2[string, storage.Array] {
	t.Helper()
	all := map[string]storage.Array{}
	for name, a := range state {
		c, err := storage.Make(storage.CPU, a.Type, a.Shape...)
		if err == nil {
			err = a.CopyTo(c)
		}
		if err != nil {
			t.Fatal(err)
		}
		all[name] = c
	}
	return maps.All(all)
}

func TestMetricMistakesAreErrors(t *testing.T) {
	if _, err := nn.MetricFromConfig("acuracy"); !errors.Is(err, nn.ErrConfig) {
		t.Errorf("error %v, want one of kind %v", err, nn.ErrConfig)
	}
	m := &nn.ConfusionMatrix{}
	m.Update(tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2), tensor.FromSlice([]int64{0, 1}, 2), nil)
	other := &nn.ConfusionMatrix{}
	other.Update(tensor.FromSlice([]float32{1, 2, 3}, 1, 3), tensor.FromSlice([]int64{0}, 1), nil)
	if err := m.Merge(other.State()); err == nil {
		t.Error("a matrix of three classes was merged into one of two")
	}
}

// TestMetricsAgreeWithTorchmetrics updates each metric with three batches, as testdata/metrics.py does, and merges replicas.
func TestMetricsAgreeWithTorchmetrics(t *testing.T) {
	o, count := openFile(t, "testdata/metrics.npz"), 0
	for key := range o {
		description, ok := strings.CutSuffix(key, "/x")
		if !ok {
			continue
		}
		count++
		m := metricFrom(t, description)
		for _, at := range [][2]int{{0, 4}, {4, 11}, {11, o[key].Shape[0]}} {
			rows := func(a storage.Array) *tensor.Tensor { return tensor.FromArray(a).Slice(0, at[0], at[1], 1) }
			part := metricFrom(t, description)
			part.Update(rows(o[key]), rows(o[description+"/y"]), nil)
			if err := m.Merge(part.State()); err != nil {
				t.Fatal(err)
			}
		}
		described, err := nn.DescribeMetric(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := nn.MetricFromConfig(described)
		if err == nil {
			err = again.Load(m.State())
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Result()
		if err != nil {
			t.Fatal(err)
		}
		// torchmetrics divides in float32
		near(t, precision{dtype.Float64, 1e-6}, description,
			storage.Elements[float64](got), tensor.Values[float64](tensor.FromArray(o[description+"/value"])))
	}
	if count != 49 {
		t.Errorf("%d metrics in the fixture, want 49", count)
	}
}
