//go:build cgo

package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/convert"
	loader "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/models/onnxgraph"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

func predictCommand() *cli.Command {
	return &cli.Command{
		Name:      "predict",
		Usage:     "run a trained model on data and write its predictions",
		ArgsUsage: "MODEL DATA[:/path[EXPR]] -o OUT",
		Description: "MODEL is a run of h5dnn, an ONNX model (h5dnn help onnx) or a whole model of Keras (.keras, its folder, .h5), which takes\n" +
			"samples as Keras does, with the channels last. With --model it may be a file of weights, of Keras, PyTorch, safetensors or TensorFlow (NAME.index).\n" +
			"DATA alone has the inputs at the paths that MODEL was trained on, or else validated on. A model of several inputs takes NAME=DATA:/path[EXPR]\n" +
			"for each otherwise; an input of several columns DATA:age,sex. A path with stars is of episodes, which follow one another; DATA may be\n" +
			"a pattern of files, in quotes, as in training. On several processes (mpirun -n 4 h5dnn predict …) each computes a part,\n" +
			"and the file is the same.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, or to standard output with - and --format"},
			&cli.StringFlag{Name: "format", Usage: "one of " + writableFormats() + "; by default from the extension of FILE"},
			&cli.StringFlag{Name: "as", Usage: "classes (by name where they have names), indices (of classes), probabilities, values (of a regression) or outputs (of the last layer)", DefaultText: "values or outputs"},
			&cli.StringFlag{Name: "select", Usage: "`NAME` or number of one output, of a model of several", DefaultText: "all"},
			&cli.StringFlag{Name: "model", Usage: "`FILE` with the architecture of a MODEL that holds weights only: YAML with the layers, Keras's config.json, a whole model or a run"},
			&cli.StringFlag{Name: "weights", Usage: "float32, bf16 (with AVX512-BF16) or int8, with a scale for each channel; size, time and outputs are compared on the first samples", DefaultText: "float32"},
			unknownFlag(),
			forceFlag(),
			followFlag(), fromFlag(), voidFlag(),
			deviceFlag(),
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads", DefaultText: "all"},
			&cli.Int64Flag{Name: "memory", Usage: "memory limit of reading ahead in `MIB`", DefaultText: "512"},
		},
		Action: predict,
	}
}

func predict(c *cli.Context) error {
	if c.NArg() < 2 {
		_, err := arguments(c, "MODEL", "DATA:/path")
		return err
	}
	name, args := c.Args().First(), c.Args().Tail()
	if c.String("output") == "" && c.String("format") == "" {
		return fmt.Errorf("name the output with -o FILE, or -o - --format csv")
	}
	if n := c.Int64("memory"); n < 0 || n > math.MaxInt64>>20 {
		return fmt.Errorf("--memory %d: want a number of MiB", n)
	}
	format, err := chosenFormat(c.String("output"), c.String("format"))
	if err != nil {
		return err
	}
	if err := join(c); err != nil {
		return err
	}
	run, imported, err := runOf(c, name, args)
	if err != nil {
		return err
	}
	outputs, err := askedOutputs(c, run, name, imported)
	if err != nil {
		return err
	}
	if err := checkOutputs(outputs, format); err != nil {
		return err
	}
	open := newFiles(c.Context, run.Config.Data.Format)
	defer open.Close()
	inputs := outputs[0].Inputs()
	samples, err := predictionSamples(c, open, run, name, args, inputs)
	if err != nil {
		return err
	}
	if output := c.String("output"); namesFile(output) && first() {
		if err := checkOutput(c, output); err != nil {
			return err
		}
	}
	if err := checkSamples(samples, outputs[0].Predictor, name); err != nil {
		return err
	}
	predicted, shared := make([]serialize.Entry, len(outputs)), &sharedPredictions{group: group()}
	for i, o := range outputs {
		if predicted[i], err = o.predictions(c, format, samples, name, shared); err != nil {
			return err
		}
	}
	if !first() {
		return shared.serve()
	}
	if err := toOutput(c, format, predicted); err != nil {
		return err
	}
	for _, o := range outputs {
		printNarrow(c, o.narrow)
		if why := o.Unplanned(); why != nil {
			fmt.Fprintf(c.App.ErrWriter, "note: %s: the model is computed operation by operation, which takes longer: %s\n", name, printable(forPeople(why)))
		}
	}
	return shared.end()
}

// predictionSamples returns the samples for the inputs of a run, from the files that args name, and prints what it assumes of them.
func predictionSamples(c *cli.Context, open datafiles.Files, run *train.Run, name string, args []string, inputs []train.Feature) (loader.Dataset, error) {
	trained := run.Config.Data
	if len(run.Config.ValAugment) > 0 { // the data may have another size
		inputs = slices.Clone(inputs)
		for i := range inputs {
			inputs[i].Shape = nil
		}
	}
	sources, err := sourcesOf(c, name, args, &trained, inputs)
	if err != nil {
		return nil, err
	}
	if len(inputs) == len(sources) { // the model takes no lengths
		trained.Lengths = nil
	}
	if n := c.Int("unknown"); c.IsSet("unknown") {
		trained.Unknown = &n
	}
	samples, notes, err := trained.Inputs(open, sources)
	if err != nil {
		return nil, err
	}
	for _, text := range notes {
		fmt.Fprintf(c.App.ErrWriter, "note: %s\n", printable(text))
	}
	return samples, nil
}

// A modelOutput is an output of a model, predicted on its own.
type modelOutput struct {
	*train.Predictor
	name    string              // of the array of predictions
	classes []string            // names; nil if there are none
	narrow  *train.NarrowReport // nil for weights of float32
	texts   []string            // strings that the outputs stand for by their positions; nil if they are numbers
}

// askedOutputs returns the outputs of the named run that --select asks for, all without it, as
// --as says.
func askedOutputs(c *cli.Context, run *train.Run, name string, imported bool) ([]modelOutput, error) {
	as, err := askedKind(c, run, name, imported)
	if err != nil {
		return nil, err
	}
	weights, ok := map[string]dtype.Type{"": dtype.Float32, "float32": dtype.Float32, "bf16": dtype.BFloat16, "int8": dtype.Int8}[c.String("weights")]
	if !ok {
		return nil, fmt.Errorf("--weights %s: want float32, bf16 or int8", c.String("weights"))
	}
	p, err := run.Predictor()
	if err != nil {
		return nil, err
	}
	if err := run.CheckOutputs(); err != nil {
		fmt.Fprintf(c.App.ErrWriter, "note: %s: %s\n", name, printable(forPeople(err)))
	}
	names, selected := p.Outputs(), c.String("select")
	if selected != "" && !slices.Contains(names, selected) {
		return nil, fmt.Errorf("--select %s: no such output; want one of %s", selected, strings.Join(names, ", "))
	}
	var outputs []modelOutput
	for i, of := range names {
		if selected != "" && selected != of {
			continue
		}
		if p, err = predictorOf(run, i, as); err != nil {
			return nil, err
		}
		o := modelOutput{Predictor: p, name: of, classes: run.Config.Data.ClassNames[of]}
		if weights != dtype.Float32 {
			if o.narrow, err = p.Narrow(weights); err != nil {
				return nil, err
			}
		}
		if m, ok := run.Model.(*onnxgraph.Model); ok {
			o.texts = m.Outputs()[i].Texts
		}
		outputs = append(outputs, o)
	}
	if len(names) == 1 {
		outputs[0].classes = run.ClassNames()
	}
	if len(outputs) == 1 {
		outputs[0].name = "predictions"
	}
	return outputs, nil
}

// printNarrow prints what weights of fewer bits have changed.
func printNarrow(c *cli.Context, r *train.NarrowReport) {
	if r == nil || r.Samples == 0 {
		return
	}
	const mib = 1 << 20
	others := ""
	if r.Layers < r.Of {
		others = ", the others in float32, which is faster for them"
	}
	fmt.Fprintf(c.App.ErrWriter, "note: %v: %d of %d layers%s; %.2f MiB of weights instead of %.2f; of the first %d samples outputs differ by at most %.2g %% of the largest, and the largest is the same in %d; %.3f ms a sample instead of %.3f\n",
		r.Type, r.Layers, r.Of, others, float64(r.Size)/mib, float64(r.Full)/mib, r.Samples, 100*r.Difference, r.Same, 1e3*r.Time.Seconds(), 1e3*r.FullTime.Seconds())
}

// predictorOf returns a predictor of an output of a run, as one of predictionKinds.
func predictorOf(run *train.Run, output int, as string) (*train.Predictor, error) {
	p, err := run.Predictor()
	if err != nil {
		return nil, err
	}
	if output > 0 {
		if err := p.SelectOutput(output); err != nil {
			return nil, err
		}
	}
	switch as {
	case "values":
		return p, p.Values()
	case "probabilities":
		return p, p.Probabilities()
	case "classes", "indices":
		return p, p.Classes()
	}
	return p, nil
}

// checkOutputs returns an error if a file of the format cannot hold all outputs.
func checkOutputs(outputs []modelOutput, format *serialize.Format) error {
	if len(outputs) == 1 || !format.Single && !format.Table {
		return nil
	}
	names := make([]string, len(outputs))
	for i, o := range outputs {
		names[i] = o.name
	}
	return fmt.Errorf("the model has the outputs %s; choose one with --select, or write a file of several arrays, as .npz or .h5", strings.Join(names, ", "))
}

// predictions returns what o predicts for samples as an array that is computed when it is
// read, classes by their names where they have names.
func (o modelOutput) predictions(c *cli.Context, format *serialize.Format, samples loader.Dataset, run string, shared *sharedPredictions) (serialize.Entry, error) {
	v := views.Of(append([]int{samples.Len()}, o.OutputShape...)...)
	if o.Vector && format.Table && v.Rank() > 2 {
		v = views.Of(samples.Len(), v.Len()/max(1, samples.Len()))
	}
	data := &predictionSource{c.Context, o.Predictor, samples, storage.File(run), v.Len() * o.Type.Size(), shared, len(shared.sources), c.Int64("memory") << 20}
	shared.sources = append(shared.sources, data)
	array := storage.Array{Data: data, Type: o.Type, View: v}
	names := o.texts
	if c.String("as") == "classes" {
		names = o.classes
	}
	if names != nil {
		if format.Elements == nil || !format.Elements("string") {
			return serialize.Entry{}, fmt.Errorf("%s files cannot store strings, which these predictions are; use csv or h5, or for classes --as indices", format.Name)
		}
		return serialize.Entry{Name: o.name, Elements: withNames(array, names)}, nil
	}
	made, _, err := convert.Part(c.Context, inspect.Selection{Entry: serialize.Entry{Name: o.name, Array: array}}, nil, format.Name)
	return made, err
}

// askedKind returns what --as asks for, which makes sense for the named run.
func askedKind(c *cli.Context, run *train.Run, name string, imported bool) (string, error) {
	kinds := predictionKinds(run)
	if imported { // whose loss is not known
		kinds = []string{"outputs", "probabilities", "classes", "indices"}
	}
	as := cmp.Or(c.String("as"), kinds[0])
	if !slices.Contains([]string{"outputs", "values", "probabilities", "classes", "indices"}, as) {
		return "", fmt.Errorf("--as %s: want outputs, values, probabilities, classes or indices", as)
	}
	if !slices.Contains(kinds, as) {
		return "", fmt.Errorf("--as %s: %s was trained with the loss %v, and predicts %s", as, name, lossName(run.Config.Loss), strings.Join(kinds, ", "))
	}
	return as, nil
}

// predictionKinds lists the values of --as that make sense for a run, the default first.
func predictionKinds(run *train.Run) []string {
	switch {
	case run.Classifies():
		return []string{"outputs", "probabilities", "classes", "indices"}
	case run.Config.Data.OneHot:
		return []string{"outputs", "classes", "indices"}
	case run.Regresses(), run.Estimates():
		return []string{"values", "outputs"}
	}
	return []string{"outputs"}
}

// lossName returns the name in the description of a loss.
func lossName(description any) string {
	if settings, ok := description.(map[string]any); ok {
		for name := range settings {
			return name
		}
	}
	return fmt.Sprint(description)
}

// withNames returns predicted classes as their names.
func withNames(indices storage.Array, names []string) *serialize.Elements {
	values := func(v views.View) ([]any, error) {
		classes, err := storage.Read[int64](indices.With(v))
		values := make([]any, len(classes))
		for i, class := range classes {
			if values[i] = fmt.Sprint(class); class < int64(len(names)) {
				values[i] = names[class]
			}
		}
		return values, err
	}
	return &serialize.Elements{View: indices.View, Type: "string", Values: values}
}

// sourcesOf returns where the arguments say that the inputs of the named run are: a file
// with all of them at the paths of the run, or paths. If the file has those of validation
// only, trained gets them.
func sourcesOf(c *cli.Context, run string, args []string, trained *dataconfig.Config, features []train.Feature) ([]dataconfig.Source, error) {
	names := trained.InputNames()
	given := make([]dataconfig.Source, len(names)) // without a File where not given
	one := parseAddress(args[0])
	switch {
	case len(args) == 1 && one.path == "" && isContainer(one.file):
		if len(trained.ValX) > 0 && !holds(c.Context, trained.Format, one.file, trained.X) {
			trained.SetX(trained.ValX)
		}
		for i, x := range trained.X {
			given[i] = dataconfig.Source{NamedPath: x, File: one.file}
		}
	case len(names) == 1 && len(args) == 1:
		given[0] = dataconfig.Source{NamedPath: trained.X[0].At(one.path), File: one.file}
	case len(names) == 1:
		return nil, fmt.Errorf("%q is one argument too many; see h5dnn predict --help", args[1])
	default:
		for _, arg := range args {
			name, place, ok := strings.Cut(arg, "=")
			i := slices.Index(names, name)
			if !ok || i < 0 || given[i].File != "" {
				return nil, fmt.Errorf("%q: %s has the inputs %s; want NAME=DATA:/path for each of them", arg, run, strings.Join(names, ", "))
			}
			at := parseAddress(place)
			given[i] = dataconfig.Source{NamedPath: trained.X[i].At(at.path), File: at.file}
		}
	}
	for i, name := range names {
		s := &given[i]
		if s.File == "" {
			return nil, fmt.Errorf("%s=DATA:/path is missing; %s has the inputs %s", name, run, strings.Join(names, ", "))
		}
		s.Name = name
		for _, f := range features {
			if f.Name == name || len(names) == 1 {
				s.Shape = f.Shape
				break
			}
		}
	}
	return given, nil
}

// isContainer reports whether the files that a pattern names are there, and are of a format with several arrays, which have paths.
func isContainer(pattern string) bool {
	names, err := datafiles.Glob(pattern)
	if err != nil || !exists(names[0]) {
		return false
	}
	format, err := serialize.FormatOf(names[0])
	return err != nil || !format.Single
}

// checkSamples returns an error if p, of the named run, does not take samples of d.
func checkSamples(d loader.Dataset, p *train.Predictor, run string) error {
	fields, err := p.Fields(d)
	if err != nil {
		return fmt.Errorf("%s: %w", run, err)
	}
	inputs := p.Inputs()
	for i, have := range fields {
		for _, f := range inputs {
			if (f.Name == have.Name || i == 0 && len(inputs) == 1) && !slices.Equal(have.Shape, f.Shape) {
				return fmt.Errorf("%s: samples of %v; %s was trained on samples of %v", have.Name, have.Shape, run, f.Shape)
			}
		}
	}
	return nil
}

// A predictionSource is a Source of predictions, computed when they are read.
type predictionSource struct {
	ctx     context.Context
	model   *train.Predictor
	samples loader.Dataset
	device  storage.Device
	size    int
	shared  *sharedPredictions
	number  int   // among its sources
	memory  int64 // limit of reading ahead, in bytes; 0 for the loader's
}

func (p *predictionSource) Len() int               { return p.size }
func (p *predictionSource) Device() storage.Device { return p.device }

// ReadView computes the rows that v touches.
func (p *predictionSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	lo, hi := v.Bounds()
	if hi < lo {
		return nil
	}
	width := views.Of(p.model.OutputShape...).Len()
	first, last := lo/width, hi/width
	elements, err := p.shared.read(p.number, first, last+1)
	if err != nil {
		return err
	}
	v.Offset -= first * width
	storage.Gather(dst, elements, t, v)
	return nil
}

// compute returns the predictions for the samples [first, end).
func (p *predictionSource) compute(first, end int) ([]byte, error) {
	rows := make([]int, end-first)
	for i := range rows {
		rows[i] = first + i
	}
	part, err := loader.Subset(p.samples, rows)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	elements := make([]byte, 0, len(rows)*p.rowBytes())
	for out, err := range p.model.Stream(p.ctx, part, loader.Options{Memory: p.memory}) {
		if err != nil {
			return nil, err
		}
		bytes, err := blocks.Read(out)
		if err != nil {
			return nil, err
		}
		elements = append(elements, bytes...)
	}
	return elements, nil
}

// rowBytes returns the size of the prediction for a sample.
func (p *predictionSource) rowBytes() int {
	return views.Of(p.model.OutputShape...).Len() * p.model.Type.Size()
}

// missingOperators returns the operators of a graph that h5dnn does not compute, with the numbers of their nodes.
func missingOperators(g *onnx.Graph) map[string]int { return onnxgraph.Missing(g) }
