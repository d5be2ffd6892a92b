package main

import (
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
		ArgsUsage: "RUN DATA:/path[EXPR] -o OUT",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, or to standard output with - and --format"},
			&cli.StringFlag{Name: "format", Usage: "one of " + strings.Join(serialize.Formats(), ", ") + "; by default from the extension of FILE"},
			&cli.StringFlag{Name: "as", Value: "outputs", Usage: "outputs (of the last layer), probabilities or classes"},
			forceFlag(),
			deviceFlag(),
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads", DefaultText: "all"},
		},
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "RUN", "DATA:/path")
			if err != nil {
				return err
			}
			if c.String("output") == "" && c.String("format") == "" {
				return fmt.Errorf("name the output with -o FILE, or -o - --format csv")
			}
			format, err := chosenFormat(c.String("output"), c.String("format"))
			if err != nil {
				return err
			}
			p, trained, err := predictorOf(c, args[0])
			if err != nil {
				return err
			}
			at, open := parseAddress(args[1]), newFiles(c.Context)
			defer open.Close()
			if len(p.Inputs()) != 1 {
				return fmt.Errorf("%s has %d inputs; predict takes models with one, for others use package train", args[0], len(p.Inputs()))
			}
			x, err := trained.Input(open, at.file, trained.InputNames()[0], at.path, p.Inputs()[0].Shape)
			if err != nil {
				return err
			}
			toFileNamed := c.String("output") != "" && c.String("output") != "-"
			if toFileNamed {
				if err := checkOutput(c, c.String("output")); err != nil {
					return err
				}
			}
			predicted, err := predictions(c.Context, p, args[0], args[1], x)
			if err != nil {
				return err
			}
			if !toFileNamed {
				return toPipe(c.Context, format, c.App.Writer, predicted)
			}
			return toFile(c.Context, format, c.String("output"), predicted)
		},
	}
}

// predictorOf returns the predictor of the named run, with outputs as --as selects,
// and the run's data configuration.
func predictorOf(c *cli.Context, name string) (*train.Predictor, dataconfig.Config, error) {
	run, err := resumedOn(c, name)
	if err != nil {
		return nil, dataconfig.Config{}, err
	}
	p, err := askedPredictor(c, run)
	return p, run.Config.Data, err
}

func askedPredictor(c *cli.Context, run *train.Run) (*train.Predictor, error) {
	p, err := run.Predictor()
	if err != nil {
		return nil, err
	}
	switch as := c.String("as"); as {
	case "outputs":
		return p, nil
	case "probabilities":
		return p, p.Probabilities()
	case "classes":
		return p, p.Classes()
	default:
		return nil, fmt.Errorf("--as %s: want outputs, probabilities or classes", as)
	}
}

// predictions returns the predictions of p for the samples x as an array that is
// computed when it is read.
func predictions(ctx context.Context, p *train.Predictor, run, name string, x storage.Array) (inspect.Selection, error) {
	if sample := p.Inputs()[0].Shape; x.Rank() == 0 || !slices.Equal(x.Shape[1:], sample) {
		return inspect.Selection{}, fmt.Errorf("%s is %v; %s was trained on samples of %v", name, x.Shape, run, sample)
	}
	d, err := loader.Of(loader.Named{Name: "x", Array: x})
	if err != nil {
		return inspect.Selection{}, err
	}
	v := views.Of(append([]int{x.Shape[0]}, p.OutputShape...)...)
	data := predicted{ctx, p, d, storage.File(run), v.Len() * p.Type.Size()}
	said := storage.Array{Data: data, Type: p.Type, View: v}
	return inspect.Selection{Name: "predictions", Array: said, Numbers: true, DType: p.Type.String()}, nil
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
	said := make([]byte, 0, len(rows)*width*t.Size())
	for out, err := range p.model.Stream(p.ctx, part, loader.Options{}) {
		if err != nil {
			return err
		}
		bytes, err := blocks.Read(out)
		if err != nil {
			return err
		}
		said = append(said, bytes...)
	}
	v.Offset -= first * width
	storage.Gather(dst, said, t, v)
	return nil
}
