package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/views"
)

func sliceCommand() *cli.Command {
	return &cli.Command{
		Name:      "slice",
		Usage:     "print part of an array, or write it to a file or a pipe",
		ArgsUsage: "FILE:/path[EXPR]",
		Description: "EXPR is a NumPy index: [0], [10:20, ::2], [..., -1], [None, 5]. Only the selected elements are read.\n" +
			"Quote it, because shells expand brackets.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, or to standard output with - and --format"},
			&cli.StringFlag{Name: "format", Usage: "one of " + strings.Join(formatNames(), ", ") + "; by default from the extension of FILE"},
			&cli.BoolFlag{Name: "json", Usage: "print the elements as one JSON object"},
			followFlag,
		},
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "FILE:/path[EXPR]")
			if err != nil {
				return err
			}
			at := parseAddress(args[0])
			format, err := chosenFormat(c.String("output"), c.String("format"))
			if err != nil {
				return err
			}
			file, err := openAsked(c, at.file)
			if err != nil {
				return err
			}
			defer file.Close()
			data, err := find(file, at)
			if err != nil {
				return err
			}
			if err := data.checkSize(); err != nil && (format != nil || c.Bool("json")) {
				return err
			}
			switch {
			case c.Bool("json"):
				return buffered(c.App.Writer, func(w io.Writer) error { return writeJSON(c.Context, w, at, data) })
			case format == nil:
				return show(c.App.Writer, data)
			case c.String("output") == "" || c.String("output") == "-":
				return format.toPipe(c.Context, c.App.Writer, data)
			default:
				return format.toFile(c.Context, c.String("output"), data)
			}
		},
	}
}

// chosenFormat returns the format that the flags select, or nil to print.
func chosenFormat(output, name string) (*format, error) {
	if name == "" && output == "-" {
		return nil, fmt.Errorf("-o - needs --format, one of %s", strings.Join(formatNames(), ", "))
	}
	if name == "" && output == "" {
		return nil, nil
	}
	if name == "" {
		name = strings.TrimPrefix(filepath.Ext(output), ".")
	}
	for k, f := range formats {
		if strings.EqualFold(f.name, name) || strings.EqualFold(f.alias, name) && name != "" {
			return &formats[k], nil
		}
	}
	if name == "" {
		return nil, fmt.Errorf("%s: no extension to choose the format by; add --format, one of %s", output, strings.Join(formatNames(), ", "))
	}
	return nil, fmt.Errorf("unknown format %q%s; known are %s", name, spell.Hint(name, formatNames()), strings.Join(formatNames(), ", "))
}

// find returns the data at an address, which may end in an index expression. A
// dataset whose name ends in brackets takes precedence.
func find(file container, at address) (selection, error) {
	data, err := file.Find(at.path)
	if err == nil {
		return data, nil
	}
	path, expr := splitExpr(at.path)
	if expr == "" {
		return data, err
	}
	index, err := views.Parse(expr)
	if err != nil {
		return data, err
	}
	if data, err = file.Find(path); err != nil {
		return data, err
	}
	v, err := index.Of(data.view())
	if err != nil {
		return data, fmt.Errorf("%s: %s: %w", at.file, path, err)
	}
	return data.with(v), nil
}

// show prints data as NumPy does.
func show(w io.Writer, data selection) error {
	text, err := "", error(nil)
	if data.Numbers {
		text, err = render(data.Array, widthOf(w))
	} else {
		text, err = renderValues(data.View, widthOf(w), data.Values)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, text)
	return err
}

// writeJSON prints data as nested lists, in bounded memory if it is numbers.
func writeJSON(ctx context.Context, w io.Writer, at address, data selection) error {
	v := data.view()
	head, err := fields{{"file", at.file}, {"path", at.path}, {"dtype", data.DType}, {"shape", v.Shape}}.MarshalJSON()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s,\"data\":", head[:len(head)-1])
	list := lister{w: w, shape: v.Shape}
	if data.Numbers {
		for elems, err := range elements(ctx, data.Array, blockBytes/16) {
			if err != nil {
				return err
			}
			if err := list.add(jsonNumbers(data.Array.Type, elems)); err != nil {
				return err
			}
		}
	} else {
		values, err := data.Values(v)
		if err != nil {
			return err
		}
		cells := make([]string, len(values))
		for k, value := range values {
			cells[k] = jsonValue(value)
		}
		if err := list.add(cells); err != nil {
			return err
		}
	}
	if v.Len() == 0 {
		io.WriteString(w, "[]")
	}
	_, err = io.WriteString(w, "}\n")
	return err
}

// jsonNumbers returns elements as JSON numbers; a complex number is a list of two.
func jsonNumbers(t dtype.Type, elems []byte) []string {
	cells := texts(t, elems, jsonNumber)
	if !t.IsComplex() {
		return cells
	}
	pairs := make([]string, 0, len(cells)/2)
	for k := 0; k < len(cells); k += 2 {
		pairs = append(pairs, "["+cells[k]+","+cells[k+1]+"]")
	}
	return pairs
}

// A lister writes cells as nested JSON lists.
type lister struct {
	w     io.Writer
	shape []int
	count int // of cells written
}

func (l *lister) add(cells []string) error {
	for _, cell := range cells {
		open, close := l.depth(l.count), l.depth(l.count+1)
		separator := ""
		if l.count > 0 && len(l.shape) > 0 {
			separator = ","
		}
		_, err := io.WriteString(l.w, separator+strings.Repeat("[", open)+cell+strings.Repeat("]", close))
		if err != nil {
			return err
		}
		l.count++
	}
	return nil
}

// depth returns how many lists begin, and end, before cell k.
func (l *lister) depth(k int) int {
	depth, row := 0, 1
	for axis := len(l.shape) - 1; axis >= 0; axis-- {
		if row *= l.shape[axis]; k%row != 0 {
			break
		}
		depth++
	}
	return depth
}
