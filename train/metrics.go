package train

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// metricSet is metrics by name. Their state is on the device that computes.
type metricSet struct {
	names   []string
	metrics []nn.Metric
}

// newMetrics returns the metrics of c, before any batch.
func (c Config) newMetrics() (set metricSet, err error) {
	for i, description := range c.Metrics {
		m, err := nn.MetricFromConfig(description)
		if err != nil {
			return set, config.At(err, "metrics", i)
		}
		name := nn.MetricName(m)
		if slices.Contains(set.names, name) {
			return set, config.At(fmt.Errorf("%s is there twice", name), "metrics", i)
		}
		set.names, set.metrics = append(set.names, name), append(set.metrics, m)
	}
	return set, nil
}

// update adds a batch.
func (s metricSet) update(out, target *tensor.Tensor, weights *tensor.Tensor) {
	for _, m := range s.metrics {
		m.Update(out, target, weights)
	}
}

func (s metricSet) reset() {
	for _, m := range s.metrics {
		m.Reset()
	}
}

// results returns the results by name; nil if there are no metrics.
func (s metricSet) results() (map[string]storage.Array, error) {
	var all map[string]storage.Array
	for i, m := range s.metrics {
		a, err := m.Result()
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", s.names[i], err)
		}
		if all == nil {
			all = map[string]storage.Array{}
		}
		all[s.names[i]] = a
	}
	return all, nil
}

// state yields the state of all metrics by metric and array.
func (s metricSet) state() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for i, m := range s.metrics {
			for name, a := range m.State() {
				if !yield(s.names[i]+"/"+name, a) {
					return
				}
			}
		}
	}
}

// load reads the state of all metrics from a run file.
func (s metricSet) load(f []serialize.Entry) error {
	for i, m := range s.metrics {
		state := maps.Collect(under(f, "metrics/"+s.names[i]+"/"))
		if len(state) == 0 {
			continue
		}
		if err := m.Load(maps.All(state)); err != nil {
			return fmt.Errorf("metrics/%s: %w", s.names[i], err)
		}
	}
	return nil
}

// reduce adds up the state over the replicas, by way of h.
func (s metricSet) reduce(h MetricsHook) error {
	for i, m := range s.metrics {
		total := map[string]storage.Array{}
		for name, a := range m.State() {
			sums, err := storage.Read[float64](a)
			if err == nil {
				err = h.ReduceMetrics(sums)
			}
			if err != nil {
				return fmt.Errorf("metric %s: %s: %w", s.names[i], name, err)
			}
			total[name] = storage.From(sums, a.Shape...)
		}
		if err := m.Load(maps.All(total)); err != nil {
			return fmt.Errorf("metric %s: %w", s.names[i], err)
		}
	}
	return nil
}
