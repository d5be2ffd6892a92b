package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage/remote"
	"github.com/h5dnn/h5dnn/views"
)

func inspectCommand() *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "show the contents of a file: groups, datasets, types, layouts, attributes, links",
		ArgsUsage: "FILE[:/path]...",
		Description: "The value of a scalar is shown, and those of a small dataset that is named by its path. --stats shows the\n" +
			"columns of a table and the members of compounds, too.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "depth", Usage: "show objects at most `N` levels below the one that is named", DefaultText: "all", Value: -1},
			&cli.IntFlag{Name: "attrs", Usage: "show at most `N` attributes of an object", DefaultText: "all", Value: -1},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object for each FILE"},
			&cli.BoolFlag{Name: "stats", Usage: "read the data and show min, max, mean, std, NaNs, zeros and a histogram; of strings, the most frequent"},
			allFlag("on a terminal, show each of many alike objects (demo_0 … demo_23)"),
			refreshFlag(),
			followFlag(), fromFlag(), voidFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				_, err := arguments(c, "FILE")
				return err
			}
			for _, name := range []string{"depth", "attrs"} {
				if n := c.Int(name); n < 0 && c.IsSet(name) {
					return fmt.Errorf("--%s cannot be %d; want at least 0, or leave it out for all", name, n)
				}
			}
			if every := c.Duration(refreshName); c.IsSet(refreshName) {
				return showAgain(c, every, func(w io.Writer) error { return inspectAll(c, w) })
			}
			return buffered(c.App.Writer, func(w io.Writer) error { return inspectAll(c, w) })
		},
	}
}

// inspectAll shows the files of the command.
func inspectAll(c *cli.Context, w io.Writer) error {
	for i, arg := range c.Args().Slice() {
		if i > 0 && !c.Bool("json") {
			fmt.Fprintln(w)
		}
		if err := inspectOne(c, w, parseAddress(arg)); err != nil {
			return err
		}
	}
	return nil
}

const refreshName = "refresh"

// refreshFlag makes a command print again what has changed.
func refreshFlag() cli.Flag {
	return &cli.DurationFlag{Name: refreshName, Usage: "look again every `TIME`, such as 2s, and print again what has changed, until interrupted; its writer may have it open in HDF5's SWMR mode"}
}

// showAgain calls show again and again, and prints what it writes whenever that has changed, until the context is done.
func showAgain(c *cli.Context, every time.Duration, show func(w io.Writer) error) error {
	if every <= 0 {
		return fmt.Errorf("--refresh cannot be %v; want a time such as 2s", every)
	}
	var last bytes.Buffer
	for {
		var now bytes.Buffer
		err := show(&now)
		switch {
		case errors.Is(err, remote.ErrChanged): // while it was read; it is shown the next time
		case err != nil:
			return err
		case !bytes.Equal(now.Bytes(), last.Bytes()):
			if last.Len() > 0 && !c.Bool("json") {
				fmt.Fprintln(c.App.Writer)
			}
			if _, err := c.App.Writer.Write(now.Bytes()); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-c.Context.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// allFlag shows alike objects one by one.
func allFlag(usage string) cli.Flag { return &cli.BoolFlag{Name: "all", Usage: usage} }

// inspectOne shows what is at and below an address.
func inspectOne(c *cli.Context, w io.Writer, at address) error {
	file, err := open(c.Context, at.file)
	if err != nil {
		return err
	}
	defer file.Close()
	tree := &treePrinter{w: w, paint: paletteFor(c.App.Writer), attrs: c.Int("attrs"), total: checkpointTotal(c, file, at)}
	var p printer = tree
	switch {
	case c.Bool("json"):
		p = &jsonPrinter{w: w}
	case isTerminal(c.App.Writer) && !c.Bool("all") && !c.Bool("stats"):
		p = &foldedPrinter{treePrinter: tree}
	}
	show := showOptions{stats: c.Bool("stats"), depth: c.Int("depth"), width: widthOf(c.App.Writer), errs: c.App.ErrWriter}
	if !c.Bool("json") && at.path == "" {
		show.model = func() error {
			return showModel(w, file, openOptions(c.Context))
		}
	}
	return showObjects(c.Context, file, at, show, p)
}

// showOptions say what to show of objects.
type showOptions struct {
	stats bool
	depth int          // levels below the first object; all if negative
	width int          // of lines
	model func() error // prints what model the file holds, below its first line; may be nil
	errs  io.Writer    // shows progress
}

// slowStats is the number of bytes from which on statistics show their progress.
const slowStats = 64 << 20

// meter returns the meter of the statistics of an array, which is read twice.
func (s showOptions) meter(e inspect.Object) meter {
	if s.errs == nil || e.Data.Size < slowStats {
		return meter{}
	}
	return newMeter(s.errs, e.Path, 2*e.Data.Size)
}

// objectDetails are what is shown of an object beside its description.
type objectDetails struct {
	stats   statistic // nil without --stats, and of elements that have none
	columns []columnSummary
	scalar  string // the value of a scalar
	json    string // the same as JSON
	values  string // of a small dataset that was asked for
	fold    *fold  // the alike objects that it stands for; nil if it is alone
}

// A printer prints entries one by one.
type printer interface {
	Begin(at address, format string, size int) error
	Entry(e inspect.Object, m objectDetails) error
	End() error
}

// showObjects shows the objects at and below the address. Objects that cannot be read
// are shown with their error; the returned error counts them.
func showObjects(ctx context.Context, file inspect.File, at address, show showOptions, p printer) error {
	entries, err := file.Entries(at.path)
	if err != nil {
		return err
	}
	if err := p.Begin(at, file.Format(), fileSize(at.file)); err != nil {
		return err
	}
	if show.model != nil {
		if err := show.model(); err != nil {
			return err
		}
	}
	var first error
	failed := 0
	note := func(err error) {
		if failed++; failed == 1 {
			first = err
		}
	}
	root := -1 // depth of the first object
	for e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		alone := root < 0
		if root < 0 {
			root = depthOf(e.Path)
		}
		if show.depth >= 0 && depthOf(e.Path)-root > show.depth {
			continue
		}
		m, err := moreOf(ctx, file, e, show, alone)
		if errors.Is(err, context.Canceled) {
			return err
		} else if err != nil {
			e.Err = err
		}
		if e.Err != nil {
			note(withPath(e.Err, file.Name(), e.Path))
		}
		if err := p.Entry(e, m); err != nil {
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
		return errkind.Errorf(first, "%s (and %s that could not be read)", withoutKind(first.Error()), plural(failed-1, "more object"))
	}
	return nil
}

// withPath returns an error that names an object and its file.
func withPath(err error, file, path string) error {
	switch {
	case !strings.Contains(err.Error(), path+": "):
		return fmt.Errorf("%s: %s: %w", file, path, err)
	case !strings.Contains(err.Error(), file):
		return fmt.Errorf("%s: %w", file, err)
	}
	return err
}

// depthOf counts the groups that an object is in.
func depthOf(path string) int {
	if path == "/" {
		return 0
	}
	return strings.Count(path, "/")
}

// smallest is the most elements that are shown of a dataset that is named by its path.
const smallest = 64

// moreOf returns what is shown of an object beside its description. alone is whether it
// is the object that was named.
func moreOf(ctx context.Context, file inspect.File, e inspect.Object, show showOptions, alone bool) (m objectDetails, err error) {
	if e.Data == nil || e.Err != nil || e.Data.Shape == nil {
		return m, nil
	}
	n := views.Of(e.Data.Shape...).Len()
	scalar := len(e.Data.Shape) == 0 && e.Data.Layout != "virtual"
	values := alone && e.Kind == "dataset" && n > 0 && n <= smallest && e.Data.Size <= 1<<20 && !show.stats
	if !scalar && !values && !show.stats {
		return m, nil
	}
	data, err := file.Find(e.Path)
	if err != nil {
		if show.stats {
			return m, err
		}
		return m, nil // such as data in a file that may not be followed
	}
	switch {
	case scalar:
		if list, err := textsOf(data, data.View()); err == nil && len(list) == 1 {
			m.scalar = list[0]
			m.json = jsonOf(data)
		}
	case values:
		var b strings.Builder
		if err := showData(&b, data, show.width-2); err == nil {
			m.values = strings.TrimSuffix(b.String(), "\n")
		}
	}
	if show.stats {
		bar := show.meter(e)
		defer bar.end()
		ctx = withProgress(ctx, bar)
		m.stats, m.columns, err = statistics(ctx, file, e, data)
	}
	return m, err
}

// jsonOf returns the value of a scalar as JSON, or "". Of an enum it is the name.
func jsonOf(data inspect.Selection) string {
	if data.Numbers() {
		elems, err := blocks.Read(data.Array)
		if err != nil {
			return ""
		}
		if data.NameValues != nil {
			if at := slices.Index(data.NameValues, int64(blocks.Float64s(data.Array.Type, elems)[0])); at >= 0 {
				return jsonValue(data.Names[at])
			}
		}
		return arrayfmt.JSONNumbers(data.Array.Type, elems)[0]
	}
	values, err := data.Elements.Values(data.View())
	if err != nil || len(values) != 1 {
		return ""
	}
	return jsonValue(values[0])
}
