package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/sharded"
)

// openArrays opens a file of any format as its arrays.
func openArrays(c *cli.Context, name string) (serialize.File, serialize.Format, error) {
	if err := isFile(name); err != nil {
		return nil, serialize.Format{}, err
	}
	file, format, err := serialize.OpenDetected(name, inputOptions(c.Context))
	if err == nil {
		addInput(c.Context, name, nil)
	}
	return file, format, err
}

// arraysOf returns the arrays of an open file, and what to call when they are no longer needed. Of
// HDF5, of which the objects are open, it opens them.
func arraysOf(file inspect.File, o serialize.Options) (arrays serialize.File, done func() error, err error) {
	if arrays := inspect.Arrays(file); arrays != nil {
		return arrays, func() error { return nil }, nil
	}
	arrays, err = serialize.Open(file.Name(), o)
	if err != nil {
		return nil, nil, err
	}
	return arrays, arrays.Close, nil
}

// An arrayCopy is a command IN OUT that writes the arrays of one file to another.
type arrayCopy struct {
	convert.Options
	// finish adds to what is lost once the arrays are written. It may be nil.
	finish func(p *convert.Plan)
	// done returns the last line of the report of a copy of some arrays, but for the losses.
	done func(arrays, bytes int, out string) string
}

// run runs the command.
func (a arrayCopy) run(c *cli.Context) error {
	file, in, out, err := openIn(c)
	if err != nil {
		return err
	}
	defer file.Close()
	return a.write(c, file, in, out)
}

// openIn opens IN of a command IN OUT.
func openIn(c *cli.Context) (file serialize.File, in, out string, err error) {
	args, err := arguments(c, "IN", "OUT")
	if err != nil {
		return nil, "", "", err
	}
	file, _, err = openArrays(c, args[0])
	return file, args[0], args[1], err
}

// write writes the arrays of the named file to out, and prints a report.
func (a arrayCopy) write(c *cli.Context, file serialize.File, in, out string) error {
	p, err := a.copy(c, file, in, out)
	if err != nil {
		return err
	}
	arrays, bytes := sizeOfArrays(p)
	if err := copyReport(c, p, in, out, a.done(arrays, bytes, target(out)), lossSummary(c, p.Lost)); err != nil {
		return err
	}
	return lossStatus(c, p.Lost)
}

// copy writes the arrays.
func (a arrayCopy) copy(c *cli.Context, file serialize.File, in, out string) (*convert.Plan, error) {
	format, err := copyFormat(c, out)
	if err != nil {
		return nil, err
	}
	switch {
	case out == "-":
		a.Save = func(_ string, contents serialize.Contents) error {
			return serialize.Write(c.App.Writer, format.Name, contents)
		}
	case strings.HasSuffix(out, sharded.Extension) && c.String("format") == "" && a.Save == nil:
		a.Save = func(name string, contents serialize.Contents) error {
			return sharded.Save(name, contents, sharded.Options{})
		}
	}
	if err := checkWritten(c, out, format.Name); err != nil {
		return nil, err
	}
	p, err := convert.New(c.Context, inspect.Of(file, in, serialize.Format{}), "", format.Name, a.Options)
	if err != nil {
		return nil, err
	}
	err = p.Write(c.Context, out)
	if a.finish != nil {
		a.finish(p)
	}
	return p, err
}

// copyFormat returns the format of the arrays of an output: of --format, of its extension, or of the shards
// of an index.
func copyFormat(c *cli.Context, out string) (serialize.Format, error) {
	if strings.HasSuffix(out, sharded.Extension) && c.String("format") == "" {
		return sharded.FormatOf(out)
	}
	name, err := outputFormat(c, out, "format")
	if err != nil {
		return serialize.Format{}, err
	}
	return serialize.ByName(name)
}

// sizeOfArrays returns the number of arrays that a plan writes, and their bytes.
func sizeOfArrays(p *convert.Plan) (arrays, bytes int) {
	for s := range p.Arrays() {
		arrays, bytes = arrays+1, bytes+s.Bytes()
	}
	return arrays, bytes
}

// target is what reports call an output.
func target(out string) string {
	if out == "-" {
		return "standard output"
	}
	return out
}

// copyReport prints the notes, what was lost and the line done, or all as one JSON object, to standard
// error if standard output has the arrays.
func copyReport(c *cli.Context, p *convert.Plan, in, out, done, lost string) error {
	to := c.App.Writer
	if out == "-" {
		to = c.App.ErrWriter
	}
	notes := []string{}
	for _, s := range p.Steps {
		for _, note := range s.Notes {
			notes = append(notes, s.Path+": "+note)
		}
	}
	return buffered(to, func(w io.Writer) error {
		if c.Bool("json") {
			arrays, bytes := sizeOfArrays(p)
			f := fields{{"in", in}, {"out", out}, {"format", p.Format}, {"arrays", arrays}, {"bytes", bytes}, {"notes", notes}}
			return encodeLine(w, append(f, lossFields(p.Lost)...))
		}
		lines := notes
		for _, item := range p.Lost {
			lines = append(lines, withoutKind(item.String()))
		}
		const shown = 20
		for i, line := range lines {
			if i == shown {
				fmt.Fprintf(w, "… and %d more\n", len(lines)-shown)
				break
			}
			fmt.Fprintln(w, printable(line))
		}
		_, err := fmt.Fprintf(w, "%s; %s\n", printable(done), lost)
		return err
	})
}

// reportFlag prints the report as JSON.
func reportFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print the report as one JSON object"}
}

// copyFlags are the flags of the commands that copy arrays to another file.
func copyFlags(more ...cli.Flag) []cli.Flag {
	flags := append(more, &cli.StringFlag{Name: "format", Usage: "`FORMAT` of OUT, by default from its extension"}, forceFlag(), reportFlag(), followFlag(), voidFlag())
	return append(flags, lossFlags...)
}
