//go:build cgo

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
)

// lacks is empty: nothing is missing with cgo.
var lacks map[string]string

// frameworkFlags are the flags of convert that concern models.
var frameworkFlags = []cli.Flag{
	&cli.StringFlag{Name: "framework", Usage: "`NAME` of the framework whose names and layouts OUT has: keras, pytorch or h5dnn; by default from its format"},
	&cli.StringFlag{Name: "model", Usage: "`FILE` with the architecture, where IN has weights only: of Keras, a config.json, a run, or a configuration of one"},
	&cli.StringSliceFlag{Name: "flatten", Usage: "`LAYER=H,W,C`: the shape before LAYER flattens it, where the architecture does not say"},
	&cli.StringFlag{Name: "rules", Usage: "YAML `FILE` of names and operations of your own; see h5dnn help models"},
	&cli.StringSliceFlag{Name: "input-shape", Usage: "`SIZES` of a sample, for runs of h5dnn where neither the architecture nor the data of its configuration say: 28,28,1 in Keras, 1,28,28 in h5dnn, channels first; of several inputs NAME=SIZES for each"},
	&cli.BoolFlag{Name: "optimizer", Usage: "convert the state of the optimizer, too"},
}

// holdsModel reports whether to convert an open file as a model, and not its arrays as they are,
// where no flag asks for either.
func holdsModel(c *cli.Context, file inspect.File, in address, format string) bool {
	target, err := serialize.ByName(format)
	if err != nil || in.path != "" || target.Single || format == "hdf5" && !strings.HasSuffix(in.file, ".keras") {
		return false
	}
	arrays, done, err := arraysOf(file, openOptions(c.Context))
	if err != nil { // as its conversion says of a model that cannot be read
		return models.IsKeras(in.file) && format != "hdf5"
	}
	defer done()
	switch kind := models.KindOf(arrays); {
	case format == "hdf5": // a copy of everything, of files that are HDF5
		return kind == models.Keras
	case kind == models.Keras:
		return true
	case kind == models.H5dnn:
		return format != "npz"
	}
	return models.FrameworkOf(format) == models.Keras
}

// convertModel converts the model of a file.
func convertModel(c *cli.Context, in address, out, format string) error {
	if in.path != "" {
		return fmt.Errorf("%s:%s: models are converted as a whole", in.file, in.path)
	}
	o, err := modelOptions(c)
	if err != nil {
		return err
	}
	if err := isFile(in.file); err != nil {
		return err
	}
	source, err := models.Open(in.file, openOptions(c.Context))
	if err != nil {
		return err
	}
	defer source.Close()
	addInput(c.Context, in.file, nil)
	if len(o.InputShapes) == 0 && o.Architecture.Config != nil {
		with, err := configuredSamples(c, o)
		if err != nil {
			return fmt.Errorf("%s: data: %w; --input-shape does without the data", c.String("model"), err)
		}
		o = fitting(c, in.file, o, with)
	}
	if err := checkConverted(c, out, format); err != nil {
		return err
	}
	plan, err := models.New(source, format, o)
	toRun := format == "hdf5" && !c.IsSet("framework") && source.Framework == models.Keras
	if toRun && (errors.Is(err, weights.ErrUnsupported) || errors.Is(err, keras.ErrNotInPyTorch)) {
		return fmt.Errorf("%w (--framework keras writes a file that Keras loads)", err)
	}
	if err != nil {
		return withModelFlags(err)
	}
	if plan.To == models.H5dnn && format == "hdf5" && !c.IsSet("framework") && (plan.From == models.Keras || o.Architecture.Keras != nil) {
		plan.Notes = append(plan.Notes, "OUT is a run of h5dnn; --framework keras writes an .h5 that Keras loads")
	}
	m := modelConversion{c: c, plan: plan, in: in.file, out: out, refused: plan.Err() != nil && !c.Bool("allow-loss")}
	if !m.refused && !c.Bool("dry-run") {
		if err := m.write(); err != nil {
			return err
		}
	}
	if err := m.report(); err != nil {
		return err
	}
	if m.refused {
		return errNegative
	}
	return lossStatus(c, plan.Lost)
}

// A modelConversion is the conversion of a model by a plan.
type modelConversion struct {
	c        *cli.Context
	plan     *models.Plan
	in, out  string
	refused  bool // for what it would lose
	written  bool
	verified *models.Verification // nil if the file was not verified
}

// write writes the output, and verifies it if that is asked for.
func (m *modelConversion) write() (err error) {
	if m.out == "-" {
		err = m.plan.WriteTo(m.c.Context, m.c.App.Writer)
	} else {
		err = m.plan.Write(m.c.Context, m.out)
	}
	if err != nil {
		return err
	}
	m.written = true
	if !m.c.Bool("verify") {
		return nil
	}
	v, err := m.plan.Verify(m.c.Context, m.out)
	m.verified = &v
	return err
}

// report prints what becomes of every array: on standard output, or on standard error if
// the file is there.
func (m *modelConversion) report() error {
	to := m.c.App.Writer
	if m.written && m.out == "-" {
		to = m.c.App.ErrWriter
	}
	return buffered(to, func(w io.Writer) error {
		if m.c.Bool("json") {
			return modelJSON(w, m.plan, m.in, m.out)
		}
		for _, line := range append(planLines(m.plan), m.outcome()) {
			if _, err := fmt.Fprintln(w, printable(line)); err != nil {
				return err
			}
		}
		return nil
	})
}

// modelOptions returns the options of a conversion as the flags set them. The files that
// they name are inputs.
func modelOptions(c *cli.Context) (o models.Options, err error) {
	o = models.Options{Framework: c.String("framework"), Optimizer: c.Bool("optimizer")}
	if name := c.String("model"); name != "" {
		addInput(c.Context, name, nil)
		if o.Architecture, err = models.ReadArchitecture(name); err != nil {
			return o, err
		}
	}
	if o.Flatten, err = namedSizes("flatten", c.StringSlice("flatten")); err != nil {
		return o, err
	}
	if o.InputShapes, err = namedSizes("input-shape", c.StringSlice("input-shape")); err != nil {
		return o, err
	}
	if name := c.String("rules"); name != "" {
		addInput(c.Context, name, nil)
		text, err := os.ReadFile(name)
		if err != nil {
			return o, err
		}
		rules, err := weights.ParseRules(name, text)
		if err != nil {
			return o, err
		}
		o.Rules = &rules
	}
	return o, nil
}

// withModelFlags adds to an error the flag that resolves it.
func withModelFlags(err error) error {
	if hint := modelHint(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}

// modelHint returns the flag that resolves an error, or "".
func modelHint(err error) string {
	var shape *keras.ShapeError
	var sample *models.InputShapeError
	var architecture *models.MissingArchitectureError
	var layer *models.MissingLayerError
	switch {
	case errors.Is(err, models.ErrThroughRun):
		return "--framework h5dnn and an OUT such as run.h5; then convert that without --model"
	case errors.Is(err, models.ErrOwnArchitecture):
		return "leave out --model"
	case errors.As(err, &layer):
		return "--framework keras writes a file that Keras loads"
	case errors.As(err, &shape):
		return "give it by --flatten " + shape.Layer + "=H,W,C"
	case errors.As(err, &sample):
		return "give it by --input-shape: 28,28,1 in Keras, 1,28,28 in h5dnn, channels first; of several inputs --input-shape NAME=7,4 for each"
	case errors.As(err, &architecture) && architecture.Framework == models.Keras:
		return "give it by --model, names for the arrays by --rules, or keep Keras's names with --framework keras"
	case errors.As(err, &architecture):
		return "give it by --model"
	}
	return ""
}

// namedSizes returns the sizes of a flag that is given once or more as NAME=SIZES; the name of SIZES alone is "".
func namedSizes(flag string, list []string) (map[string][]int, error) {
	named := map[string][]int{}
	for _, one := range list {
		name, text, ok := strings.Cut(one, "=")
		if !ok {
			name, text = "", one
		}
		sizes, err := sizesOf(text)
		if err == nil && !ok && flag == "flatten" {
			err = fmt.Errorf("want LAYER=H,W,C")
		}
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", flag, one, err)
		}
		named[name] = sizes
	}
	return named, nil
}

// sizesOf reads sizes separated by commas.
func sizesOf(text string) ([]int, error) {
	var sizes []int
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("want sizes of at least 1, such as 28,28,1")
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// planLines describes the arrays of a plan, the modules that they are for, and what is lost.
func planLines(p *models.Plan) (lines []string) {
	for _, t := range p.Tensors {
		line := fmt.Sprintf("%s  %v %s", t.Name, t.Array.Type, arrayfmt.Shape(t.Array.Shape))
		if len(t.From) > 0 {
			line += "  from " + strings.Join(t.From, ", ")
		}
		if t.Operation != weights.Same.String() {
			line += "  " + t.Operation
		}
		lines = append(lines, line)
	}
	for _, m := range p.Modules {
		lines = append(lines, fmt.Sprintf("module %s = %s", m.Name, m.Call))
	}
	for _, note := range p.Notes {
		lines = append(lines, "note: "+note)
	}
	for _, err := range p.Refused {
		lines = append(lines, "refused: "+withModelFlags(err).Error())
	}
	for _, i := range p.Lost {
		line := i.String()
		if i.Path == models.OptimizerPath {
			line += " (--optimizer)"
		}
		lines = append(lines, line)
	}
	return lines
}

// outcome is the last line of the report.
func (m *modelConversion) outcome() string {
	arrays, to := plural(len(m.plan.Tensors), "array"), m.out
	if to == "-" {
		to = "standard output"
	}
	var done string
	switch {
	case m.refused:
		done = "nothing written"
	case !m.written:
		done = arrays + " to write to " + to
	default:
		done = arrays + " written to " + to
	}
	if m.verified != nil {
		done += verifiedText(*m.verified)
	}
	return done + "; " + lossSummary(m.c, m.plan.Lost)
}

// verifiedText says what was verified.
func verifiedText(v models.Verification) string {
	text := " and verified"
	if v.Restored > 0 {
		text += fmt.Sprintf(", %s of IN restored from it", plural(v.Restored, "array"))
	}
	if v.Predicted && v.Restored == 0 {
		text += "; both models predict the same"
	} else if v.Predicted {
		text += ", which predict the same"
	} else if v.NotRun != nil {
		text += fmt.Sprintf("; predictions were not compared: %v", v.NotRun)
	}
	return text
}

func modelJSON(w io.Writer, p *models.Plan, in, out string) error {
	tensors, modules, refused := []fields{}, []fields{}, []string{}
	for _, t := range p.Tensors {
		from := t.From
		if from == nil {
			from = []string{}
		}
		tensors = append(tensors, fields{{"name", t.Name}, {"dtype", t.Array.Type.String()}, {"shape", orNull(t.Array.Shape)}, {"from", from}, {"operation", t.Operation}})
	}
	for _, m := range p.Modules {
		modules = append(modules, fields{{"name", m.Name}, {"call", m.Call}})
	}
	for _, err := range p.Refused {
		refused = append(refused, err.Error())
	}
	f := fields{{"in", in}, {"out", out}, {"format", p.Format.Name}, {"from", p.From}, {"to", p.To}, {"tensors", tensors}, {"modules", modules}, {"refused", refused}, {"notes", append([]string{}, p.Notes...)}}
	return encodeLine(w, append(f, lossFields(p.Lost)...))
}
