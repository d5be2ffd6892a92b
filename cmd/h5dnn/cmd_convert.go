package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
)

func convertCommand() *cli.Command {
	return &cli.Command{
		Name:      "convert",
		Usage:     "convert a file to another format, or a model to another framework",
		ArgsUsage: "IN[:/path] OUT",
		Description: "Reports every array, and counts what OUT lacks on the last line. The exit status is 1 if an\n" +
			"array is lost, or anything that OUT could hold.\n" +
			"From .h5 to .h5, objects are copied as they are stored: layouts, filters, attributes, types,\n" +
			"links, references and virtual datasets. With --follow, the elements of virtual datasets are\n" +
			"written instead of the names of their files. Sparse matrices, packed variables and other data\n" +
			"whose meaning only AnnData, NetCDF or MATLAB knows are decoded for all formats but .h5, and for\n" +
			".h5 if they are named as IN:/path or --from names their format.\n" +
			"A model of Keras becomes a state_dict of PyTorch (.pt, .safetensors, .npz), or with --framework h5dnn a run, and back;\n" +
			"one of ONNX becomes a run with --framework h5dnn, where each operator is a layer:\n" +
			"see h5dnn help models.\n" +
			"In CSV, columns and other arrays of one axis have a header line with their names, and arrays of two\n" +
			"axes have none; h5dnn slice writes elements alone. CSV is read with commas, semicolons, tabs or bars\n" +
			"between cells, and with decimal commas; the first line is a header if a cell of it is no number.\n" +
			"IN may be - for standard input. OUT may be - for standard output, in any format but HDF5; the report then\n" +
			"goes to standard error.",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`FORMAT` of OUT, by default from its extension"},
			&cli.BoolFlag{Name: "dry-run", Usage: "report what would be done, and write nothing"},
			&cli.BoolFlag{Name: "verify", Usage: "read OUT and compare every element"},
			forceFlag(),
			reportFlag(),
			followFlag(), fromFlag(), voidFlag(),
		}, frameworkFlags, lossFlags),
		Action: convertFile,
	}
}

func convertFile(c *cli.Context) error {
	args, err := arguments(c, "IN", "OUT")
	if err != nil {
		return err
	}
	at, out := parseAddress(args[0]), args[1]
	format, err := outputFormat(c, out, "to")
	if err != nil {
		return err
	}
	if format == "hdf5" && c.String("to") == "" && c.String("framework") == "keras" {
		format = "keras-h5" // which the extension does not tell from other HDF5 files
	}
	if slices.ContainsFunc(frameworkFlags, func(f cli.Flag) bool { return c.IsSet(f.Names()[0]) }) {
		return convertModel(c, at, out, format)
	}
	file, err := openToConvert(c, at, format)
	if err != nil {
		return err
	}
	if holdsModel(c, file, at, format) {
		file.Close() // which is read as a model
		return convertModel(c, at, out, format)
	}
	defer file.Close()
	return convertArrays(c, file, at, out, format)
}

// convertArrays converts an open file, or what is at a path in it, as arrays.
func convertArrays(c *cli.Context, file inspect.File, at address, out, format string) error {
	if err := checkConverted(c, out, format); err != nil {
		return err
	}
	plan, err := convert.New(c.Context, file, at.path, format, convert.Options{
		Materialize: c.String(followName) != "", Decode: c.IsSet(fromName), Verify: c.Bool("verify"), Out: out,
	})
	if err != nil {
		return err
	}
	report := c.App.Writer
	switch {
	case c.Bool("dry-run"):
	case out == "-":
		report = c.App.ErrWriter
		err = plan.WriteTo(c.Context, c.App.Writer)
	default:
		err = plan.Write(c.Context, out)
	}
	if err != nil {
		return err
	}
	err = buffered(report, func(w io.Writer) error {
		if c.Bool("json") {
			return convertJSON(w, plan, at, out)
		}
		err := convertReport(c, w, plan, out)
		if err == nil && file.Format() == "onnx" {
			_, err = fmt.Fprintln(w, "note: OUT has the weights alone; with --framework h5dnn it is a run, which computes the model, and an OUT in .keras a model of Keras")
		}
		return err
	})
	if err != nil {
		return err
	}
	return lossStatus(c, plan.Lost)
}

// checkConverted returns an error if the command may not write out, or not to standard
// output, which has the report of a dry run.
func checkConverted(c *cli.Context, out, format string) error {
	switch {
	case out == "-" && c.Bool("verify"):
		return errors.New("what was written to - cannot be read again; leave out --verify, or name a file")
	case out == "-" && format != "sharded" && c.Bool("dry-run"):
		return nil
	}
	return checkWritten(c, out, format)
}

// openToConvert opens the file to convert. A checkpoint in HDF5 is the arrays that it holds,
// unless it is copied as HDF5 or one of its objects is named.
func openToConvert(c *cli.Context, at address, format string) (inspect.File, error) {
	if c.IsSet(fromName) || at.path != "" || format == "hdf5" {
		return open(c.Context, at.file)
	}
	o := inputOptions(c.Context)
	o.Choose = inspect.ObjectsOrCheckpoint
	return openWith(at.file, o)
}

// outputFormat returns the name of the format to write out in: that of a flag, or of the extension.
func outputFormat(c *cli.Context, out, flag string) (string, error) {
	name := c.String(flag)
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return "", isFolder(out)
	}
	if name == "" {
		format, err := serialize.ByExtension(out)
		if err != nil {
			return "", fmt.Errorf("%s: its extension names no format; add --%s, one of %s", shownName(out), flag, writableFormats())
		}
		name = format.Name
	}
	format, err := writableFormat(name)
	return format.Name, err
}
