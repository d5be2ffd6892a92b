package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Config describes a training run: model, data, optimizer. Start from Defaults: its
// zero values are no defaults.
type Config struct {
	Data      DataConfig `json:"data"`
	Model     any        `json:"model"`               // a preset's name, or a list of layers as nn.FromConfig reads it
	Classes   int        `json:"classes,omitempty"`   // for presets; counted in the labels if 0
	Loss      any        `json:"loss"`                // as nn.LossFromConfig reads it
	Optimizer any        `json:"optimizer"`           // as nn.OptimizerFromConfig reads it
	Schedule  any        `json:"schedule"`            // of the learning rate, as nn.ScheduleFromConfig reads it
	Epochs    int        `json:"epochs"`              //
	Batch     int        `json:"batch"`               //
	Seed      uint64     `json:"seed"`                // of the first weights, the order of samples and all other random numbers
	Device    string     `json:"device,omitempty"`    //
	Precision string     `json:"precision,omitempty"` // of products: float32 (or empty), tf32, bf16 or fp16
	Graph     Choice     `json:"graph,omitempty"`     // whether steps on a GPU are captured in a graph and replayed
	Threads   int        `json:"threads,omitempty"`   // all there are if 0
	Warnings  []string   `json:"-"`                   // from ParseConfig: settings that were given by an old name

	Metrics    []any    `json:"metrics,omitempty"`    // besides the loss and accuracy, as nn.MetricFromConfig reads them
	ClipNorm   float64  `json:"clip_norm,omitempty"`  // the most that the norm of all gradients may be: see ClipNorm
	ClipValue  float64  `json:"clip_value,omitempty"` // the most that an element of a gradient may be: see ClipValue
	Accumulate int      `json:"accumulate,omitempty"` // batches whose gradients make one update: see Accumulate
	SaveEvery  Interval `json:"save_every,omitzero"`  // how often the run is saved: 10m, 500steps or epoch
}

// A DataConfig says where samples are and how they become a model's input.
//
// Files are named one by one or by patterns (demo_*.h5), and read one after the
// other. Paths may have stars as well: data/*/obs/pose is the inputs of many
// episodes, and a star in any other path stands for what the first one did.
type DataConfig struct {
	File      Names     `json:"file"`
	YFile     Names     `json:"y_file,omitempty"` // of Y, as many as of X; File if empty
	X         string    `json:"x"`
	Y         string    `json:"y"`
	XOffsets  string    `json:"x_offsets,omitempty"` // where X is cut into rows of different lengths, as an indptr
	XColumns  string    `json:"x_columns,omitempty"` // of a sparse matrix (CSR): the column of each element of X
	Length    int       `json:"length,omitempty"`    // rows of different lengths are cut or padded to; the longest if 0
	Steps     int       `json:"steps,omitempty"`     // neighbouring rows that make one sample; 1 if 0
	YSteps    int       `json:"y_steps,omitempty"`   // the last of them that the model should say something of; all if 0
	Rows      Names     `json:"rows,omitempty"`      // filters that all have to let a row through: [slice], PATH of a mask or list, PATH==VALUE
	ValFile   Names     `json:"val_file,omitempty"`  // File if empty
	ValYFile  Names     `json:"val_y_file,omitempty"`
	ValX      string    `json:"val_x,omitempty"`
	ValY      string    `json:"val_y,omitempty"`
	ValRows   Names     `json:"val_rows,omitempty"`
	Split     Split     `json:"split,omitzero"`      // what to validate on, instead of ValX and ValY
	OneHot    bool      `json:"one_hot,omitempty"`   // y holds labels; compare with rows of zeros, and a one in the label's place
	Normalize Normalize `json:"normalize"`           //
	Layout    string    `json:"layout,omitempty"`    // of images: nchw (or empty) or nhwc
	Shuffle   string    `json:"shuffle,omitempty"`   // auto (or empty), exact, window or none
	Window    int       `json:"window,omitempty"`    // blocks open at a time under window shuffling; the loader's choice if 0
	Resident  Choice    `json:"resident,omitempty"`  // whether all samples stay on a GPU
	Memory    int64     `json:"memory_mb,omitempty"` // that loading may take, in MiB, a quarter of it to validate; 512 and 512 if 0
}

// Defaults returns the settings that a configuration need not name.
func Defaults() Config {
	return Config{Model: "mlp", Loss: "cross_entropy", Optimizer: "adam", Schedule: "cosine", Epochs: 10, Batch: 64, Seed: 1, Device: "cpu"}
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
	if c.Warnings, err = doc.Rename(renamed...); err != nil {
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
	switch d := c.Data; {
	case len(d.File) == 0 || d.File[0] == "":
		return wrong("name the file of samples", "data", "file")
	case d.X == "":
		return wrong("name the array of inputs", "data", "x")
	case d.Y == "":
		return wrong("name the array of what the model should say", "data", "y")
	case (d.ValX == "") != (d.ValY == ""):
		return wrong("val_x and val_y go together; name both or neither", "data")
	case len(d.ValRows) > 0 && d.ValX == "":
		return wrong("they pick among val_x, which is not named; split: mask:ROWS picks among x", "data", "val_rows")
	case d.OneHot && c.takesLabels():
		return wrong("cross_entropy takes labels as they are", "data", "one_hot")
	case d.Split != (Split{}) && d.ValX != "":
		return wrong("there is val_x too; validate on one or the other", "data", "split")
	case !(d.Split.Fraction >= 0 && d.Split.Fraction < 1):
		return wrong(fmt.Sprintf("cannot be %v; want a part of the samples, such as 0.1", d.Split), "data", "split")
	case d.Steps < 0:
		return wrong("cannot be negative", "data", "steps")
	case d.YSteps < 0 || d.YSteps > max(1, d.Steps):
		return wrong("want at most as many as steps", "data", "y_steps")
	case d.Length < 0:
		return wrong("cannot be negative", "data", "length")
	case d.XColumns != "" && d.XOffsets == "":
		return wrong("rows of a sparse matrix need x_offsets too", "data", "x_columns")
	case d.Layout != "" && d.Layout != "nchw" && d.Layout != "nhwc":
		return wrong(fmt.Sprintf("no layout %q; want nchw or nhwc", d.Layout), "data", "layout")
	case d.Window < 0:
		return wrong("cannot be negative", "data", "window")
	case d.Memory < 0 || d.Memory > math.MaxInt64>>20:
		return wrong("want a number of MiB", "data", "memory_mb")
	case c.Epochs < 1:
		return wrong(fmt.Sprintf("cannot be %d; want at least 1", c.Epochs), "epochs")
	case c.Batch < 1:
		return wrong(fmt.Sprintf("cannot be %d; want at least 1", c.Batch), "batch")
	case c.Classes < 0:
		return wrong(fmt.Sprintf("cannot be %d", c.Classes), "classes")
	case !(c.ClipNorm >= 0):
		return wrong(fmt.Sprintf("cannot be %v; want a positive number", c.ClipNorm), "clip_norm")
	case !(c.ClipValue >= 0):
		return wrong(fmt.Sprintf("cannot be %v; want a positive number", c.ClipValue), "clip_value")
	case c.Accumulate < 0:
		return wrong(fmt.Sprintf("cannot be %d; want a number of batches", c.Accumulate), "accumulate")
	case c.Threads < 0:
		return wrong(fmt.Sprintf("cannot be %d; want 0 for all there are", c.Threads), "threads")
	}
	for _, text := range slices.Concat(c.Data.Rows, c.Data.ValRows) {
		if _, err := parseFilter(text); err != nil {
			return config.At(err, "data", "rows")
		}
	}
	return c.checkNames()
}

// suits reports what c asks for that d does not do.
func (c Config) checkDevice(d storage.Device) error {
	if _, streams := d.(storage.AsyncDevice); c.Data.Resident == yes && !streams {
		return fmt.Errorf("resident: samples stay on a GPU, not on %v; what fits stays in its memory anyway: %w", d, storage.ErrDevice)
	}
	if _, records := tensor.NewRecorder(d); c.Graph == yes && !records {
		return fmt.Errorf("graph: %v does not record steps; leave it out: %w", d, storage.ErrDevice)
	}
	return nil
}

// checkNames reports the first name in c that nothing has.
func (c Config) checkNames() error {
	if _, err := shuffleOf(c.Data.Shuffle); err != nil {
		return config.At(err, "data", "shuffle")
	}
	if err := checkPrecision(c.Precision); err != nil {
		return config.At(err, "precision")
	}
	if _, err := nn.LossFromConfig(c.Loss); err != nil {
		return config.At(err, "loss")
	}
	if _, err := c.newMetrics(); err != nil {
		return err
	}
	if _, err := nn.ScheduleFromConfig(c.Schedule); err != nil {
		return config.At(err, "schedule")
	}
	if _, err := nn.OptimizerFromConfig(c.Optimizer); err != nil {
		return config.At(err, "optimizer")
	}
	if _, err := c.build(1, tensor.Meta); err != nil {
		return config.At(err, "model")
	}
	return nil
}

// build makes the model with its parameters on d; classes is for presets.
func (c Config) build(classes int, d storage.Device) (nn.Module, error) {
	if name, ok := c.Model.(string); ok {
		model, err := nn.Preset(name, classes)
		if err != nil {
			return nil, err
		}
		return model, nn.To(model, d)
	}
	return nn.FromConfigOn(c.Model, d)
}

// takesLabels reports whether the targets of the loss are class labels.
func (c Config) takesLabels() bool {
	loss, err := nn.LossFromConfig(c.Loss)
	return err == nil && nn.TakesLabels(loss)
}

// SetLearningRate sets the learning rate in the optimizer's settings.
func (c *Config) SetLearningRate(rate float64) {
	switch o := c.Optimizer.(type) {
	case string:
		c.Optimizer = map[string]any{o: map[string]any{"lr": rate}}
	case map[string]any:
		for name, settings := range o {
			all, ok := settings.(map[string]any)
			if !ok {
				all = map[string]any{}
			}
			all["lr"] = rate
			o[name] = all
		}
	}
}

// renamed lists the settings whose old names are still read.
var renamed []config.Rename

// parseJSON reads the Config that a run file holds.
func parseJSON(text string) (Config, error) {
	c := Defaults()
	raw, err := config.RenameJSON(json.RawMessage(text), renamed...)
	if err != nil {
		return c, err
	}
	return c, config.Decode(raw, &c)
}

func shuffleOf(name string) (dataset.Shuffle, error) {
	if name == "" {
		return dataset.Auto, nil
	}
	known := map[string]dataset.Shuffle{"auto": dataset.Auto, "exact": dataset.Exact, "window": dataset.Window, "none": dataset.None}
	s, ok := known[name]
	if !ok {
		return s, fmt.Errorf("no shuffle %q; want auto, exact, window or none", name)
	}
	return s, nil
}

func wrong(what string, path ...any) error {
	return config.At(errors.New(what), path...)
}
