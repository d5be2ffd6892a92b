package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/internal/panics"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// FitOptions configure [Fit]. Their zero value trains one epoch at a constant rate.
type FitOptions struct {
	Epochs    int                   // 1 if 0
	Schedule  nn.Schedule           // of the learning rate; constant if nil
	Seed      uint64                // of the random numbers in steps, such as dropout
	Val       dataset.Dataset       // evaluated after each epoch, if it is not nil
	Metrics   []any                 // besides the loss and accuracy, as nn.MetricFromConfig reads them
	Targets   map[string]TargetLoss // by the names of targets, where they differ from the others
	Precision string                // of products: float32 (or empty), tf32, bf16 or fp16
	Graph     config.Choice         // whether steps on a GPU are captured in a graph and replayed
	Resident  config.Choice         // whether all samples stay on a GPU
	Callbacks []Callback
	Hooks     []Hook
	Group     collective.Group // this process among several, as in Options; the loader has its rank and its shards
	File      string           // the run is saved there, as by Run.Fit; empty for none
	SaveEvery Interval         // each epoch if zero
	// Resume continues the run in File, if there is one. The caller makes model, loss, optimizer, loader and options as it did when
	// the run began.
	Resume bool
}

// Fit trains model with optimizer to minimize loss on the samples of loader, and returns
// the history. The fields of the samples are inputs, targets and weights by their roles;
// the model takes the inputs as they are, by name if it names several. It trains on the
// device where the model is. On a GPU the samples are read through a loader of their
// own, with the options of loader. A run file of Fit has no description of the model: Fit resumes it, Resume does not.
func Fit(ctx context.Context, model nn.Module, loss nn.Loss, optimizer nn.Optimizer, loader *dataset.Loader, o FitOptions) (_ History, err error) {
	defer panics.Recover(&err)
	if err := checkPresent(model, loss, optimizer, loader); err != nil {
		return nil, err
	}
	if o.Epochs < 0 {
		return nil, fmt.Errorf("train: %d epochs; want at least 1, or 0 for 1", o.Epochs)
	}
	loading := loader.Options()
	r := &Run{
		Config: Config{
			Epochs: max(1, o.Epochs), BatchSize: loading.BatchSize * max(1, loading.WorldSize), Shards: max(loading.Shards, loading.WorldSize), Seed: o.Seed, Precision: o.Precision, Graph: o.Graph, Metrics: o.Metrics,
			Data: dataconfig.Config{Resident: o.Resident, Memory: loading.Memory >> 20, Weights: weightsAmong(loader.Fields())},
		},
		Model: model, Optimizer: optimizer, Device: storage.CPU, History: History{},
		loss: loss, schedule: o.Schedule, baseRate: optimizer.Rate(),
	}
	if r.schedule == nil {
		r.schedule = nn.ConstantSchedule{}
	}
	if err := checkPrecision(o.Precision); err != nil {
		return nil, err
	}
	for _, p := range nn.Parameters(model) {
		r.Device = p.Device()
		break
	}
	if r.targets, err = orderTargets(model, targetNames(loader.Fields())); err != nil {
		return nil, err
	}
	if err := r.setLosses(o.Targets); err != nil {
		return nil, err
	}
	if r.Inputs, err = featuresFor(model, loader.Fields()); err != nil {
		return nil, err
	}
	if _, err := r.outputShapes(); err != nil {
		return nil, err
	}
	if r.metrics, err = r.newMetricSets(); err != nil {
		return nil, err
	}
	if err := r.newLossScaler(); err != nil {
		return nil, err
	}
	data := &Data{Train: loader.Dataset(), Val: o.Val}
	options := Options{Callbacks: o.Callbacks, Hooks: o.Hooks, Group: o.Group, File: o.File, SaveEvery: o.SaveEvery}
	r.Position.LoaderSeed = loading.Seed
	if o.Resume {
		if err := r.continueFrom(o.File); err != nil {
			return nil, fmt.Errorf("%s: %w", o.File, err)
		}
	}
	return r.History, r.fit(ctx, data, options, loader)
}

// weightsAmong returns the name of the field that weighs samples, or "".
func weightsAmong(fields []dataset.Field) string {
	if i := slices.IndexFunc(fields, func(f dataset.Field) bool { return f.Role == dataset.Weight }); i >= 0 {
		return fields[i].Name
	}
	return ""
}

// checkPresent refuses nil arguments of Fit, and nil pointers in them.
func checkPresent(model nn.Module, loss nn.Loss, optimizer nn.Optimizer, loader *dataset.Loader) error {
	for _, a := range []struct {
		name  string
		value any
	}{{"model", model}, {"loss", loss}, {"optimizer", optimizer}, {"loader", loader}} {
		if v := reflect.ValueOf(a.value); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("train: no %s (nil): %w", a.name, storage.ErrState)
		}
	}
	return nil
}

// continueFrom gives r the state of the run in the named file, if there is one.
func (r *Run) continueFrom(name string) error {
	f, err := serialize.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var saved Run
	if err := saved.loadMeta(f.Meta(), name); err != nil {
		return err
	}
	began := func(c Config, p Position) string {
		return fmt.Sprintf("batch %d, %d shards, seed %d, loader seed %d, precision %q", c.BatchSize, max(1, c.Shards), c.Seed, p.LoaderSeed, c.Precision)
	}
	if have, want := began(r.Config, r.Position), began(saved.Config, saved.Position); have != want {
		return fmt.Errorf("resume: %s; the run began with %s: %w", have, want, storage.ErrState)
	}
	r.Position, r.fingerprint, r.compute = saved.Position, saved.fingerprint, saved.compute
	stored, _, err := storedIn(f)
	if err != nil {
		return err
	}
	for _, part := range r.parts() {
		if err := part.load(under(stored, part.prefix)); err != nil {
			return err
		}
	}
	return nil
}
