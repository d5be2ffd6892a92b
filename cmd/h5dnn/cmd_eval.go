//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/train"
)

func evalCommand() *cli.Command {
	return &cli.Command{
		Name:      "eval",
		Usage:     "evaluate a trained model on labelled data",
		ArgsUsage: "RUN [FILE]",
		Description: "Evaluates on all samples of FILE, at the paths that the run was trained or validated on or at --x and\n" +
			"--y. Without FILE, on the validation data of the run; if it has none, on its training data. On several processes (mpirun -n 4 h5dnn eval …) each\n" +
			"reads the samples of its shards; with the same --shards the numbers equal one process's.",
		Flags: append(flagsUnder(dataFlags("")), deviceFlag(),
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads", DefaultText: "all"},
			&cli.IntFlag{Name: "shards", Usage: "`NUMBER` of parts of the samples, which processes of mpirun divide among them", DefaultText: "as the run has"},
			&cli.BoolFlag{Name: "confusion", Usage: "print how many samples of each class the model takes for each class"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
		),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 || c.NArg() > 2 {
				return fmt.Errorf("want RUN and optionally FILE; see h5dnn eval --help")
			}
			if err := join(c); err != nil {
				return err
			}
			name := c.Args().First()
			run, err := resumedOn(c, name)
			if err != nil {
				return err
			}
			trainedOn, err := samplesOf(c, &run.Config)
			if err != nil {
				return err
			}
			if n := c.Int("shards"); c.IsSet("shards") && n < 1 {
				return fmt.Errorf("--shards %d; want at least 1", n)
			} else if n > 0 {
				run.Config.Shards = n
			}
			if err := checkNamedData(c, c.Args().Tail()...); err != nil {
				return err
			}
			if err := train.CheckData(run.Config, name); err != nil {
				return err
			}
			data, err := openData(c.Context, run.Config)
			if err != nil {
				if other := (*hdf5.NotFollowedError)(nil); c.NArg() == 2 && !c.IsSet("x") && !errors.As(err, &other) {
					err = fmt.Errorf("%w; %s names these paths, and --x and --y name others", err, name)
				}
				return err
			}
			defer data.Close()
			if err := run.CheckTargets(data.Data); err != nil {
				return err
			}
			samples := data.Train
			if data.Val != nil {
				samples = data.Val
			} else if trainedOn {
				fmt.Fprintf(c.App.ErrWriter, "note: %s has no validation data; these are the samples it was trained on\n", name)
			}
			report := evaluation{run: run, confusion: c.Bool("confusion")}
			if err := report.evaluate(c.Context, samples); err != nil {
				return err
			}
			return buffered(c.App.Writer, func(w io.Writer) error {
				if c.Bool("json") {
					return report.json(w)
				}
				return report.show(w)
			})
		},
	}
}

// samplesOf sets the data of config to the samples to evaluate on, and reports whether
// they are those of training.
func samplesOf(c *cli.Context, config *train.Config) (trainedOn bool, err error) {
	d := &config.Data
	files := dataconfig.Names(c.StringSlice("data"))
	if c.NArg() == 2 {
		files = dataconfig.Names{c.Args().Get(1)}
	}
	switch given := c.IsSet("x") || c.IsSet("y"); {
	case given && !(c.IsSet("x") && c.IsSet("y")):
		return false, fmt.Errorf("--x and --y must be given together")
	case given:
		x := d.X
		if err := overridePaths(c, map[string]*dataconfig.Paths{"x": &x, "y": &d.Y}); err != nil {
			return false, err
		}
		d.SetX(x)
		d.Split, d.YFile, d.Rows = dataconfig.Split{}, nil, nil
	case len(files) > 0:
		if len(d.ValX) > 0 && holds(c.Context, d.Format, files[0], d.ValX) {
			*d = d.Validation()
		}
		d.Split, d.YFile, d.Rows = dataconfig.Split{}, nil, nil
	case len(d.ValX) > 0:
		*d = d.Validation()
	default:
		trainedOn = d.Split == dataconfig.Split{}
	}
	if len(files) > 0 {
		d.File = files
	}
	if c.IsSet("y-data") {
		d.YFile = c.StringSlice("y-data")
	}
	if n := c.Int("unknown"); c.IsSet("unknown") {
		d.Unknown = &n
	}
	if c.IsSet("rows") {
		d.Rows = c.StringSlice("rows")
	}
	d.ValX, d.ValY, d.ValFile, d.ValYFile, d.ValRows = nil, nil, nil, nil, nil
	return trainedOn, config.Check()
}

// holds reports whether the files of a format that a pattern names hold the first of paths.
func holds(ctx context.Context, format, pattern string, paths dataconfig.Paths) bool {
	open := newFiles(ctx, format)
	defer open.Close()
	names, err := open.Glob(pattern)
	if err != nil || len(names) == 0 {
		return false
	}
	if strings.Contains(paths[0].Path, "*") {
		return true
	}
	_, err = open.Find(names[0], paths[0].Path)
	return err == nil
}
