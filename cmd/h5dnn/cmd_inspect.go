package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/inspect"
)

func inspectCommand() *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "show the contents of a file: groups, datasets, types, layouts, attributes, links",
		ArgsUsage: "FILE[:/path]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.BoolFlag{Name: "stats", Usage: "read the data and show min, max, mean, std, NaNs, zeros and a histogram"},
			followFlag,
		},
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "FILE")
			if err != nil {
				return err
			}
			at := parseAddress(args[0])
			file, err := openAsked(c, at.file)
			if err != nil {
				return err
			}
			defer file.Close()
			return buffered(c.App.Writer, func(w io.Writer) error {
				var p printer = &tree{w: w, paint: paletteFor(c.App.Writer)}
				if c.Bool("json") {
					p = &objects{w: w}
				}
				return showObjects(c.Context, file, at, c.Bool("stats"), p)
			})
		},
	}
}

// A printer prints entries one by one.
type printer interface {
	Begin(at address, format string, size int) error
	Entry(e inspect.Object, s *summary) error
	End() error
}

// showObjects shows the objects at and below the address. Objects that cannot be read
// are shown with their error; the returned error counts them.
func showObjects(ctx context.Context, file inspect.File, at address, stats bool, p printer) error {
	entries, err := file.Entries(at.path)
	if err != nil {
		return err
	}
	if err := p.Begin(at, file.Format(), fileSize(at.file)); err != nil {
		return err
	}
	var first error
	failed := 0
	note := func(err error) {
		if failed++; failed == 1 {
			first = err
		}
	}
	for e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		var s *summary
		if stats && e.Data != nil && e.Data.Numbers && e.Data.Shape != nil && e.Err == nil {
			var err error
			if s, err = statistics(ctx, file, e.Path); errors.Is(err, context.Canceled) {
				return err
			} else if err != nil {
				e.Err = err
			}
		}
		if e.Err != nil {
			note(e.Err)
		}
		if err := p.Entry(e, s); err != nil {
			return err
		}
	}
	if err := p.End(); err != nil {
		return err
	}
	switch {
	case failed == 1:
		return first
	case failed > 1:
		return fmt.Errorf("%w (and %d more objects that could not be read)", first, failed-1)
	}
	return nil
}

func statistics(ctx context.Context, file inspect.File, path string) (*summary, error) {
	data, err := file.Find(path)
	if err != nil || data.Array.Type.IsComplex() {
		return nil, err
	}
	if err := data.CheckSize(); err != nil {
		return nil, err
	}
	s, err := summarize(ctx, data.Array)
	if err != nil {
		return nil, err
	}
	return &s, s.histogram(ctx, data.Array)
}
