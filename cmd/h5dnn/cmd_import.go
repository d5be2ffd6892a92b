package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/importer"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "convert idx, npy, npz and csv files and folders of images to HDF5",
		ArgsUsage: "IN... OUT.h5",
		Description: "  idx (also .gz)   one array, as in MNIST: train-images-idx3-ubyte.gz becomes /train/images\n" +
			"  npy, npz         their arrays\n" +
			"  csv, tsv (.gz)   x: the numeric columns; y: the label column; classes: the label names\n" +
			"  a folder         images, labels and classes: PNG and JPEG files of one size, in one\n" +
			"                   subfolder per class, sorted by name\n\n" +
			"Data is chunked and compressed with deflate; --layout train stores it contiguous.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "path", Usage: "`PATH` in OUT, once for each IN: of its array, or of the group of its arrays"},
			&cli.StringFlag{Name: "label", Usage: "label `COLUMN` of a csv file, by name or number from 0"},
			&cli.StringSliceFlag{Name: "skip", Usage: "`COLUMN` of a csv file to leave out"},
			&cli.StringFlag{Name: "layout", Usage: "contiguous, chunked or train"},
			&cli.StringFlag{Name: "chunks", Usage: "chunk `SHAPE`: 256,28,28, rows=256 or auto"},
			&cli.StringSliceFlag{Name: "filter", Usage: "chunk `FILTERS`: deflate:4, shuffle, fletcher32, lz4, zstd:3, none"},
			forceFlag(),
			reportFlag(),
		},
		Action: importFiles,
	}
}

func importFiles(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) < 2 {
		return fmt.Errorf("%s is missing; see h5dnn import --help", []string{"IN", "OUT"}[len(args)])
	}
	inputs, out := args[:len(args)-1], args[len(args)-1]
	wanted, err := parseLayout(c)
	if err != nil {
		return err
	}
	if ext := filepath.Ext(out); !slices.Contains([]string{".h5", ".hdf5", ".he5"}, strings.ToLower(ext)) {
		return fmt.Errorf("%s: the last argument is the output file and must end in .h5", out)
	}
	paths := c.StringSlice("path")
	if len(paths) > 0 && len(paths) != len(inputs) {
		return fmt.Errorf("--path is given %d times for %d files; give it once for each", len(paths), len(inputs))
	}
	var all []*importer.Array
	for k, name := range inputs {
		at := importer.DefaultPath(name, len(inputs))
		if len(paths) > 0 {
			at = inspect.Clean(paths[k])
		}
		arrays, closing, err := importer.Open(c.Context, name, at, importer.Options{Label: c.String("label"), Skip: c.StringSlice("skip"), Budget: budgetOf(c.Context)})
		if err != nil {
			return withFlags(err)
		}
		defer closing()
		addInput(c.Context, name, nil)
		all = append(all, arrays...)
	}
	if err := distinct(all); err != nil {
		return err
	}
	if err := checkOutput(c, out); err != nil {
		return err
	}
	if err := writeImported(c, all, out, wanted); err != nil {
		return err
	}
	return buffered(c.App.Writer, func(w io.Writer) error {
		if c.Bool("json") {
			return showImportedJSON(w, all, out)
		}
		return showImported(c, w, all, out, wanted)
	})
}

// withFlags adds the command or the flags that help to errors of package importer.
func withFlags(err error) error {
	var text *importer.TextError
	switch {
	case errors.Is(err, importer.ErrHDF5):
		return fmt.Errorf("%w; use h5dnn repack to change how it is stored", err)
	case errors.Is(err, importer.ErrURL):
		return fmt.Errorf("%w; download it, or use h5dnn convert, which reads npy, npz and csv there", err)
	case errors.As(err, &text):
		return fmt.Errorf("%w; name the label column with --label, and leave other columns out with --skip", err)
	case errors.Is(err, fs.ErrNotExist):
		var failed *fs.PathError
		if errors.As(err, &failed) {
			return fmt.Errorf("%s: no such file%s", failed.Path, neighbourHint(failed.Path))
		}
	}
	return err
}

// distinct refuses two arrays with one path.
func distinct(all []*importer.Array) error {
	from := map[string]string{}
	for _, in := range all {
		if other, taken := from[in.Path]; taken {
			return fmt.Errorf("%s and %s would both become %s; name them with --path, once for each file", other, in.From, in.Path)
		}
		from[in.Path] = in.From
	}
	return nil
}

func writeImported(c *cli.Context, all []*importer.Array, out string, wanted *wantedLayout) error {
	w, err := hdf5write.Create(out, hdf5write.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	total := 0
	for _, in := range all {
		total += in.Bytes()
	}
	bar := newMeter(c.App.ErrWriter, "import", total)
	defer bar.end()
	for _, in := range all {
		if err := writeArray(c.Context, in, w, wanted, bar); err != nil {
			if strings.HasPrefix(err.Error(), in.From) || errors.Is(err, context.Canceled) {
				return err
			}
			return fmt.Errorf("%s: %w", in.From, err)
		}
	}
	return w.Close()
}

func writeArray(ctx context.Context, in *importer.Array, w *hdf5write.Writer, wanted *wantedLayout, bar meter) error {
	if in.Texts != nil {
		return w.WriteStrings(in.Path, in.Texts, len(in.Texts))
	}
	layout, err := wanted.layoutFor(in.Shape)
	if err != nil {
		return err
	}
	d, err := w.CreateDataset(in.Path, in.Type, in.Shape, layout)
	if err != nil {
		return err
	}
	err = in.Each(ctx, func(rows storage.Array) error {
		bar.add(rows.NBytes())
		if err := ctx.Err(); err != nil {
			return err
		}
		if rows.Rank() == 0 {
			return d.WriteAt(nil, rows)
		}
		return d.Append(rows)
	})
	if err != nil {
		return err
	}
	for _, a := range in.Attrs {
		if err := w.SetAttr(in.Path, a.Name, a.Value); err != nil {
			return err
		}
	}
	for _, a := range in.FileAttrs {
		if err := w.SetAttr(in.FilePath, a.Name, a.Value); err != nil {
			return err
		}
	}
	return d.Close()
}

func showImported(c *cli.Context, w io.Writer, all []*importer.Array, out string, wanted *wantedLayout) error {
	for _, in := range all {
		line := fmt.Sprintf("%s  %v %s  from %s", in.Path, in.Type, arrayfmt.Shape(in.Shape), in.From)
		if in.Texts != nil {
			line = fmt.Sprintf("%s  string (%d,)  from %s", in.Path, len(in.Texts), in.From)
		}
		if in.Note != "" {
			line += "; " + in.Note
		}
		fmt.Fprintln(w, printable(line))
	}
	for _, note := range pluginLines(wanted.filters) {
		fmt.Fprintf(w, "note: %s: %s\n", printable(out), note)
	}
	_, err := fmt.Fprintf(w, "%s  %s, %s; %s\n", printable(out), plural(len(all), "dataset"), arrayfmt.Bytes(fileSize(out)), lossSummary(c, nil))
	return err
}

func showImportedJSON(w io.Writer, all []*importer.Array, out string) error {
	items := []fields{}
	for _, in := range all {
		f := fields{{"path", in.Path}, {"dtype", in.Type.String()}, {"shape", orNull(in.Shape)}, {"from", in.From}}
		if in.Texts != nil {
			f[1].Value, f[2].Value = "string", []int{len(in.Texts)}
		}
		items = append(items, f)
	}
	return encodeLine(w, append(fields{{"out", out}, {"datasets", items}}, lossFields(nil)...))
}
