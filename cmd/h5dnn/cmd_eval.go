//go:build cgo

package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/train"
)

func evalCommand() *cli.Command {
	return &cli.Command{
		Name:        "eval",
		Usage:       "evaluate a trained model on labelled data",
		ArgsUsage:   "RUN [FILE]",
		Description: "Without --x and --y, the validation data of the run is used.",
		Flags: append(dataFlags(), deviceFlag(),
			&cli.IntFlag{Name: "threads", Usage: "`NUMBER` of compute threads", DefaultText: "all"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
		),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 || c.NArg() > 2 {
				return fmt.Errorf("want RUN and optionally FILE; see h5dnn eval --help")
			}
			name := c.Args().First()
			run, err := resumedOn(c, name)
			if err != nil {
				return err
			}
			if err := samplesOf(c, name, &run.Config); err != nil {
				return err
			}
			data, err := openData(c.Context, run.Config)
			if err != nil {
				return err
			}
			defer data.Close()
			samples := data.Train
			if run.Config.Data.Split != (dataconfig.Split{}) {
				samples = data.Val
			}
			metrics, err := run.Evaluate(c.Context, samples)
			if err != nil {
				return err
			}
			return showMetrics(c.App.Writer, c.Bool("json"), run.Classifies(), metrics)
		},
	}
}

// samplesOf sets the data of config to the samples to evaluate on.
func samplesOf(c *cli.Context, run string, config *train.Config) error {
	d := &config.Data
	files := dataconfig.Names(c.StringSlice("data"))
	if c.NArg() == 2 {
		files = dataconfig.Names{c.Args().Get(1)}
	}
	switch given := c.IsSet("x") || c.IsSet("y"); {
	case given && !(c.IsSet("x") && c.IsSet("y")):
		return fmt.Errorf("--x and --y must be given together")
	case given:
		if err := overridePaths(c, map[string]*dataconfig.Paths{"x": &d.X, "y": &d.Y}); err != nil {
			return err
		}
		d.Split, d.YFile, d.Rows = dataconfig.Split{}, nil, nil
	case len(d.ValX) > 0:
		*d = d.Validation()
	case d.Split == dataconfig.Split{}:
		return fmt.Errorf("%s has no validation data; name samples with --x and --y", run)
	}
	if len(files) > 0 {
		d.File = files
	}
	if c.IsSet("y-data") {
		d.YFile = c.StringSlice("y-data")
	}
	if c.IsSet("rows") {
		d.Rows = c.StringSlice("rows")
	}
	d.ValX, d.ValY, d.ValFile, d.ValYFile, d.ValRows = nil, nil, nil, nil, nil
	return config.Check()
}

func showMetrics(w io.Writer, asJSON, classifies bool, t train.Metrics) error {
	numbers := numbersOf(t, classifies, "")
	if asJSON {
		if err := encode(w, slices.Concat(fields{{"samples", t.Samples}}, numbersJSON(numbers), tablesJSON(t))); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	}
	tables, err := tablesText(t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d samples  %s\n%s", t.Samples, numbersText(numbers), tables)
	return err
}
