//go:build cgo

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	loader "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

func predictCommand() *cli.Command {
	return &cli.Command{
		Name:      "predict",
		Usage:     "run a trained model on data and write its predictions",
		ArgsUsage: "MODEL DATA:/path[EXPR] -o OUT",
		Description: "MODEL is a run of h5dnn or a whole model of Keras (.keras, its folder, .h5), which takes samples as Keras does,\n" +
			"with the channels last. With --model it may be a file of weights, of Keras, of PyTorch or safetensors.\n" +
			"A model of several inputs takes NAME=DATA:/path[EXPR] for each, or a file with all of them in the places\n" +
			"that it was trained on.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, or to standard output with - and --format"},
			&cli.StringFlag{Name: "format", Usage: "one of " + writableFormats() + "; by default from the extension of FILE"},
			&cli.StringFlag{Name: "as", Usage: "classes (by name where they have names), indices (of classes), probabilities, values (of a regression) or outputs (of the last layer)", DefaultText: "values or outputs"},
			&cli.StringFlag{Name: "select", Usage: "`NAME` or number of the output, for a model of several"},
			&cli.StringFlag{Name: "model", Usage: "`FILE` with the architecture of a MODEL that holds weights only: YAML with the layers, Keras's config.json, a whole model or a run"},
			forceFlag(),
			followFlag(), fromFlag(), voidFlag(),
			deviceFlag(),
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads", DefaultText: "all"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				_, err := arguments(c, "MODEL", "DATA:/path")
				return err
			}
			name, args := c.Args().First(), c.Args().Tail()
			if c.String("output") == "" && c.String("format") == "" {
				return fmt.Errorf("name the output with -o FILE, or -o - --format csv")
			}
			format, err := chosenFormat(c.String("output"), c.String("format"))
			if err != nil {
				return err
			}
			run, imported, err := runOf(c, name, args)
			if err != nil {
				return err
			}
			p, err := askedPredictor(c, run, name, imported)
			if err != nil {
				return err
			}
			trained, names := run.Config.Data, run.ClassNames()
			if output := c.String("select"); output != "" {
				names = trained.ClassNames[output]
			}
			sources, err := sourcesOf(name, args, trained, p.Inputs())
			if err != nil {
				return err
			}
			if len(p.Inputs()) == len(sources) { // the model takes no lengths
				trained.Lengths = nil
			}
			open := newFiles(c.Context)
			defer open.Close()
			samples, err := trained.Inputs(open, sources)
			if err != nil {
				return err
			}
			if output := c.String("output"); namesFile(output) {
				if err := checkOutput(c, output); err != nil {
					return err
				}
			}
			predicted, err := predictions(c.Context, p, name, samples)
			if err != nil {
				return err
			}
			return writePredictions(c, format, predicted, names)
		},
	}
}

// namesFile reports whether output is a file and not standard output.
func namesFile(output string) bool { return output != "" && output != "-" }

// writePredictions writes predictions to the output, classes by their names where they
// have names.
func writePredictions(c *cli.Context, format *serialize.Format, predicted inspect.Selection, names []string) error {
	if c.String("as") == "classes" && names != nil {
		if predicted = withNames(predicted, names); checkType(format, predicted) != nil {
			return fmt.Errorf("%s files cannot store the names of classes; use --as indices, or csv or h5", format.Name)
		}
	}
	if output := c.String("output"); namesFile(output) {
		return toFile(c.Context, format, output, predicted)
	}
	return toPipe(c.Context, format, c.App.Writer, predicted)
}

// askedPredictor returns the predictor of the named run, with outputs as --as selects.
func askedPredictor(c *cli.Context, run *train.Run, name string, imported bool) (*train.Predictor, error) {
	kinds := predictionKinds(run)
	if imported { // whose loss is not known
		kinds = []string{"outputs", "probabilities", "classes", "indices"}
	}
	as := cmp.Or(c.String("as"), kinds[0])
	if !slices.Contains([]string{"outputs", "values", "probabilities", "classes", "indices"}, as) {
		return nil, fmt.Errorf("--as %s: want outputs, values, probabilities, classes or indices", as)
	}
	if !slices.Contains(kinds, as) {
		return nil, fmt.Errorf("--as %s: %s was trained with the loss %v, and predicts %s", as, name, lossName(run.Config.Loss), strings.Join(kinds, ", "))
	}
	p, err := run.Predictor()
	if err != nil {
		return nil, err
	}
	if err := selectOutput(c, p); err != nil {
		return nil, err
	}
	switch as {
	case "probabilities":
		return p, p.Probabilities()
	case "classes", "indices":
		return p, p.Classes()
	}
	return p, nil
}

// predictionKinds lists the values of --as that make sense for a run, the default first.
func predictionKinds(run *train.Run) []string {
	switch {
	case run.Classifies():
		return []string{"outputs", "probabilities", "classes", "indices"}
	case run.Config.Data.OneHot:
		return []string{"outputs", "classes", "indices"}
	case run.Regresses():
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
func withNames(indices inspect.Selection, names []string) inspect.Selection {
	return inspect.Selection{
		Name: indices.Name, View: indices.Array.View, DType: "string", Texts: true,
		Values: func(v views.View) ([]any, error) {
			classes, err := storage.Read[int64](indices.Array.With(v))
			values := make([]any, len(classes))
			for i, class := range classes {
				if values[i] = fmt.Sprint(class); class < int64(len(names)) {
					values[i] = names[class]
				}
			}
			return values, err
		},
	}
}

// selectOutput selects the output that --select names, which a model of several needs.
func selectOutput(c *cli.Context, p *train.Predictor) error {
	outputs, name := p.Outputs(), c.String("select")
	i := slices.Index(outputs, name)
	switch {
	case i >= 0:
		return p.SelectOutput(i)
	case name != "":
		return fmt.Errorf("--select %s: no such output; want one of %s", name, strings.Join(outputs, ", "))
	case len(outputs) > 1:
		return fmt.Errorf("the model has the outputs %s; choose one with --select", strings.Join(outputs, ", "))
	}
	return nil
}

// sourcesOf returns where the arguments say that the inputs of the named run are.
func sourcesOf(run string, args []string, trained dataconfig.Config, features []train.Feature) ([]dataconfig.Source, error) {
	names, given := trained.InputNames(), map[string]address{}
	switch one := parseAddress(args[0]); {
	case len(names) == 1 && len(args) == 1:
		given[names[0]] = one
	case len(names) == 1:
		return nil, fmt.Errorf("%q is one argument too many; see h5dnn predict --help", args[1])
	case len(args) == 1 && one.path == "" && exists(one.file):
		for _, x := range trained.X {
			given[x.Name] = address{one.file, x.Path}
		}
	default:
		for _, arg := range args {
			name, place, ok := strings.Cut(arg, "=")
			if _, again := given[name]; !ok || again || !slices.Contains(names, name) {
				return nil, fmt.Errorf("%q: %s has the inputs %s; want NAME=DATA:/path for each of them", arg, run, strings.Join(names, ", "))
			}
			given[name] = parseAddress(place)
		}
	}
	var sources []dataconfig.Source
	for _, name := range names {
		at, ok := given[name]
		if !ok {
			return nil, fmt.Errorf("%s=DATA:/path is missing; %s has the inputs %s", name, run, strings.Join(names, ", "))
		}
		s := dataconfig.Source{Name: name, File: at.file, Path: at.path}
		for _, f := range features {
			if f.Name == name || len(names) == 1 {
				s.Shape = f.Shape
				break
			}
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// predictions returns the predictions of p for the samples of d as an array that is
// computed when it is read.
func predictions(ctx context.Context, p *train.Predictor, run string, d loader.Dataset) (inspect.Selection, error) {
	for i, have := range d.Fields() {
		for _, f := range p.Inputs() {
			if (f.Name == have.Name || i == 0 && len(p.Inputs()) == 1) && !slices.Equal(have.Shape, f.Shape) {
				return inspect.Selection{}, fmt.Errorf("%s: samples of %v; %s was trained on samples of %v", have.Name, have.Shape, run, f.Shape)
			}
		}
	}
	v := views.Of(append([]int{d.Len()}, p.OutputShape...)...)
	data := predicted{ctx, p, d, storage.File(run), v.Len() * p.Type.Size()}
	array := storage.Array{Data: data, Type: p.Type, View: v}
	return inspect.Selection{Name: "predictions", Array: array, Numbers: true, DType: p.Type.String()}, nil
}

// A predicted is a Source of predictions, computed when they are read.
type predicted struct {
	ctx     context.Context
	model   *train.Predictor
	samples loader.Dataset
	device  storage.Device
	size    int
}

func (p predicted) Len() int               { return p.size }
func (p predicted) Device() storage.Device { return p.device }

// ReadView computes the rows that v touches.
func (p predicted) ReadView(dst []byte, t dtype.Type, v views.View) error {
	lo, hi := v.Bounds()
	if hi < lo {
		return nil
	}
	width := views.Of(p.model.OutputShape...).Len()
	first, last := lo/width, hi/width
	rows := make([]int, last-first+1)
	for i := range rows {
		rows[i] = first + i
	}
	part, err := loader.Subset(p.samples, rows)
	if err != nil {
		return err
	}
	elements := make([]byte, 0, len(rows)*width*t.Size())
	for out, err := range p.model.Stream(p.ctx, part, loader.Options{}) {
		if err != nil {
			return err
		}
		bytes, err := blocks.Read(out)
		if err != nil {
			return err
		}
		elements = append(elements, bytes...)
	}
	v.Offset -= first * width
	storage.Gather(dst, elements, t, v)
	return nil
}
