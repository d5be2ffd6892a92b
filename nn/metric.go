package nn

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Metric accumulates how well the outputs of a model match the targets. Its state
// is arrays of sums on the device of the outputs, so that it can be saved, and
// merged with the state of other replicas.
type Metric interface {
	// Update adds a batch. The weights, nil or of the targets' leading axes, multiply
	// what a sample or element counts. Update does not wait for the device.
	Update(outputs, targets, weights *tensor.Tensor)
	// Result returns the metric of all batches since Reset, as float64 on the CPU: a
	// single number or, for a confusion matrix, several. It waits for the device.
	Result() (storage.Array, error)
	// Reset starts again.
	Reset()
	// State yields the arrays to save.
	State() iter.Seq2[string, storage.Array]
	// Load replaces the state.
	Load(state iter.Seq2[string, storage.Array]) error
	// Merge adds the state of another metric of the same kind, as of another replica.
	Merge(state iter.Seq2[string, storage.Array]) error
}

var metrics = factory[Metric]{kind: "metric"}

// RegisterMetric makes metrics available to configurations, as RegisterLayer does
// for layers.
func RegisterMetric[S any, M Metric](name string, make func(settings S) M, defaults S) bool {
	return register(&metrics, name, make, defaults)
}

// MetricFromConfig builds the metric that description describes: "accuracy" or
// {"top_k": 5}.
func MetricFromConfig(description any) (Metric, error) { return metrics.fromConfig(description) }

// DescribeMetric returns the settings of m as MetricFromConfig reads them.
func DescribeMetric(m Metric) (any, error) { return metrics.describe(m) }

// MetricName returns the name of m in configurations.
func MetricName(m Metric) string { return metrics.called(m) }

// MetricSums implements the state of metrics that embed it: named sums in float64.
type MetricSums struct{ sums map[string]storage.Array }

// Add adds x to the named sum, which is zeros of the shape of x at first. The sum
// moves to the device of x.
func (m *MetricSums) Add(name string, x *tensor.Tensor) {
	sum, ok := m.sums[name]
	d := x.Device()
	var err error
	switch {
	case !ok:
		if sum, err = storage.Make(d, dtype.Float64, x.Shape()...); err == nil {
			tensor.FromArray(sum).Zero()
		}
	case sum.Data.Device() != d:
		sum, err = sum.To(d)
	}
	if err != nil {
		tensor.Fail("metric", err, "sum of %s: %v", name, err)
	}
	if m.sums == nil {
		m.sums = map[string]storage.Array{}
	}
	m.sums[name] = sum
	tensor.FromArray(sum).AddInPlace(x.Detach().Cast(dtype.Float64))
}

// Sum returns the elements of the named sum, in row-major order; nil before the
// first Add. It waits for the device.
func (m *MetricSums) Sum(name string) ([]float64, error) {
	sum, ok := m.sums[name]
	if !ok {
		return nil, nil
	}
	if err := sum.Data.Device().Sync(); err != nil {
		return nil, err
	}
	return storage.Read[float64](sum)
}

// Reset makes all sums zero.
func (m *MetricSums) Reset() {
	for _, sum := range m.sums {
		tensor.FromArray(sum).Zero()
	}
}

// State yields the sums.
func (m *MetricSums) State() iter.Seq2[string, storage.Array] {
	return byName(m.sums)
}

// Load replaces the sums by copies of state. Sums of the same shape stay in their memory, to which captured
// steps add.
func (m *MetricSums) Load(state iter.Seq2[string, storage.Array]) error {
	loaded := MetricSums{}
	if err := loaded.Merge(state); err != nil {
		return err
	}
	for name, a := range loaded.State() {
		have, ok := m.sums[name]
		if !ok || !slices.Equal(have.Shape, a.Shape) {
			continue
		}
		if err := a.CopyTo(have); err != nil {
			return fmt.Errorf("metric state: %s: %w", name, err)
		}
		loaded.sums[name] = have
	}
	m.sums = loaded.sums
	return nil
}

// Merge adds the sums of state. On an error nothing changes.
func (m *MetricSums) Merge(state iter.Seq2[string, storage.Array]) error {
	merged := map[string]storage.Array{}
	for name, a := range state {
		other, err := storage.Make(storage.CPU, dtype.Float64, a.Shape...)
		if err == nil {
			err = a.CopyTo(other)
		}
		if err != nil {
			return fmt.Errorf("metric state: %s: %w", name, err)
		}
		if sum, ok := m.sums[name]; ok {
			if !slices.Equal(sum.Shape, a.Shape) {
				return errkind.Errorf(views.ErrShape, "metric state: %s is %v; want %v", name, a.Shape, sum.Shape)
			}
			if sum, err = sum.To(storage.CPU); err != nil {
				return fmt.Errorf("metric state: %s: %w", name, err)
			}
			tensor.FromArray(other).AddInPlace(tensor.FromArray(sum))
		}
		merged[name] = other
	}
	if m.sums == nil {
		m.sums = map[string]storage.Array{}
	}
	maps.Copy(m.sums, merged)
	return nil
}

// addMean adds a batch of elements to a mean: their weighted sum to the sum "total"
// and their weights to the sum "weight".
func (m *MetricSums) addMean(metric string, elements, weights *tensor.Tensor) {
	if weights == nil {
		m.Add("total", elements.Cast(dtype.Float64).Sum())
		m.Add("weight", elements.Cast(dtype.Float64).MulScalar(0).AddScalar(1).Sum())
		return
	}
	weights = alignWeights(metric, elements, weights, elements.DType())
	m.Add("total", elements.Mul(weights).Cast(dtype.Float64).Sum())
	m.Add("weight", weights.Cast(dtype.Float64).Sum())
}

// mean returns total/weight, 0 before the first batch.
func (m *MetricSums) mean() (storage.Array, error) {
	total, err := m.Sum("total")
	if err != nil {
		return storage.Array{}, err
	}
	weight, err := m.Sum("weight")
	if err != nil {
		return storage.Array{}, err
	}
	value := 0.0
	if len(weight) == 1 && len(total) == 1 && weight[0] != 0 {
		value = total[0] / weight[0]
	}
	return storage.From([]float64{value}), nil
}

// mapped returns f(total/weight).
func (m *MetricSums) mapped(f func(float64) float64) (storage.Array, error) {
	mean, err := m.mean()
	if err != nil {
		return mean, err
	}
	return storage.From([]float64{f(storage.Elements[float64](mean)[0])}), nil
}
