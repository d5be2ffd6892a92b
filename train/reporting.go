package train

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/train/report"
)

// worstSamples is how many samples a report shows, and worstNumbers how many numbers of each that is no picture.
const worstSamples, worstNumbers = 24, 16

// Report returns a report of the run with that name. The confusion matrix and the samples with the largest loss are of
// samples; without them, nil, the report says so.
func (r *Run) Report(ctx context.Context, name string, samples dataset.Dataset) (p report.Report, err error) {
	defer panics.Recover(&err)
	p = report.Report{Title: name, Curves: r.History.curves()}
	total := r.Position.Running.Seconds
	for _, s := range r.History["seconds"] {
		total += s
	}
	p.Facts = []report.Fact{{Name: "epochs", Value: fmt.Sprintf("%d of %d", r.Position.Epoch, r.Config.Epochs)}, {Name: "steps", Value: fmt.Sprint(r.Position.Step)}, {Name: "time of training", Value: fmt.Sprintf("%.1f s", total)}}
	for _, metric := range r.History.Metrics() {
		if best, epoch, ok := r.History.Best(metric); ok {
			last, _ := r.History.Last(metric)
			p.Facts = append(p.Facts, report.Fact{Name: metric, Value: fmt.Sprintf("%.4g, best %.4g in epoch %d", last, best, epoch)})
		}
	}
	settings, err := json.MarshalIndent(r.Config, "", "  ")
	if err != nil {
		return p, err
	}
	p.Settings = string(settings)
	if samples == nil {
		p.Missing = append(p.Missing, "There are no validation data, which the confusion matrix and the samples with the largest loss need.")
		return p, nil
	}
	if r.HasAccuracy() {
		if err := r.confusion(ctx, &p, samples); err != nil {
			return p, err
		}
	}
	err = r.worst(ctx, &p, samples)
	return p, err
}

// curves returns the numbers of epochs: of training and validation in one panel.
func (h History) curves() (all []report.Curve) {
	for _, name := range h.Names() {
		if _, trained := h[strings.TrimPrefix(name, "val_")]; trained && strings.HasPrefix(name, "val_") {
			continue
		}
		c := report.Curve{Name: name, Series: []report.Series{{Name: "training", Values: h[name]}}}
		if values, ok := h["val_"+name]; ok {
			c.Series = append(c.Series, report.Series{Name: "validation", Values: values})
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b report.Curve) int { return cmp.Compare(len(b.Series), len(a.Series)) })
	return all
}

// className returns the name of a class, or its number.
func (r *Run) className(class int) string {
	if names := r.ClassNames(); class >= 0 && class < len(names) {
		return names[class]
	}
	return fmt.Sprint(class)
}

// confusion sets the confusion matrix.
func (r *Run) confusion(ctx context.Context, p *report.Report, samples dataset.Dataset) error {
	const name = "confusion_matrix"
	metrics := r.Config.Metrics
	defer func() { r.Config.Metrics = metrics }()
	if !r.Config.HasMetric(name) {
		r.Config.Metrics = append(slices.Clone(metrics), name)
	}
	m, err := r.Evaluate(ctx, samples)
	if err != nil {
		return err
	}
	counts, ok := m.Values[name]
	if !ok || counts.Rank() != 2 {
		return nil
	}
	elements, err := storage.Read[float64](counts)
	if err != nil {
		return err
	}
	for class := range counts.Shape[0] {
		p.Classes = append(p.Classes, r.className(class))
		p.Matrix = append(p.Matrix, elements[class*counts.Shape[1]:][:counts.Shape[1]])
	}
	return nil
}

// worst sets the samples with the largest loss, each as the only one of a batch.
func (r *Run) worst(ctx context.Context, p *report.Report, samples dataset.Dataset) (err error) {
	averaged := r.averaged
	if err := r.useAverages(true); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, r.useAverages(averaged)) }()
	predictor, err := r.predictor(false)
	if err != nil {
		return err
	}
	by, err := r.bindEvaluated(samples)
	if err != nil {
		return err
	}
	source, err := predictor.source(samples, r.Config.loading(), 1, r.checkLabels(by))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, source.close()) }()
	first := 0
	for b, err := range source.epoch(ctx, 0, 0) {
		if err != nil {
			return err
		}
		if err := predictor.blocks(b.n, func(from, to int) error {
			block := make([]storage.Array, len(b.fields))
			for i, field := range b.fields {
				block[i] = rows(field, from, to)
			}
			return tensor.Infer(func(t *tensor.Tape) error {
				return r.worstOf(p, r.compare(exampleOf(t, r.Inputs, by, block, storage.Array{})), block[by.inputs[0]], first+from)
			})
		}); err != nil {
			return err
		}
		first += b.n
	}
	return nil
}

// worstOf adds the samples of a batch that are among the worst. Its first has that number.
func (r *Run) worstOf(p *report.Report, c comparison, input storage.Array, first int) error {
	one := func(all []*tensor.Tensor, i int) []*tensor.Tensor {
		parts := make([]*tensor.Tensor, len(all))
		for k, x := range all {
			if x != nil {
				parts[k] = x.Narrow(0, i, 1)
			}
		}
		return parts
	}
	weights := make([]*tensor.Tensor, len(c.outputs))
	for i := range weights {
		weights[i] = c.arrangements[i].weights(c.counted[i])
	}
	for i := range input.Shape[0] {
		outputs, targets := one(c.outputs, i), one(c.compared, i)
		loss := sumOf(r.lossesOf(outputs, targets, one(weights, i))).Item()
		at := slices.IndexFunc(p.Worst, func(s report.Sample) bool { return !(s.Loss >= loss) })
		if at < 0 {
			at = len(p.Worst)
		}
		if at == worstSamples || math.IsNaN(loss) { // of a sample whose label is ignored
			continue
		}
		s := report.Sample{Number: first + i, Loss: loss}
		values, err := storage.Read[float64](rows(input, i, i+1))
		if err != nil {
			return err
		}
		if s.Picture = report.Picture(values, input.Shape[1:]); s.Picture == nil {
			s.Numbers = values[:min(len(values), worstNumbers)]
		}
		if s.Target, s.Predicted, err = r.compared(c.targets[0].Narrow(0, i, 1), targets[0], outputs[0]); err != nil {
			return err
		}
		p.Worst = slices.Insert(p.Worst, at, s)
		p.Worst = p.Worst[:min(len(p.Worst), worstSamples)]
	}
	return nil
}

// compared returns the first target of a sample and its output as text: classes, or the first numbers in the units of the data.
func (r *Run) compared(given, target, output *tensor.Tensor) (want, got string, err error) {
	if r.HasAccuracy() {
		if target.DType().IsFloat() { // probabilities
			target = target.ArgMax(1)
		}
		label, err := storage.Read[float64](target.Array())
		if err != nil {
			return "", "", err
		}
		shares, err := storage.Read[float64](output.Softmax(1).Array())
		if err != nil {
			return "", "", err
		}
		largest := slices.Index(shares, slices.Max(shares))
		return r.className(int(label[0])), fmt.Sprintf("%s (%.0f %%)", r.className(largest), 100*shares[max(0, largest)]), nil
	}
	if len(r.Targets) > 0 {
		output = r.Targets[0].Restore(output)
	}
	if e, is := r.lossOf(0).Loss.(nn.Estimator); is {
		output = e.Estimate(output)
	}
	texts := [2]string{}
	for i, x := range []*tensor.Tensor{given, output} {
		values, err := storage.Read[float64](x.Array())
		if err != nil {
			return "", "", err
		}
		for _, v := range values[:min(len(values), worstNumbers)] {
			texts[i] += fmt.Sprintf("%.4g ", v)
		}
	}
	return strings.TrimSpace(texts[0]), strings.TrimSpace(texts[1]), nil
}
