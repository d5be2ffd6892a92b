package train

import (
	"context"
	"iter"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Run is a model in training with its optimizer, its data preparation and its
// position: everything that determines its next step.
type Run struct {
	Config    Config // with Model as a list of layers and Normalize in numbers
	Model     nn.Module
	Optimizer nn.Optimizer
	Inputs    []Feature // of the model
	Targets   []Target  // one for each output
	Device    storage.Device
	Position  Position
	History   History

	// Assumptions are what New assumed of the data, where the configuration does not say.
	Assumptions []Assumption

	targets                    []string     // names of the targets that the outputs are compared with, in the order of the outputs
	targetShapes               [][]int      // of their samples, where elements are compared; nil if they are not known
	outputs                    [][]int      // shapes of the outputs for a sample; nil until outputShapes
	loss                       nn.Loss      // of targets that have no loss of their own
	losses                     []TargetLoss // of each target; empty if all have loss
	schedule                   nn.Schedule
	baseRate                   float64 // the optimizer's, which the schedule multiplies
	fingerprint                string  // of the training data: see dataset.Fingerprint; empty before Fit
	compute                    compute // that the run was resumed from; zero if it was not
	hooks                      []Hook
	hookStates, callbackStates namedStates
	metrics                    []metricSet        // of the training epoch so far, for each shard
	stripped                   bool               // its file has no state of the optimizer: it predicts only
	ema                        *nn.EMA            // nil without averages
	averaged                   bool               // the averages are in the place of the parameters
	scaler                     *tensor.LossScaler // nil unless products are float16
	classIndices               storage.Array      // 0, 1, … of all classes, for one-hot encoding
}

// A Position is a place in a run, between two steps.
type Position struct {
	Epoch    int     `json:"epoch"`    // from 0
	Consumed int     `json:"consumed"` // samples of the epoch trained on so far
	Samples  int     `json:"samples"`  // in an epoch
	Step     uint64  `json:"step"`     // batches trained on in all
	Running  Metrics `json:"running"`  // totals of the epoch so far

	Stopped  string `json:"stopped,omitempty"`  // why a callback has ended training there
	Finished bool   `json:"finished,omitempty"` // callbacks have completed the run

	// Shuffle and Window as the loader chose them: they determine the order.
	Shuffle dataset.Shuffle `json:"shuffle"`
	Window  int             `json:"window"`

	LoaderSeed uint64 `json:"loader_seed,omitempty"` // of the loader that the caller of Fit made
}

// Metrics are sums over samples.
type Metrics struct {
	Samples int                      `json:"samples"`
	Loss    float64                  `json:"loss"`              // summed over samples
	Correct int                      `json:"correct"`           // correctly classified samples
	Ignored int                      `json:"ignored,omitempty"` // samples whose label the loss ignores
	Seconds float64                  `json:"seconds"`
	Values  map[string]storage.Array `json:"-"`                // of Config.Metrics by name, once the epoch or the evaluation is complete
	Waited  float64                  `json:"waited,omitempty"` // seconds spent waiting for data
}

// MeanLoss returns the mean loss of a sample.
func (t Metrics) MeanLoss() float64 { return t.Loss / float64(max(1, t.Samples)) }

// Accuracy returns the share of correctly classified samples among those whose label is not ignored.
func (t Metrics) Accuracy() float64 { return float64(t.Correct) / float64(max(1, t.Samples-t.Ignored)) }

// add adds n samples with that mean loss.
func (t *Metrics) add(n int, loss float64, correct, ignored int) {
	t.Samples += n
	t.Loss += loss * float64(n)
	t.Correct += correct
	t.Ignored += ignored
}

// New returns a run before its first step, with its model on d.
func New(ctx context.Context, c Config, data *Data, d storage.Device) (_ *Run, err error) {
	defer panics.Recover(&err)
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := c.checkDevice(d); err != nil {
		return nil, err
	}
	r, labels, err := newRun(ctx, c, data, d)
	if err != nil {
		return nil, err
	}
	if err := r.Config.Initial.load(r.Model); err != nil {
		return nil, err
	}
	r.assumeClasses(c)
	r.assumeCategories(c)
	r.assumePadding(data)
	if err := r.checkLabelRange(labels, r.outputs); err != nil {
		return nil, err
	}
	if err := r.CheckTargets(data); err != nil {
		return nil, err
	}
	if err := r.estimateNormalize(ctx, data); err != nil {
		return nil, err
	}
	if r.Config.Model, err = nn.Describe(r.Model); err != nil {
		return nil, err
	}
	return r, r.placeInput()
}

// newRun returns a run whose model is built for the samples of data. Of these it reads labels alone, if nothing else says how many classes
// there are.
func newRun(ctx context.Context, c Config, data *Data, d storage.Device) (*Run, labelRange, error) {
	outputs, labels, err := outputSize(ctx, data, c)
	if err != nil {
		return nil, labels, err
	}
	r := &Run{Config: c}
	if r.Config.Classes == 0 {
		r.Config.Classes = outputs
	}
	r.Config.Data.ClassNames, r.Config.Data.Categories, r.Config.Data.Genes = data.ClassNames, data.Categories, data.Genes
	fields := data.Train.Fields()
	if err := r.assemble(outputs, d, func() (err error) {
		if r.Inputs, err = featuresFor(r.Model, fields); err != nil {
			return err
		}
		r.chooseLayout(data)
		if fields, _, err = r.Config.evaluated(fields); err != nil {
			return err
		}
		if r.Inputs, err = featuresFor(r.Model, fields); err == nil {
			r.targets, err = orderTargets(r.Model, targetNames(fields))
		}
		return err
	}); err != nil {
		return nil, labels, err
	}
	if _, err := r.outputShapes(); err != nil {
		return nil, labels, r.adviseLayout(err)
	}
	r.Targets = r.targetsFor(r.targets)
	bound, err := r.bindTraining(fields)
	if err != nil {
		return nil, labels, err
	}
	r.targetShapes = shapesOf(bound.arrangements)
	return r, labels, nil
}

// placeInput moves the constants that prepare inputs and labels to the device.
func (r *Run) placeInput() (err error) {
	for i := range r.Inputs {
		if r.Inputs[i].Input, err = r.Inputs[i].To(r.Device); err != nil {
			return err
		}
	}
	for i := range r.Targets {
		if r.Targets[i], err = r.Targets[i].To(r.Device); err != nil {
			return err
		}
	}
	if !r.Config.Data.OneHot {
		return nil
	}
	all := make([]int64, r.Config.Classes)
	for i := range all {
		all[i] = int64(i)
	}
	r.classIndices, err = storage.From(all, 1, len(all)).To(r.Device)
	return err
}

// inputShapes returns the shapes of a sample of each input, as the model takes it.
func inputShapes(features []Feature) [][]int {
	shapes := make([][]int, len(features))
	for i, f := range features {
		shapes[i] = f.SampleShape(f.Shape)
	}
	return shapes
}

// outputShapes returns the shapes of the outputs of the model for a sample. It builds the model.
func (r *Run) outputShapes() (_ [][]int, err error) {
	if r.outputs == nil {
		r.outputs, err = nn.Build(r.Model, inputShapes(r.Inputs)...)
	}
	return r.outputs, err
}

// assemble builds the model, loss, schedule and optimizer of r.Config. Once there is a
// model, findFields sets r.Inputs and r.targets.
func (r *Run) assemble(outputs int, d storage.Device, findFields func() error) (err error) {
	if r.loss, r.schedule, r.Optimizer, err = r.Config.training(); err != nil {
		return err
	}
	r.baseRate = r.Optimizer.Rate()
	if r.Model, err = r.Config.build(outputs, d); err != nil {
		return config.At(err, "model")
	}
	r.Device = d
	nn.Init(r.Model, r.Config.Seed)
	if err := r.newEMA(); err != nil {
		return config.At(err, "ema")
	}
	if err := findFields(); err != nil {
		return err
	}
	if err := r.setTargetLosses(); err != nil {
		return err
	}
	for i := range r.Inputs {
		f := &r.Inputs[i]
		if f.Input, err = inputFor(r.Model, r.Config.Data, f.Name, f.Type, f.Shape); err != nil {
			return err
		}
	}
	if r.metrics, err = r.newMetricSets(); err != nil {
		return err
	}
	return r.newLossScaler()
}

// SetTraining sets the loss, the schedule and the learning rate of a run without updates, such
// as one that was converted from another framework's model, to those of c.
func (r *Run) SetTraining(c Config) error {
	loss, schedule, optimizer, err := c.training()
	if err != nil {
		return err
	}
	r.loss, r.schedule, r.baseRate = loss, schedule, optimizer.Rate()
	r.Config.Loss, r.Config.Schedule, r.Config.Optimizer = c.Loss, c.Schedule, c.Optimizer
	return r.setTargetLosses()
}

// Complete reports whether the run has come to its end: by a callback that returned [Stop], or after all epochs and the
// last changes of its callbacks.
func (r *Run) Complete() bool {
	p := r.Position
	if p.Finished && p.Stopped != "" {
		return true
	}
	all, _ := r.Config.newCallbacks()
	return p.Epoch >= r.Config.Epochs && (p.Finished || !callbacks(all).finish())
}

// Summary lists the model's layers.
func (r *Run) Summary() (*nn.Summary, error) {
	return nn.Summarize(r.Model, inputShapes(r.Inputs)...)
}

// Classifies reports whether the first target is class labels.
func (r *Run) Classifies() bool { return r.classifies(0) }

// HasAccuracy reports whether Metrics have an accuracy: there is one output, a number for each class, and samples count alike. Accuracies of
// several outputs, of labels for each place, and of samples with weights are among the values.
func (r *Run) HasAccuracy() bool {
	if r.Config.Data.Weights != "" || r.Config.Data.ValWeights != "" {
		return false
	}
	if !r.Classifies() || len(r.targets) > 1 || r.Model == nil {
		return r.Classifies() && len(r.targets) < 2
	}
	outputs, err := r.outputShapes()
	return err != nil || len(outputs) != 1 || len(outputs[0]) < 2
}

// params returns the parameters of the model, found once.
func (r *Run) params() iter.Seq2[string, *nn.Parameter] {
	var names []string
	var params []*nn.Parameter
	for name, p := range nn.Parameters(r.Model) {
		names, params = append(names, name), append(params, p)
	}
	return func(yield func(string, *nn.Parameter) bool) {
		for i, name := range names {
			if !yield(name, params[i]) {
				return
			}
		}
	}
}
