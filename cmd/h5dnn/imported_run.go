//go:build cgo

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// runOf returns the run of the named file: one of h5dnn, or one that is made of a model of
// Keras, or of weights with the architecture that --model names. args are the data, whose
// shape settles the sizes that an architecture leaves open.
func runOf(c *cli.Context, name string, args []string) (run *train.Run, imported bool, err error) {
	config := train.Config{Device: c.String("device"), Threads: c.Int("threads")}
	device, err := compute(config)
	if err != nil {
		return nil, false, err
	}
	if err := isFile(name); err != nil {
		return nil, false, err
	}
	architecture := c.String("model")
	graph := architecture == "" && models.IsONNX(name)
	imported = architecture != "" || graph || models.IsKeras(name)
	if graph {
		addInput(c.Context, name, nil)
		run, err = onnxRun(c, name, args, device)
	} else if imported {
		addInput(c.Context, name, nil)
		run, err = importedRun(c, name, architecture, args, device)
	} else {
		run, err = resume(c.Context, name, device)
		if errors.Is(err, serialize.ErrFormat) && c.Command.Name == "predict" && mayBeStateDict(name) {
			err = withoutArchitecture(&models.MissingArchitectureError{Name: name, Framework: models.PyTorch})
		}
	}
	if err != nil {
		return nil, imported, explainQuantized(name, err)
	}
	run.Config.Device, run.Config.Threads = config.Device, config.Threads
	return run, imported, nil
}

// explainQuantized returns err, or why a file that cast has quantized is not run.
func explainQuantized(name string, err error) error {
	f, failed := serialize.Open(name)
	if failed != nil {
		return err
	}
	defer f.Close()
	types := map[string]dtype.Type{}
	for e := range f.All() {
		types[e.Name] = e.Array.Type
	}
	for _, weight := range slices.Sorted(maps.Keys(types)) {
		if _, ok := types[weight+transform.ScaleSuffix]; ok && types[weight] == dtype.Int8 {
			return fmt.Errorf("%s has weights that cast has quantized to int8, and models compute with floats; name the file that was cast", name)
		}
	}
	return err
}

// mayBeStateDict reports whether a file is one of arrays that may be a state_dict of PyTorch. HDF5
// files that say nothing of a model are data.
func mayBeStateDict(name string) bool {
	f, err := serialize.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	if models.KindOf(f) != models.PyTorch {
		return false
	}
	format, err := serialize.FormatOf(name)
	return err == nil && format.Name != "hdf5"
}

// onnxRun returns the run of an ONNX model. args are the data, whose shapes settle the sizes that it leaves open.
func onnxRun(c *cli.Context, name string, args []string, d storage.Device) (*train.Run, error) {
	m, err := models.OpenONNX(name, openOptions(c.Context))
	if err != nil {
		return nil, err
	}
	shapes, _ := sampleShapes(c, args) // the command says what it cannot read when it opens the data
	if inputs := m.Inputs(); len(inputs) == 1 && shapes[""] != nil {
		shapes[inputs[0].Name] = shapes[""]
	}
	run, err := models.ONNXRun(m, shapes, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return run, nil
}

func importedRun(c *cli.Context, name, architecture string, args []string, d storage.Device) (*train.Run, error) {
	var o models.Options
	if architecture != "" {
		if err := isFile(architecture); err != nil {
			return nil, err
		}
		addInput(c.Context, architecture, nil)
		a, err := models.ReadArchitecture(architecture)
		if err != nil {
			return nil, err
		}
		o.Architecture = a
	}
	o.Framework = "h5dnn"
	if o.Architecture.Config != nil && len(args) == 1 { // of a layer that flattens, weights have the number of elements alone
		with := o
		var err error
		if with.InputShapes, err = sampleShapes(c, args); err != nil {
			return nil, err
		}
		o = fitting(c, name, o, with)
	}
	for {
		plan, err := planOf(c, name, architecture, o)
		if errors.As(err, new(*models.InputShapeError)) {
			shape, alone := o.InputShapes[""]
			switch {
			case alone && len(shape) == 0:
				return nil, fmt.Errorf("%s has the axis of the samples alone, and %s takes samples with axes", args[0], cmp.Or(architecture, name))
			case o.InputShapes == nil:
				if o.InputShapes, err = sampleShapes(c, args); err != nil {
					return nil, err
				}
				continue
			}
			return nil, fmt.Errorf("%s: %w, nor do the data %s; name the data of each input, NAME=DATA", name, err, strings.Join(args, " "))
		}
		var missing *models.MissingArchitectureError
		if errors.As(err, &missing) && architecture == "" {
			return nil, withoutArchitecture(missing)
		}
		if errors.Is(err, weights.ErrUnsupported) || errors.As(err, new(*models.MissingLayerError)) {
			return nil, fmt.Errorf("%w; run it in Keras, or in PyTorch with the weights that h5dnn convert writes", err)
		}
		if err != nil {
			return nil, withModelFlags(err)
		}
		defer plan.Source.Close()
		if err := checkUnused(plan, architecture); err != nil {
			return nil, err
		}
		for _, note := range plan.Precision {
			fmt.Fprintln(c.App.ErrWriter, "note: "+note)
		}
		return plan.Run(d)
	}
}

// withoutArchitecture adds to an error what names an architecture.
func withoutArchitecture(err *models.MissingArchitectureError) error {
	return fmt.Errorf("%w; name its architecture with --model", err)
}

// checkUnused returns an error if a state_dict of PyTorch has weights that the architecture does
// not have, and so is that of another model. Arrays beside the state_dict are not weights.
func checkUnused(plan *models.Plan, architecture string) error {
	if architecture == "" || plan.Source.Framework != models.PyTorch {
		return nil
	}
	var beside, unused []string
	json.Unmarshal([]byte(plan.Source.Meta()["torch.outside"]), &beside) // none in most files
	for _, name := range plan.Unused {
		if !strings.Contains(name, "/") && !slices.Contains(beside, name) {
			unused = append(unused, name)
		}
	}
	const shown = 4
	switch {
	case len(unused) == 0:
		return nil
	case len(unused) > shown:
		unused = append(unused[:shown], fmt.Sprintf("%d more", len(unused)-shown))
	}
	return fmt.Errorf("%s has weights that the model of %s does not have: %s; add their layers to it", plan.Source.Name, architecture, strings.Join(unused, ", "))
}

// planOf opens a model and plans its conversion to a run. The architecture is the file of
// --model, or "".
func planOf(c *cli.Context, name, architecture string, o models.Options) (*models.Plan, error) {
	source, err := models.Open(name, openOptions(c.Context))
	if err != nil {
		return nil, err
	}
	plan, err := models.New(source, "hdf5", o)
	if err != nil {
		source.Close()
		if errors.Is(err, models.ErrOwnArchitecture) {
			return nil, err
		}
		if architecture != "" {
			name += " with the model of " + architecture
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return plan, nil
}

// sampleShapes returns the shapes of samples of the data of each input, NAME=DATA; the name of DATA alone is "".
func sampleShapes(c *cli.Context, args []string) (shapes map[string][]int, failed error) {
	shapes = map[string][]int{}
	for _, arg := range args {
		input, place, named := strings.Cut(arg, "=")
		if !named {
			input, place = "", arg
		}
		shape, err := sampleShape(c, parseAddress(place))
		if err != nil {
			failed = err
			continue
		}
		shapes[input] = shape
	}
	return shapes, failed
}

// configuredSamples returns o with the shapes of samples and the classes of the data that the configuration of the architecture names, or o
// without such a file.
func configuredSamples(c *cli.Context, o models.Options) (models.Options, error) {
	config := *o.Architecture.Config
	absent := func(file string) bool { found, err := filepath.Glob(file); return err == nil && len(found) == 0 }
	if len(config.Data.File) == 0 || slices.ContainsFunc(config.Data.File, absent) {
		return o, nil
	}
	data, err := openData(c.Context, config)
	if err != nil {
		return o, err
	}
	defer data.Close()
	config, shapes, err := config.ForData(c.Context, data.Data)
	if names := slices.Collect(maps.Keys(shapes)); len(names) == 1 {
		shapes = map[string][]int{"": shapes[names[0]]}
	}
	o.Architecture.Config, o.InputShapes = &config, shapes
	return o, err
}

// fitting returns with, the options with the shapes of samples, if the weights of the named file fit the architecture for these shapes, or else o.
func fitting(c *cli.Context, name string, o, with models.Options) models.Options {
	if shape, one := with.InputShapes[""]; len(with.InputShapes) == 0 || one && len(shape) == 0 {
		return o
	}
	plan, err := planOf(c, name, "", with)
	if err != nil {
		return o
	}
	defer plan.Source.Close()
	if plan.Err() != nil {
		return o
	}
	return with
}

// sampleShape returns the shape of a sample of the data at an address, which may end in
// an index expression.
func sampleShape(c *cli.Context, at address) ([]int, error) {
	file, err := open(c.Context, at.file)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := datafiles.Find(file, at.path)
	if err != nil || !data.Numbers() || data.Array.Rank() < 1 {
		return nil, err
	}
	return data.Array.Shape[1:], nil
}
