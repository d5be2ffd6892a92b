package train

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// metricSet is metrics by name, of every output of the model. Their state is on the
// device that computes.
type metricSet struct {
	metrics      []outputMetric
	loss         *weightedLoss // of samples or classes with weights
	standardized *weightedLoss // of normalized targets; without batches where none is
}

// standardizedLoss is the name of the loss that training minimizes where targets are normalized. The loss is in the units
// of the data then.
const standardizedLoss = "standardized_loss"

// An outputMetric is a metric of one output. Where the model has several, the name
// begins with that of the target, as in class_accuracy.
type outputMetric struct {
	name   string
	output int
	nn.Metric
}

// newMetrics returns the metrics of each of the targets, before any batch. Accuracies that Metrics do not have are among them.
func (r *Run) newMetrics() (set metricSet, err error) {
	set.loss, set.standardized = &weightedLoss{}, &weightedLoss{}
	hasAccuracy := r.HasAccuracy()
	for output := range max(1, len(r.targets)) {
		l, path := r.lossOf(output), []any{"metrics"}
		descriptions := r.Config.Metrics
		if l.Metrics != nil {
			descriptions, path = l.Metrics, []any{"targets", r.targets[output], "metrics"}
		}
		if nn.TakesLabels(l.Loss) && !hasAccuracy && !slices.ContainsFunc(descriptions, isAccuracy) {
			m := outputMetric{r.metricName(output, "accuracy"), output, &nn.Accuracy{LabelOptions: nn.LabelOptions{IgnoreIndex: nn.IgnoredLabel(l.Loss)}}}
			set.metrics = append(set.metrics, m)
		}
		for i, description := range descriptions {
			here := append(path, config.Item{Kind: "metric", Index: i})
			m, err := nn.MetricFromConfig(description)
			if err != nil {
				return set, config.At(err, here...)
			}
			name := r.metricName(output, nn.MetricName(m))
			if name == "loss" || name == standardizedLoss || slices.ContainsFunc(set.metrics, func(m outputMetric) bool { return m.name == name }) {
				return set, config.At(fmt.Errorf("duplicate metric %s", name), here...)
			}
			set.metrics = append(set.metrics, outputMetric{name, output, m})
		}
	}
	return set, nil
}

// newMetricSets returns the metrics of each shard.
func (r *Run) newMetricSets() ([]metricSet, error) {
	sets := make([]metricSet, max(1, r.Config.Shards))
	for i := range sets {
		var err error
		if sets[i], err = r.newMetrics(); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// metricName returns the name of a metric of an output.
func (r *Run) metricName(output int, name string) string {
	if len(r.targets) > 1 {
		return plainName(r.targets[output]) + "_" + name
	}
	return name
}

// HasMetric reports whether a metric of that name is among the metrics of c, by itself or with settings.
func (c Config) HasMetric(name string) bool {
	return slices.ContainsFunc(c.Metrics, func(description any) bool {
		m, err := nn.MetricFromConfig(description)
		return err == nil && nn.MetricName(m) == name
	})
}

// isAccuracy reports whether a metric is described as accuracy.
func isAccuracy(description any) bool {
	m, err := nn.MetricFromConfig(description)
	_, is := m.(*nn.Accuracy)
	return err == nil && is
}

// update adds a batch.
func (s metricSet) update(outputs, targets, weights []*tensor.Tensor) {
	for _, m := range s.metrics {
		m.Update(outputs[m.output].Detach(), targets[m.output], weights[m.output])
	}
}

// weighs reports whether some loss is a mean by weights, so that the mean over an epoch is not over samples.
func weighs(losses []nn.Fraction) bool {
	return slices.ContainsFunc(losses, func(f nn.Fraction) bool { return !f.IsMean() && !f.IsSum() })
}

// A weightedLoss is the mean loss over the weights of samples or elements: the sum, of several outputs.
type weightedLoss struct{ nn.MetricSums }

// sums returns the names of the sums of an output.
func (*weightedLoss) sums(output int) (total, weight string) {
	if output == 0 {
		return "total", "weight"
	}
	return fmt.Sprint("total", output), fmt.Sprint("weight", output)
}

// add adds the losses of a batch of n samples, which count alike where there are no weights.
func (m *weightedLoss) add(losses []nn.Fraction, n int) {
	for i, loss := range losses {
		if !weighs(losses[i : i+1]) {
			loss = nn.MeanFraction(loss.Value(), n)
		}
		total, weight := m.sums(i)
		m.Add(total, loss.Numerator())
		m.Add(weight, loss.Denominator())
	}
}

// mean returns the mean loss, and false if no batch was added.
func (m *weightedLoss) mean() (mean float64, added bool, err error) {
	for output := 0; ; output++ {
		total, weight := m.sums(output)
		sum, err := m.Sum(total)
		if err != nil || sum == nil {
			return mean, added, err
		}
		weights, err := m.Sum(weight)
		if err != nil {
			return 0, false, err
		}
		if added = true; weights[0] != 0 {
			mean += sum[0] / weights[0]
		}
	}
}

// finish completes m with the results of s.
func (s metricSet) finish(m *Metrics) (err error) {
	if mean, ok, err := s.loss.mean(); err != nil {
		return fmt.Errorf("loss: %w", err)
	} else if ok {
		m.Loss = mean * float64(m.Samples)
	}
	m.Values = map[string]storage.Array{}
	for _, metric := range s.metrics {
		if m.Values[metric.name], err = metric.Result(); err != nil {
			return fmt.Errorf("metric %s: %w", metric.name, err)
		}
	}
	mean, ok, err := s.standardized.mean()
	if ok {
		m.Values[standardizedLoss] = storage.From([]float64{mean})
	}
	return err
}

func (s metricSet) reset() {
	s.loss.Reset()
	s.standardized.Reset()
	for _, m := range s.metrics {
		m.Reset()
	}
}

// A metricState is a metric's state and the name it is saved under.
type metricState struct {
	name string
	mergeable
}

// A mergeable is the state of a metric over a part of the samples.
type mergeable interface {
	nn.Stateful
	Merge(state iter.Seq2[string, storage.Array]) error
}

// parts lists the states of all metrics and of the loss.
func (s metricSet) parts() []metricState {
	all := []metricState{{"loss", s.loss}, {standardizedLoss, s.standardized}}
	for _, m := range s.metrics {
		all = append(all, metricState{m.name, m.Metric})
	}
	return all
}

// load reads the state, if a file has any.
func (m metricState) load(arrays named) error {
	state := maps.Collect(arrays)
	if len(state) == 0 {
		return nil
	}
	if err := m.Load(byName(state)); err != nil {
		return fmt.Errorf("metrics/%s: %w", m.name, err)
	}
	return nil
}

// merge adds the states of another set of the same metrics.
func (s metricSet) merge(other metricSet) error {
	parts := s.parts()
	for i, from := range other.parts() {
		if err := parts[i].Merge(from.State()); err != nil {
			return fmt.Errorf("metric %s: %w", from.name, err)
		}
	}
	return nil
}

// Numbers yields the loss, the accuracy, if the run has one, and the metrics that are single numbers, by name.
func (t Metrics) Numbers(accuracy bool) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		if !yield("loss", t.MeanLoss()) || accuracy && !yield("accuracy", t.Accuracy()) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(t.Values)) {
			if a := t.Values[name]; a.Len() == 1 && !(accuracy && name == "accuracy") && !yield(name, storage.Elements[float64](a)[a.Offset]) {
				return
			}
		}
	}
}
