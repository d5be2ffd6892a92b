package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/serialize"
	h5format "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check the integrity of an HDF5 file or a checkpoint",
		ArgsUsage: "FILE",
		Description: "Of an HDF5 file, reads every structure, compares checksums, decodes every chunk and reads every value of\n" +
			"variable length. Opens no other file without --follow. Data without filters has no checksum: only its\n" +
			"position is checked. Of other formats, and of HDF5 checkpoints, reads every array and compares the\n" +
			"checksums that the format has, and the index of an HDF5 checkpoint with its datasets; --reindex writes\n" +
			"a new one. The exit status is 1 if a problem was found.",
		Flags: []cli.Flag{
			followFlag(), voidFlag(), &cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.BoolFlag{Name: "reindex", Usage: "write an HDF5 checkpoint again, with an index that fits its datasets"},
		},
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "FILE")
			if err != nil {
				return err
			}
			if format, err := serialize.FormatOf(args[0]); err == nil && (format.Name == "h5ck" || !serialize.Fits(args[0], "hdf5")) {
				return verifyArrays(c, args[0], format)
			}
			if c.Bool("reindex") {
				return fmt.Errorf("%s is not an HDF5 checkpoint; only these have an index", args[0])
			}
			if err := verifiable(c.Context, args[0]); err != nil {
				return err
			}
			bar := newMeter(c.App.ErrWriter, "verify", fileSize(args[0]))
			report, err := hdf5.Verify(c.Context, args[0], func(_ string, bytes int) { bar.add(bytes) }, hdf5.Options{Follow: followed(c.Context)})
			bar.end()
			if err != nil {
				return err
			}
			show := showReport
			if c.Bool("json") {
				show = showReportJSON
			}
			err = buffered(c.App.Writer, func(w io.Writer) error { return show(w, args[0], report) })
			if err == nil && len(report.Problems) > 0 {
				return errNegative
			}
			return err
		},
	}
}

// verifiable returns an error if the file does not exist, or is in no known format and not called like an HDF5 file.
func verifiable(ctx context.Context, name string) error {
	if err := anHDF5File(ctx, name); err != nil {
		return err
	}
	_, err := serialize.FormatOf(name)
	if f, unknown := serialize.ByExtension(name); err != nil && (unknown != nil || !isHDF5(f.Name)) {
		return err
	}
	return nil
}

// isHDF5 reports whether files of the named format are HDF5 files.
func isHDF5(format string) bool {
	return h5format.IsConvention(format) || slices.Contains([]string{"hdf5", "h5ck", "h5ck-exact", "keras-h5", "keras-weights"}, format)
}

// anHDF5File returns an error if the file does not exist or is of another format. A
// damaged HDF5 file passes.
func anHDF5File(ctx context.Context, name string) error {
	if err := isFile(name); err != nil {
		return err
	}
	addInput(ctx, name, nil)
	format, err := serialize.FormatOf(name)
	switch {
	case errors.Is(err, serialize.ErrFormat):
		return nil
	case err == nil && !serialize.Fits(name, "hdf5"):
		return fmt.Errorf("%s is a file of format %s; this command takes HDF5 files, which h5dnn import makes", name, format.Name)
	}
	return err
}

func showReport(w io.Writer, name string, r hdf5.Report) error {
	for _, f := range r.Problems {
		fmt.Fprintf(w, "%s\n", printable(f.String()))
	}
	if r.Omitted > 0 {
		fmt.Fprintf(w, "and %d more problems\n", r.Omitted)
	}
	for _, f := range r.Skipped {
		fmt.Fprintf(w, "%s (not counted as a problem)\n", printable(f.String()))
	}
	verdict := "no problems found"
	if n := len(r.Problems) + r.Omitted; n > 0 {
		verdict = plural(n, "problem")
	}
	switch n := r.WithoutChecksum; {
	case n == 1:
		verdict += "; 1 dataset carries no checksum"
	case n > 1:
		verdict += fmt.Sprintf("; %d datasets carry no checksum", n)
	}
	_, err := fmt.Fprintf(w, "%s  %s (%s, %s, %s, %s)\n", printable(name), verdict,
		plural(r.Objects, "object"), plural(r.Datasets, "dataset"), plural(r.Chunks, "chunk"), arrayfmt.Bytes(r.Bytes))
	return err
}

// plural writes a number of things.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

func showReportJSON(w io.Writer, name string, r hdf5.Report) error {
	return encodeLine(w, fields{{"file", name}, {"ok", len(r.Problems) == 0}, {"objects", r.Objects}, {"datasets", r.Datasets},
		{"chunks", r.Chunks}, {"bytes", r.Bytes}, {"without_checksum", r.WithoutChecksum}, {"problems", findings(r.Problems)}, {"omitted", r.Omitted}, {"not_checked", findings(r.Skipped)}})
}

// findings lists what was found as JSON has it.
func findings(all []hdf5.Finding) []fields {
	items := []fields{}
	for _, f := range all {
		items = append(items, fields{{"path", f.Path}, {"what", f.Message}})
	}
	return items
}
