package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Predictor runs a model on any number of samples. On the CPU it computes a few at a
// time, so that activations stay in the cache, and plans the model once for each number: see [tensor.Program]. When
// its weights change, it plans again.
//
// Once its settings are made, goroutines may share a Predictor. Each of several at a time computes on a thread of its own.
type Predictor struct {
	BatchSize   int        // samples computed at a time
	OutputShape []int      // shape of the output for a sample
	Vector      bool       // the model gives a vector for a sample, which OutputShape divides into the axes of the target
	Type        dtype.Type // of its elements

	model    nn.Module
	features []Feature
	targets  []Target      // whose units the outputs are returned in
	losses   []nn.Loss     // of targets, which say what outputs stand for
	arranged []arrangement // of targets, whose axes they are returned in
	output   int
	classes  bool // axis 1 of the outputs is classes, which a loss of labels has said
	outputs  int  // of the model
	device   storage.Device
	final    func(out *tensor.Tensor) *tensor.Tensor
	programs *programs // nil where models are not planned

	// prepare returns what samples with these fields become before they are computed, and the stage that does it.
	prepare func(fields []dataset.Field) ([]dataset.Field, dataset.Stage, error)
}

// The size of the largest activation that batches are chosen for: it fits into a
// processor's cache, or keeps a GPU busy.
const (
	cacheBytes = 3 << 19
	gpuBytes   = 64 << 20
)

// NewPredictor returns a predictor with model, which is on d, for samples of the given
// features. It puts model into evaluation mode.
func NewPredictor(model nn.Module, d storage.Device, features ...Feature) (_ *Predictor, err error) {
	defer panics.Recover(&err)
	if len(features) == 0 {
		return nil, fmt.Errorf("predict: no inputs: %w", views.ErrShape)
	}
	summary, err := nn.Summarize(model, inputShapes(features)...)
	if err != nil {
		return nil, err
	}
	widest := 1
	for _, f := range features {
		widest = max(widest, views.Of(f.Shape...).Len())
	}
	for _, row := range summary.Rows {
		widest = max(widest, views.Of(row.Output...).Len())
	}
	batch := 0
	if sized, ok := model.(SizedModule); ok {
		elements := 0
		elements, batch = sized.Activations()
		widest = max(widest, elements)
	}
	nn.Eval(model)
	features = slices.Clone(features)
	for i := range features {
		if features[i].Input, err = features[i].To(d); err != nil {
			return nil, err
		}
	}
	const float = 4
	room := cacheBytes
	if d != storage.CPU {
		room = gpuBytes
	}
	p := &Predictor{
		BatchSize: min(max(1, room/(float*max(1, widest))), evalBatch),
		Type:      dtype.Float32,
		model:     model, features: features, device: d,
		final:   func(out *tensor.Tensor) *tensor.Tensor { return out },
		prepare: func(fields []dataset.Field) ([]dataset.Field, dataset.Stage, error) { return fields, nil, nil },
	}
	if batch > 0 {
		p.BatchSize = batch
	}
	if d == storage.CPU {
		p.programs = &programs{}
	}
	return p, p.setFinal(p.final)
}

// setFinal makes final the last layer.
func (p *Predictor) setFinal(final func(*tensor.Tensor) *tensor.Tensor) (err error) {
	defer panics.Recover(&err)
	p.final = final
	p.programs.forget()
	xs := make([]storage.Array, len(p.features))
	for i, f := range p.features {
		t := f.Type
		if t == dtype.Invalid {
			t = dtype.Float32
		}
		if xs[i], err = storage.Make(storage.CPU, t, append([]int{1}, f.Shape...)...); err != nil {
			return err
		}
	}
	return tensor.Infer(func(t *tensor.Tape) error {
		out := p.forward(t, xs)
		p.OutputShape, p.Type = slices.Clone(out.Shape()[1:]), out.DType()
		return nil
	})
}

// forward returns the output for a batch of each input.
func (p *Predictor) forward(t *tensor.Tape, xs []storage.Array) *tensor.Tensor {
	inputs := make([]*tensor.Tensor, len(xs))
	for i, x := range xs {
		moved, err := x.To(p.device)
		if err != nil {
			tensor.Fail("predict", err, "%v", err)
		}
		inputs[i] = t.Input(moved)
	}
	return p.forwardTensors(inputs)
}

// forwardTensors is forward of tensors on the device.
func (p *Predictor) forwardTensors(xs []*tensor.Tensor) *tensor.Tensor {
	inputs := make([]*tensor.Tensor, len(xs))
	for i, x := range xs {
		inputs[i] = p.features[i].Apply(x)
	}
	outputs := nn.Call("", p.model, inputs...)
	if p.output >= len(outputs) {
		tensor.Fail("predict", views.ErrShape, "output %d of a model with %d", p.output, len(outputs))
	}
	p.outputs = len(outputs)
	out := outputs[p.output]
	p.Vector = out.Rank() <= 2
	if p.output < len(p.arranged) {
		out = p.arranged[p.output].ofData(out)
	}
	if p.output < len(p.targets) {
		out = p.targets[p.output].Restore(out).Cast(out.DType())
	}
	return p.final(out)
}

// SelectOutput makes p return another output than the first, of a model with several.
func (p *Predictor) SelectOutput(output int) error {
	if output < 0 {
		return fmt.Errorf("predict: output %d: %w", output, views.ErrShape)
	}
	p.output = output
	return p.setFinal(p.final)
}

// Outputs returns the names of the outputs of the model, or their numbers from 0.
func (p *Predictor) Outputs() []string {
	if named, ok := p.model.(interface{ OutputNames() []string }); ok && len(named.OutputNames()) == p.outputs {
		return slices.Clone(named.OutputNames())
	}
	names := make([]string, p.outputs)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// Values makes p return values of the target, where the loss of the run takes outputs for parameters of their distribution.
func (p *Predictor) Values() error {
	if p.output < len(p.losses) {
		if e, is := p.losses[p.output].(nn.Estimator); is {
			return p.setFinal(e.Estimate)
		}
	}
	return nil
}

// Probabilities makes p return the probability of each class. Outputs of a model that ends
// in a softmax or sigmoid are probabilities; those of other models are taken as logits.
func (p *Predictor) Probabilities() error {
	if err := p.checkClasses(); err != nil {
		return err
	}
	switch nn.Last(p.model, p.output).(type) {
	case nn.Softmax, nn.Sigmoid:
		return p.setFinal(func(out *tensor.Tensor) *tensor.Tensor { return out })
	}
	return p.setFinal(func(out *tensor.Tensor) *tensor.Tensor { return out.Softmax(1) })
}

// Classes makes p return the index of the most probable class. It is an error if there is
// one output for each sample, which has no index.
func (p *Predictor) Classes() error {
	if err := p.checkClasses(); err != nil {
		return err
	}
	if len(p.OutputShape) > 0 && p.OutputShape[0] == 1 {
		return fmt.Errorf("predict: one output for each sample; classes need one for each class: %w", views.ErrShape)
	}
	return p.setFinal(func(out *tensor.Tensor) *tensor.Tensor { return out.ArgMax(1) })
}

// checkClasses fails for images whose channels come last, as in models of Keras: classes
// are axis 1.
func (p *Predictor) checkClasses() error {
	if _, permuted := nn.Last(p.model, p.output).(nn.Permute); permuted && len(p.OutputShape) > 1 && !p.classes {
		return fmt.Errorf("predict: outputs of shape %v may have the classes in any axis; take them as they are: %w", p.OutputShape, views.ErrShape)
	}
	return nil
}

// Predictor returns a predictor with the model of r, which it puts into evaluation
// mode, with the moving averages of the parameters if the run keeps them.
func (r *Run) Predictor() (*Predictor, error) {
	if err := r.useAverages(true); err != nil {
		return nil, err
	}
	return r.predictor(true)
}

// predictor returns a predictor, of a model that is planned or, because its weights will change, is not.
func (r *Run) predictor(planned bool) (*Predictor, error) {
	r.setTF32()
	p, err := NewPredictor(r.Model, r.Device, r.Inputs...)
	if err != nil {
		return p, err
	}
	if !planned {
		p.programs = nil
	}
	p.targets, p.classes, p.prepare = r.Targets, r.Classifies(), r.Config.evaluated
	for i := range max(1, len(r.targets)) {
		p.losses = append(p.losses, r.lossOf(i).Loss)
	}
	if p.arranged, err = r.savedArrangements(); err != nil {
		return p, err
	}
	return p, p.setFinal(p.final)
}

// NewOutput returns an array for the outputs for n samples.
func (p *Predictor) NewOutput(n int) (storage.Array, error) {
	return storage.Make(storage.CPU, p.Type, append([]int{n}, p.OutputShape...)...)
}

// Predict returns the outputs for samples: an array for each input of the model, whose
// first axis counts samples.
func (p *Predictor) Predict(inputs ...storage.Array) (storage.Array, error) {
	if len(inputs) != len(p.features) {
		return storage.Array{}, fmt.Errorf("predict from %d inputs; want %d: %w", len(inputs), len(p.features), views.ErrShape)
	}
	for i, x := range inputs {
		if f := p.features[i]; x.Rank() == 0 || !slices.Equal(x.Shape[1:], f.Shape) || x.Shape[0] != inputs[0].Shape[0] {
			return storage.Array{}, fmt.Errorf("predict from %s %v; want samples of %v: %w", f.Name, x.Shape, f.Shape, views.ErrShape)
		}
	}
	out, err := p.NewOutput(inputs[0].Shape[0])
	if err != nil {
		return out, err
	}
	return out, p.PredictInto(out, inputs...)
}

// PredictInto writes the outputs for the samples of inputs to out. Missing values that
// nothing fills are an error; those of inputs in a GPU's memory make outputs NaN.
func (p *Predictor) PredictInto(out storage.Array, inputs ...storage.Array) error {
	return p.predictInto(out, true, inputs)
}

// predictInto is PredictInto, of inputs that were checked before if check is not set.
func (p *Predictor) predictInto(out storage.Array, check bool, inputs []storage.Array) (err error) {
	defer panics.Recover(&err)
	block := make([]storage.Array, len(inputs))
	return p.blocks(inputs[0].Shape[0], func(first, end int) error {
		for i, x := range inputs {
			block[i] = rows(x, first, end)
			if !check {
				continue
			}
			if err := p.features[i].checkArray(block[i], first); err != nil {
				return err
			}
		}
		if planned, err := p.programs.run(p, rows(out, first, end), block); planned {
			return err
		}
		return tensor.Infer(func(t *tensor.Tape) error {
			return p.forward(t, block).CopyTo(rows(out, first, end))
		})
	})
}

// blocks calls f for p.Batch samples at a time.
func (p *Predictor) blocks(n int, f func(first, end int) error) error {
	for first := 0; first < n; first += p.BatchSize {
		if err := f(first, min(first+p.BatchSize, n)); err != nil {
			return fmt.Errorf("samples %d to %d: %w", first, min(first+p.BatchSize, n)-1, err)
		}
	}
	return nil
}

// rows returns samples first to end of a.
func rows(a storage.Array, first, end int) storage.Array {
	if first == 0 && end == a.Shape[0] {
		return a
	}
	return a.With(a.View.Narrow(0, first, end))
}

// PredictBatch is the number of samples that Stream reads at a time where memory allows it, and else a multiple of the number.
const PredictBatch = evalBatch

// source returns a source of d in order, with a part of the memory that o allows: 1/share.
func (p *Predictor) source(d dataset.Dataset, o dataset.Options, share int64, check batchCheck) (f batchSource, err error) {
	if _, o.Stage, err = p.prepare(d.Fields()); err != nil {
		return f, err
	}
	o.Memory /= share
	o.Shuffle, o.Window, o.BatchSize = dataset.None, 0, evalBatch
	if _, streams := p.device.(storage.AsyncDevice); streams {
		o.BatchSize = p.BatchSize
	}
	err = fitBatch(d, o, func(o dataset.Options) error {
		f, _, err = newBatchSource(p.device, d, o, check)
		return err
	})
	return f, err
}

// fitBatch calls open with o, and with smaller batches until they fit into the memory
// that o allows.
func fitBatch(d dataset.Dataset, o dataset.Options, open func(dataset.Options) error) error {
	for o.BatchSize = min(o.BatchSize, max(1, d.Len())); ; o.BatchSize /= 2 {
		if err := open(o); o.BatchSize == 1 || !errors.Is(err, dataset.ErrMemory) {
			return err
		}
	}
}

// Stream yields the outputs for the samples of d, in order and a batch at a time,
// reading ahead. Each array is valid until the next is yielded.
func (p *Predictor) Stream(ctx context.Context, d dataset.Dataset, o dataset.Options) iter.Seq2[storage.Array, error] {
	return func(yield func(storage.Array, error) bool) {
		fields, err := p.Fields(d)
		if err != nil {
			yield(storage.Array{}, err)
			return
		}
		by, err := bind(p.features, fields)
		if err != nil {
			yield(storage.Array{}, err)
			return
		}
		f, err := p.source(d, o, 1, p.checkMissing(d, by))
		if err != nil {
			yield(storage.Array{}, err)
			return
		}
		more, err := p.each(f.epoch(ctx, 0, 0), by, min(evalBatch, d.Len()), yield)
		if err = cmp.Or(err, f.close()); err != nil && more {
			yield(storage.Array{}, err)
		}
	}
}

// each yields the outputs for batches of at most the given number of samples, and reports
// whether the caller goes on.
func (p *Predictor) each(batches iter.Seq2[*batch, error], by binding, most int, yield func(storage.Array, error) bool) (more bool, err error) {
	all, err := p.NewOutput(most)
	if err != nil {
		return true, err
	}
	inputs := make([]storage.Array, len(by.inputs))
	for b, err := range batches {
		if err != nil {
			return true, err
		}
		for i, k := range by.inputs {
			inputs[i] = b.fields[k]
		}
		out := rows(all, 0, b.n)
		if err := p.predictInto(out, false, inputs); err != nil {
			return true, err
		}
		if !yield(out, nil) {
			return false, nil
		}
	}
	return true, nil
}

// Evaluate returns the metrics of the model on the samples of d, which has the fields
// that it was trained on. The samples are divided into as many shards as the run has.
func (r *Run) Evaluate(ctx context.Context, d dataset.Dataset) (t Metrics, err error) {
	return r.EvaluateTogether(ctx, d, nil)
}

// EvaluateTogether is Evaluate on several processes, each with the samples of its part of the shards. All have the
// metrics, with the bits of one process.
func (r *Run) EvaluateTogether(ctx context.Context, d dataset.Dataset, g collective.Group) (t Metrics, err error) {
	defer panics.Recover(&err)
	shards, err := shardsOf(r.Config, g)
	if err != nil {
		return t, err
	}
	defer func() { shards.end(err, false) }()
	averaged := r.averaged
	if err := r.useAverages(true); err != nil {
		return t, err
	}
	defer func() { err = cmp.Or(err, r.useAverages(averaged)) }()
	p, err := r.predictor(false)
	if err != nil {
		return t, err
	}
	return r.evaluateBy(ctx, p, d, shards)
}

// evaluateBy is EvaluateTogether by way of p, with the parameters as they are.
func (r *Run) evaluateBy(ctx context.Context, p *Predictor, d dataset.Dataset, shards shardRange) (t Metrics, err error) {
	by, err := r.bindEvaluated(d)
	if err != nil {
		return t, err
	}
	sources, err := r.shardSources(p, d, by, shards, 1)
	defer func() {
		for _, f := range sources {
			err = cmp.Or(err, f.close())
		}
	}()
	if err != nil {
		return t, err
	}
	return r.evaluateShards(ctx, p, sources, by, shards, d)
}

// shardSources returns a source of each shard of this process, with a part of the memory for loading: 1/share.
func (r *Run) shardSources(p *Predictor, d dataset.Dataset, by binding, shards shardRange, share int64) (sources []batchSource, err error) {
	for i := range shards.local {
		o := r.Config.loading()
		o.Rank, o.WorldSize = shards.first+i, shards.all
		o.Memory /= int64(shards.all)
		source, err := p.source(d, o, share, r.checkLabels(by))
		if err != nil {
			return sources, err
		}
		sources = append(sources, source)
	}
	return sources, nil
}

// evaluateShards returns the metrics of all shards, of the sources of this process's.
func (r *Run) evaluateShards(ctx context.Context, p *Predictor, sources []batchSource, by binding, shards shardRange, d dataset.Dataset) (m Metrics, err error) {
	sets, err := r.newMetricSets()
	if err != nil {
		return m, err
	}
	sums := make([][]float64, len(sources))
	for i, source := range sources {
		part, err := r.evaluate(ctx, p, source, by, sets[shards.first+i])
		if err != nil {
			return m, err
		}
		sums[i] = part.sums()
	}
	if m, err = shards.sumMetrics(sums); err != nil {
		return m, err
	}
	if m.Samples == 0 {
		return m, fmt.Errorf("evaluate: no samples: %w", views.ErrShape)
	}
	if err := r.finishMetrics(shards, &m, sets); err != nil {
		return m, err
	}
	return m, r.checkEvaluated(ctx, m, d)
}

// evaluate adds up the loss and set over the batches of f.
func (r *Run) evaluate(ctx context.Context, p *Predictor, f batchSource, by binding, set metricSet) (t Metrics, err error) {
	sums, err := storage.From(make([]float64, tensor.MetricCount), tensor.MetricCount).To(r.Device)
	if err != nil {
		return t, err
	}
	for b, err := range f.epoch(ctx, 0, 0) {
		if err == nil {
			block := make([]storage.Array, len(b.fields))
			err = p.blocks(b.n, func(first, end int) error {
				for i, field := range b.fields {
					block[i] = rows(field, first, end)
				}
				return r.accumulate(sums, set, by, block, end-first)
			})
		}
		if err != nil {
			return t, fmt.Errorf("evaluate: %w", err)
		}
		t.Samples += b.n
	}
	total, err := readTotals(sums)
	if err != nil {
		return t, fmt.Errorf("evaluate: %w", err)
	}
	t.Loss, t.Correct, t.Ignored = total[tensor.MetricLoss], int(total[tensor.MetricCorrect]), int(total[tensor.MetricIgnored])
	return t, nil
}

// accumulate adds the loss of n samples to sums, and their outputs to set.
func (r *Run) accumulate(sums storage.Array, set metricSet, by binding, fields []storage.Array, n int) error {
	return tensor.Infer(func(t *tensor.Tape) error {
		c := r.compare(exampleOf(t, r.Inputs, by, fields, storage.Array{}))
		correct, ignored := r.correct(c)
		tensor.AddMetrics(sums, n, r.measure(c, set), correct, ignored)
		return nil
	})
}

// Fields returns the fields of the samples of d as the model takes them: cropped or resized, if the run does that.
func (p *Predictor) Fields(d dataset.Dataset) ([]dataset.Field, error) {
	fields, _, err := p.prepare(d.Fields())
	return fields, err
}

// Inputs returns the inputs of the model.
func (p *Predictor) Inputs() []Feature { return slices.Clone(p.features) }
