package train

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/h5dnn/h5dnn/augment"
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Config describes a training run: model, data, optimizer. Start from Defaults: its
// zero values are no defaults.
type Config struct {
	Data      dataconfig.Config `json:"data"`
	Model     any               `json:"model"`               // a preset or layers, as nn.FromConfig reads them
	Initial   Initial           `json:"initial,omitzero"`    // first weights from a file; at random if absent
	Classes   int               `json:"classes,omitempty"`   // of a preset; as many as the labels have if 0
	Loss      any               `json:"loss"`                // as nn.LossFromConfig reads it
	Optimizer any               `json:"optimizer"`           // as nn.OptimizerFromConfig reads it
	Schedule  any               `json:"schedule"`            // of the learning rate, as nn.ScheduleFromConfig reads it
	Epochs    int               `json:"epochs"`              // passes over the data
	BatchSize int               `json:"batch"`               // samples in a batch
	DropLast  bool              `json:"drop_last,omitempty"` // whether epochs leave out their last batch if it is not full
	Shards    int               `json:"shards,omitempty"`    // parts of each batch, which decide the results with any number of processes that divides them; if 0, one for each process that the run begins with
	Reduction string            `json:"reduction,omitempty"` // how shards are added up: ordered (or empty), or fast, so that last bits depend on the number of processes
	Seed      uint64            `json:"seed"`                // of the first weights, the order of samples and all other random numbers
	Device    string            `json:"device,omitempty"`    // cpu, or a GPU such as cuda:0
	Precision string            `json:"precision,omitempty"` // of products: float32 (or empty), tf32, bf16 or fp16
	Graph     config.Choice     `json:"graph,omitempty"`     // whether steps on a GPU are captured in a graph and replayed
	Threads   int               `json:"threads,omitempty"`   // all there are if 0

	Augment       []any                   `json:"augment,omitempty"`        // changes of the samples to train on, in this order, as augment.FromConfig reads them
	ValAugment    []any                   `json:"val_augment,omitempty"`    // changes of the samples to validate and predict on, which draw no random numbers: resize, pad, or a crop in the center
	AugmentFields map[string]augment.Kind `json:"augment_fields,omitempty"` // how fields move with an image: image, mask, boxes, points, signal, label or still; an input of three axes is an image, an integer target a label if absent

	Metrics    []any                   `json:"metrics,omitempty"`    // besides the loss and accuracy, of each output, as nn.MetricFromConfig reads them
	Targets    map[string]TargetConfig `json:"targets,omitempty"`    // loss, weight and metrics by target, where they differ from loss and metrics
	ClipNorm   float64                 `json:"clip_norm,omitempty"`  // largest norm of all gradients; no limit if 0
	ClipValue  float64                 `json:"clip_value,omitempty"` // largest element of a gradient; no limit if 0
	Accumulate int                     `json:"accumulate,omitempty"` // batches whose gradients make one update, as one large batch does; 1 if 0
	EMA        float64                 `json:"ema,omitempty"`        // decay of moving averages of the parameters, which validation and prediction use; no averages if 0
	Callbacks  []any                   `json:"callbacks,omitempty"`  // what else happens while training goes on, as CallbackFromConfig reads them
	SaveEvery  Interval                `json:"save_every,omitzero"`  // how often the run is saved, such as 10m, 500steps or epoch; epoch if absent
	Keep       int                     `json:"keep,omitempty"`       // how many of the last saves stay, named after their steps, such as run-step1200.h5; none if 0

	absolute map[string]string // of a run file: where else its data files may be, by name
}

// fastReduction is the reduction in an order of the processes' choice.
const fastReduction = "fast"

// Defaults returns the settings that a configuration need not name.
func Defaults() Config {
	return Config{Model: "mlp", Loss: "cross_entropy", Optimizer: "adam", Schedule: "cosine", Epochs: 10, BatchSize: 64, Seed: 1, Device: "cpu"}
}

// ParseConfig reads a Config from YAML (or JSON, which is YAML). Names it does
// not know are errors that say where, and what may have been meant. What
// overrides do to it comes before it is checked.
func ParseConfig(text []byte, overrides ...func(*Config)) (Config, error) {
	c := Defaults()
	doc, err := config.ParseYAML(text)
	if err != nil {
		return c, err
	}
	if err := doc.Decode(&c); err != nil {
		return c, err
	}
	for _, override := range overrides {
		override(&c)
	}
	return c, doc.Locate(c.Check())
}

// Check reports the first thing in c that cannot be, as a *config.Error.
func (c Config) Check() error {
	if err := c.Data.Check(); err != nil {
		return config.At(err, "data")
	}
	switch {
	case c.Data.OneHot && c.takesLabels(""):
		return wrong("cross_entropy takes labels as they are", "data", "one_hot")
	case c.Epochs < 1:
		return wrong(fmt.Sprintf("cannot be %d; want at least 1", c.Epochs), "epochs")
	case c.BatchSize < 1:
		return wrong(fmt.Sprintf("cannot be %d; want at least 1", c.BatchSize), "batch")
	case c.Classes < 0:
		return wrong(fmt.Sprintf("cannot be %d", c.Classes), "classes")
	case !(c.EMA >= 0 && c.EMA < 1):
		return wrong(fmt.Sprintf("cannot be %v; want a decay such as 0.999", c.EMA), "ema")
	case !(c.ClipNorm >= 0) || math.IsInf(c.ClipNorm, 1):
		return wrong(fmt.Sprintf("cannot be %v; want a positive number", c.ClipNorm), "clip_norm")
	case !(c.ClipValue >= 0) || math.IsInf(c.ClipValue, 1):
		return wrong(fmt.Sprintf("cannot be %v; want a positive number", c.ClipValue), "clip_value")
	case c.Accumulate < 0:
		return wrong(fmt.Sprintf("cannot be %d; want a number of batches", c.Accumulate), "accumulate")
	case c.Reduction != "" && c.Reduction != "ordered" && c.Reduction != fastReduction:
		return wrong(fmt.Sprintf("no reduction %q; want ordered or fast", c.Reduction), "reduction")
	case c.Shards < 0:
		return wrong(fmt.Sprintf("cannot be %d; want a number of parts of a batch", c.Shards), "shards")
	case c.Keep < 0:
		return wrong(fmt.Sprintf("cannot be %d; want a number of files", c.Keep), "keep")
	case c.Threads < 0:
		return wrong(fmt.Sprintf("cannot be %d; want 0 for all there are", c.Threads), "threads")
	}
	if err := c.checkShards(); err != nil {
		return err
	}
	if err := c.Initial.check(); err != nil {
		return err
	}
	return c.checkNames()
}

// checkDevice returns an error if c requires a feature that d lacks.
func (c Config) checkDevice(d storage.Device) error {
	if _, streams := d.(storage.AsyncDevice); c.Data.Resident == config.Yes && !streams {
		return fmt.Errorf("resident: samples stay on a GPU, not on %v; what fits stays in its memory anyway: %w", d, storage.ErrDevice)
	}
	if _, records := tensor.NewGraphCapturer(d); c.Graph == config.Yes && !records {
		return fmt.Errorf("graph: %v does not capture steps in graphs; leave it out: %w", d, storage.ErrDevice)
	}
	return nil
}

// checkNames reports the first name in c that nothing has.
func (c Config) checkNames() error {
	if err := checkPrecision(c.Precision); err != nil {
		return config.At(err, "precision")
	}
	if _, _, _, err := c.training(); err != nil {
		return err
	}
	if err := c.checkTargets(); err != nil {
		return err
	}
	r := &Run{Config: c, targets: c.Data.TargetNames()}
	if err := r.setTargetLosses(); err != nil {
		return err
	}
	if _, err := r.newMetrics(); err != nil {
		return err
	}
	if _, err := c.newCallbacks(); err != nil {
		return err
	}
	if _, err := c.augmentations(); err != nil {
		return err
	}
	if _, err := c.fixedAugmentations(); err != nil {
		return err
	}
	if _, err := c.build(1, tensor.Meta); err != nil {
		return config.At(err, "model")
	}
	return nil
}

// training returns the loss, the schedule and the optimizer that c names.
func (c Config) training() (loss nn.Loss, schedule nn.Schedule, optimizer nn.Optimizer, err error) {
	if loss, err = c.newLoss(); err != nil {
		return nil, nil, nil, config.At(err, "loss")
	}
	if schedule, err = nn.ScheduleFromConfig(c.Schedule); err != nil {
		return nil, nil, nil, config.At(err, "schedule")
	}
	if optimizer, err = nn.OptimizerFromConfig(c.Optimizer); err != nil {
		return nil, nil, nil, config.At(err, "optimizer")
	}
	return loss, schedule, optimizer, nil
}

// build makes the model with its parameters on d; classes is for presets.
func (c Config) build(classes int, d storage.Device) (nn.Module, error) {
	if name, ok := c.Model.(string); ok {
		model, err := nn.Preset(name, classes)
		if err != nil {
			return nil, err
		}
		description, err := nn.Describe(model)
		if err != nil {
			return nil, err
		}
		return nn.FromConfigOn(description, d)
	}
	return nn.FromConfigOn(c.Model, d)
}

// takesLabels reports whether the loss of the named target is of class labels.
func (c Config) takesLabels(target string) bool {
	l, err := c.targetLoss(target)
	return err == nil && nn.TakesLabels(l.Loss)
}

// ignoredLabel returns the label that the loss of the named target leaves out, or nil.
func (c Config) ignoredLabel(target string) *int {
	l, err := c.targetLoss(target)
	if err != nil {
		return nil
	}
	return nn.IgnoredLabel(l.Loss)
}

// SetLearningRate sets the learning rate in the optimizer's settings.
func (c *Config) SetLearningRate(rate float64) { c.setOptimizer("lr", rate) }

// Freeze makes the optimizer, which has no groups, leave the parameters of these names as they are.
func (c *Config) Freeze(parameters []string) {
	params := make([]any, len(parameters))
	for i, name := range parameters {
		params[i] = literal.Replace(name)
	}
	c.setOptimizer("groups", []any{map[string]any{"params": params, "freeze": true}})
}

// literal makes a name the pattern that matches it alone.
var literal = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)

// setOptimizer sets one of the optimizer's settings.
func (c *Config) setOptimizer(setting string, value any) {
	switch o := c.Optimizer.(type) {
	case string:
		c.Optimizer = map[string]any{o: map[string]any{setting: value}}
	case map[string]any:
		for name, settings := range o {
			all, ok := settings.(map[string]any)
			if !ok {
				all = map[string]any{}
			}
			all[setting] = value
			o[name] = all
		}
	}
}

func wrong(what string, path ...any) error {
	return config.At(errors.New(what), path...)
}
