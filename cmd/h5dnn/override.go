//go:build cgo

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/train"
)

// override applies the flags to settings.
func override(c *cli.Context, settings *train.Config) error {
	d := &settings.Data
	setFlags(c, func(name string) dataconfig.Names { return c.StringSlice(name) }, map[string]*dataconfig.Names{
		"data": &d.File, "y-data": &d.YFile, "rows": &d.Rows,
		"val-data": &d.ValFile, "val-y-data": &d.ValYFile, "val-rows": &d.ValRows,
	})
	setFlags(c, c.String, map[string]*string{
		"shuffle": &d.Shuffle, "episodes": &d.Episodes, "from": &d.Format, "layout": &d.Layout, "device": &settings.Device, "precision": &settings.Precision,
	})
	setFlags(c, c.Int, map[string]*int{
		"length": &d.Length, "steps": &d.Steps, "y-steps": &d.YSteps, "pad-before": &d.PadBefore, "pad-after": &d.PadAfter, "window": &d.Window,
		"classes": &settings.Classes, "epochs": &settings.Epochs, "batch": &settings.BatchSize, "threads": &settings.Threads, "shards": &settings.Shards,
		"keep": &settings.Keep,
	})
	setFlags(c, c.Int64, map[string]*int64{"memory": &d.Memory})
	setFlags(c, c.Uint64, map[string]*uint64{"seed": &settings.Seed})
	setFlags(c, func(name string) any { return c.String(name) }, map[string]*any{
		"model": &settings.Model, "loss": &settings.Loss, "schedule": &settings.Schedule, "optimizer": &settings.Optimizer,
	})
	d.OneHot = d.OneHot || c.Bool("one-hot")
	if rate := c.Float64("lr"); c.IsSet("lr") {
		if !(rate >= 0) || math.IsInf(rate, 1) {
			return fmt.Errorf("--lr %v; want at least 0", rate)
		}
		settings.SetLearningRate(rate)
	}
	setFlags(c, func(name string) *int { n := c.Int(name); return &n }, map[string]**int{"y-ahead": &d.YAhead, "unknown": &d.Unknown})
	if c.IsSet("graph") {
		settings.Graph = config.No
		if c.Bool("graph") {
			settings.Graph = config.Yes
		}
	}
	return overrideParsed(c, settings)
}

// overrideParsed applies the flags whose text is parsed.
func overrideParsed(c *cli.Context, settings *train.Config) error {
	d := &settings.Data
	if err := overridePaths(c, map[string]*dataconfig.Paths{
		"x": &d.X, "y": &d.Y, "val-x": &d.ValX, "val-y": &d.ValY, "x-offsets": &d.XOffsets, "x-columns": &d.XColumns, "frames": &d.Frames, "images": &d.Images, "categorical": &d.Categorical.Paths,
	}); err != nil {
		return err
	}
	if err := parseFlags(c, func(text string) (dataconfig.Names, error) { return strings.Split(text, ","), nil }, map[string]*dataconfig.Names{"genes": &d.Genes}); err != nil {
		return err
	}
	if err := parseFlags(c, dataconfig.ParseNormalize, map[string]*dataconfig.Normalize{"normalize": &d.Normalize}); err != nil {
		return err
	}
	if err := parseFlags(c, dataconfig.ParseMissing, map[string]*dataconfig.Missing{"missing": &d.Missing}); err != nil {
		return err
	}
	if err := parseFlags(c, dataconfig.ParseSplit, map[string]*dataconfig.Split{"split": &d.Split}); err != nil {
		return err
	}
	if err := parseFlags(c, train.ParseInterval, map[string]*train.Interval{"save-every": &settings.SaveEvery}); err != nil {
		return err
	}
	return parseFlags(c, config.ParseChoice, map[string]*config.Choice{"resident": &d.Resident})
}

// overridePaths applies flags of paths.
func overridePaths(c *cli.Context, flags map[string]*dataconfig.Paths) error {
	return parseFlags(c, dataconfig.ParsePaths, flags)
}

// setFlags sets the settings whose flags are given.
func setFlags[T any](c *cli.Context, value func(name string) T, flags map[string]*T) {
	for name, to := range flags {
		if c.IsSet(name) {
			*to = value(name)
		}
	}
}

// parseFlags sets the settings whose flags are given to what parse reads. Errors name
// the flag.
func parseFlags[T any](c *cli.Context, parse func(text string) (T, error), flags map[string]*T) (err error) {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !c.IsSet(name) {
			continue
		}
		if *flags[name], err = parse(c.String(name)); err != nil {
			return fmt.Errorf("--%s %w", name, err)
		}
	}
	return nil
}
