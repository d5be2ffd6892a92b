package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

func sliceCommand() *cli.Command {
	return &cli.Command{
		Name:      "slice",
		Usage:     "print part of an array, or write it to a file or a pipe",
		ArgsUsage: "FILE:/path[EXPR]",
		Description: "EXPR is a NumPy index: [0], [10:20, ::2], [..., -1], [None, 5], [[3, 1, -7], 0]. Only the selected\n" +
			"elements are read. Quote it, because shells expand brackets and stars.\n" +
			"[@PATH] selects by a mask or a list of indices in the file, [@PATH==VALUE] by comparing; also != < <= > >=.\n" +
			"[time=2001:2005-06, lat=40:60, lon=12.5] selects by the coordinates of named dimensions: both ends are\n" +
			"inclusive, a single number is the nearest, and a date is all of the year, month or day.\n" +
			"A star in the path selects all arrays that match: 'demos.h5:/data/*/obs[0]'.\n" +
			"['NAME'] selects a member of compounds: \"table.h5:/table['x'][:10]\".",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, or to standard output with - and --format"},
			&cli.StringFlag{Name: "format", Usage: "one of " + writableFormats() + "; by default from the extension of FILE"},
			forceFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print the elements as one JSON object"},
			refreshFlag(), followFlag(), fromFlag(), voidFlag(),
		}, lossFlags...),
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "FILE:/path[EXPR]")
			if err != nil {
				return err
			}
			written := c.String("output") != "" || c.String("format") != ""
			if c.Bool("json") && written {
				return errors.New("--json prints the elements, and -o and --format write them in another format; leave one out")
			}
			at := parseAddress(args[0])
			if every := c.Duration(refreshName); c.IsSet(refreshName) {
				if written {
					return errors.New("--refresh shows the elements, and -o and --format write them; leave one out")
				}
				return showAgain(c, every, func(w io.Writer) error { return sliceOnce(c, w, at, nil) })
			}
			format, err := chosenFormat(c.String("output"), c.String("format"))
			if err != nil {
				return err
			}
			return sliceOnce(c, c.App.Writer, at, format)
		},
	}
}

// sliceOnce prints what is at an address, or writes it in a format.
func sliceOnce(c *cli.Context, w io.Writer, at address, format *serialize.Format) error {
	file, err := open(c.Context, at.file)
	if err != nil {
		return err
	}
	defer file.Close()
	arrays, err := findAll(file, at)
	if err != nil {
		return err
	}
	if format != nil || c.Bool("json") {
		for _, data := range arrays {
			if err := data.CheckSize(); err != nil {
				return err
			}
		}
	}
	switch {
	case c.Bool("json"):
		return buffered(w, func(w io.Writer) error { return writeAllJSON(c.Context, w, arrays) })
	case format == nil:
		return showAll(w, arrays)
	case namesFile(c.String("output")):
		if err := checkOutput(c, c.String("output")); err != nil {
			return err
		}
	}
	return sliceTo(c, file, arrays, format)
}

// A sliced is a selection of an array, and its address.
type sliced struct {
	inspect.Selection
	at address
}

// findAll finds all arrays that match a path with stars. Those that a list of episodes leaves
// out are not among them.
func findAll(file inspect.File, at address) ([]sliced, error) {
	data, err := datafiles.Find(file, at.path)
	if err == nil || !strings.Contains(at.path, "*") {
		return []sliced{{data, at}}, err
	}
	in := datafiles.Of(file)
	paths, err := dataconfig.Expand(in, at.file, at.path)
	if err != nil {
		return nil, err
	}
	var all []sliced
	for _, path := range paths {
		one := address{at.file, path}
		data, err := datafiles.Find(file, path)
		switch {
		case errors.Is(err, dataconfig.ErrUnlisted):
			continue
		case err != nil:
			return nil, err
		}
		name, _ := views.CutIndex(path)
		data.Name, data.Listed = strings.Trim(name, "/"), true
		all = append(all, sliced{data, one})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: %s: no list has the name of an array that matches", at.file, at.path)
	}
	return all, nil
}

// showAll prints arrays, each below its path if there are several.
func showAll(w io.Writer, parts []sliced) error {
	for _, p := range parts {
		if len(parts) > 1 {
			fmt.Fprintln(w, printable(p.at.path))
		}
		if err := show(w, p.Selection); err != nil {
			return err
		}
	}
	return nil
}

func writeAllJSON(ctx context.Context, w io.Writer, parts []sliced) error {
	for _, p := range parts {
		if err := writeJSON(ctx, w, p.at, p.Selection); err != nil {
			return err
		}
	}
	return nil
}

// namesFile reports whether output is a file and not standard output.
func namesFile(output string) bool { return output != "" && output != "-" }

// sliceTo writes arrays to the output. A file has the attributes of their datasets if the format has
// attributes, and what is lost is reported.
func sliceTo(c *cli.Context, file inspect.File, parts []sliced, f *serialize.Format) error {
	var lost loss.List
	var entries []serialize.Entry
	out := c.String("output")
	for _, p := range parts {
		var attrs []inspect.Attr
		if namesFile(out) {
			attrs = attributesAt(file, p.at)
		}
		e, more, err := convert.Part(c.Context, p.Selection, attrs, f.Name)
		if err != nil {
			return fmt.Errorf("%w; csv and --json take any type", err)
		}
		entries, lost = append(entries, e), append(lost, more...)
	}
	if err := toOutput(c, f, entries); err != nil {
		return err
	}
	if len(lost) > 0 {
		what := fmt.Sprintf("%s %s", parts[0].Type(), arrayfmt.Shape(parts[0].Shape()))
		if len(parts) > 1 {
			what = fmt.Sprintf("%d arrays", len(parts))
		}
		fmt.Fprintf(c.App.Writer, "%s  %s; %s\n", printable(out), what, lossSummary(c, lost))
	}
	return lossStatus(c, lost)
}

// attributesAt returns the attributes of the dataset at an address.
func attributesAt(file inspect.File, at address) []inspect.Attr {
	path, _ := views.CutIndex(at.path)
	entries, err := file.Entries(path)
	if err != nil {
		return nil // find has read it: the name has brackets
	}
	for o := range entries {
		if o.Data != nil || inspect.Clean(path) != "/" { // else it is of a file with one array, which is not named
			return o.Attrs
		}
	}
	return nil
}

// show prints data as NumPy does.
func show(w io.Writer, data inspect.Selection) error { return showData(w, data, widthOf(w)) }

// showData is show with lines of that width.
func showData(w io.Writer, data inspect.Selection, width int) error {
	text, err := "", error(nil)
	if data.Numbers() {
		text, err = arrayfmt.Format(data.Array, width)
	} else {
		text, err = arrayfmt.FormatTexts(data.View(), width, func(v views.View) ([]string, error) { return textsOf(data, v) })
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, text)
	return err
}

// writeJSON prints data as nested lists, in bounded memory if it is numbers.
func writeJSON(ctx context.Context, w io.Writer, at address, data inspect.Selection) error {
	v := data.View()
	head, err := fields{{"file", at.file}, {"path", at.path}, {"dtype", data.Type()}, {"shape", v.Shape}}.MarshalJSON()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s,\"data\":", head[:len(head)-1])
	list := arrayfmt.NewJSONList(w, v.Shape)
	if data.Numbers() {
		for elems, err := range blocks.Elements(ctx, data.Array, blocks.Size/16) {
			if err != nil {
				return err
			}
			if err := list.Add(arrayfmt.JSONNumbers(data.Array.Type, elems)); err != nil {
				return err
			}
		}
	} else {
		for part, err := range blocks.Views(ctx, v, valuesAtOnce) {
			if err != nil {
				return err
			}
			values, err := data.Elements.Values(part)
			if err != nil {
				return err
			}
			cells := make([]string, len(values))
			for k, value := range values {
				cells[k] = jsonValue(value)
			}
			if err := list.Add(cells); err != nil {
				return err
			}
		}
	}
	if v.Len() == 0 {
		io.WriteString(w, "[]")
	}
	_, err = io.WriteString(w, "}\n")
	return err
}

// valuesAtOnce is about how many values that are not numbers are read together.
const valuesAtOnce = 1 << 16

// textsOf returns the elements that v selects as text.
func textsOf(s inspect.Selection, v views.View) ([]string, error) {
	if s.Numbers() {
		elems, err := blocks.Read(s.Array.With(v))
		if err != nil {
			return nil, err
		}
		return arrayfmt.Cells(s.Array.Type, elems), nil
	}
	values, err := s.Elements.Values(v)
	cells := make([]string, len(values))
	for k, value := range values {
		cells[k] = printable(hdf5.Format(value))
	}
	return cells, err
}
