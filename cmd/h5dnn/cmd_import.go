package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
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
			&cli.BoolFlag{Name: "json", Usage: "print the report as one JSON object"},
		},
		Action: importFiles,
	}
}

// An incoming is an array to be written.
type incoming struct {
	from  string // the file or folder it comes from
	path  string
	t     dtype.Type
	shape []int
	// each calls put with the rows in order, block by block.
	each  func(ctx context.Context, put func(rows storage.Array) error) error
	texts []string // instead of rows
	attrs []hdf5write.Attr
	note  string
}

func (in *incoming) bytes() int {
	n := in.t.Size()
	for _, size := range in.shape {
		n *= size
	}
	return n
}

func importFiles(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) < 2 {
		return fmt.Errorf("%s is missing; see h5dnn import --help", []string{"IN", "OUT"}[len(args)])
	}
	inputs, out := args[:len(args)-1], args[len(args)-1]
	wish, err := parseWish(c)
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
	var all []*incoming
	for k, name := range inputs {
		at := defaultPath(name, len(inputs))
		if len(paths) > 0 {
			at = clean(paths[k])
		}
		arrays, closing, err := lookAt(name, at, csvWish{c.String("label"), c.StringSlice("skip")})
		if err != nil {
			return err
		}
		defer closing()
		all = append(all, arrays...)
	}
	if err := distinct(all); err != nil {
		return err
	}
	if err := writeImported(c, all, out, wish); err != nil {
		return err
	}
	return buffered(c.App.Writer, func(w io.Writer) error {
		if c.Bool("json") {
			return showImportedJSON(w, all, out)
		}
		return showImported(w, all, out)
	})
}

// distinct refuses two arrays with one path.
func distinct(all []*incoming) error {
	from := map[string]string{}
	for _, in := range all {
		if other, taken := from[in.path]; taken {
			return fmt.Errorf("%s and %s would both become %s; name them with --path, once for each file", other, in.from, in.path)
		}
		from[in.path] = in.from
	}
	return nil
}

// defaultPath returns the path of an input: /train/images and the like for MNIST's
// files, else the file's name; "/" for a single input of several arrays.
func defaultPath(name string, inputs int) string {
	base := filepath.Base(filepath.Clean(name))
	base = strings.TrimSuffix(base, ".gz")
	if kind, ok := strings.CutPrefix(base, "train-"); ok && strings.Contains(kind, "-idx") {
		return "/train/" + kind[:strings.Index(kind, "-idx")]
	}
	if kind, ok := strings.CutPrefix(base, "t10k-"); ok && strings.Contains(kind, "-idx") {
		return "/test/" + kind[:strings.Index(kind, "-idx")]
	}
	info, err := os.Stat(name)
	ext := filepath.Ext(base)
	if inputs == 1 && (err == nil && info.IsDir() || slices.Contains([]string{".csv", ".tsv", ".npz"}, strings.ToLower(ext))) {
		return "/"
	}
	return "/" + strings.TrimSuffix(base, ext)
}

// lookAt finds the format and the arrays of an input. The caller calls closing when
// they have been read.
func lookAt(name, at string, wish csvWish) (all []*incoming, closing func(), err error) {
	none := func() {}
	info, err := os.Stat(name)
	if os.IsNotExist(err) {
		return nil, none, fmt.Errorf("%s: no such file%s", name, spell.Hint(name, neighbours(name)))
	}
	if err != nil {
		return nil, none, err
	}
	if info.IsDir() {
		all, err = lookAtImages(name, at)
		return all, none, err
	}
	format, err := serialize.FormatOf(name)
	plain := strings.ToLower(strings.TrimSuffix(name, ".gz"))
	switch {
	case err != nil && !errors.Is(err, serialize.ErrFormat):
		return nil, none, err
	case format.Name == "hdf5":
		return nil, none, fmt.Errorf("%s is an HDF5 file; use h5dnn repack to change how it is stored", name)
	case format.Name != "":
		return lookAtArrays(name, at)
	case strings.HasSuffix(plain, ".csv") || strings.HasSuffix(plain, ".tsv"):
		all, err = lookAtCSV(name, at, wish)
		return all, none, err
	}
	all, err = lookAtIDX(name, at)
	return all, none, err
}

// lookAtArrays returns the arrays of an npy or npz file.
func lookAtArrays(name, at string) ([]*incoming, func(), error) {
	file, err := open(name)
	if err != nil {
		return nil, func() {}, err
	}
	var all []*incoming
	held := file.(*arrays)
	for _, e := range held.entries {
		a := e.Array
		in := &incoming{from: name, path: at, t: a.Type, shape: a.Shape, each: func(ctx context.Context, put func(storage.Array) error) error {
			return put(blocks.WithContext(ctx, a))
		}}
		if held.format == "npz" {
			in.path = strings.TrimSuffix(at, "/") + clean(e.Name)
		}
		all = append(all, in)
	}
	return all, func() { file.Close() }, nil
}

// An unpacked is a file, decompressed if it is a gzip file.
type unpacked struct {
	io.Reader
	file *os.File
}

func (u unpacked) Close() error { return u.file.Close() }

func openUnpacked(name string) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(file, 1<<20)
	if head, _ := buffered.Peek(2); string(head) != "\x1f\x8b" {
		return unpacked{buffered, file}, nil
	}
	reader, err := gzip.NewReader(buffered)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return unpacked{reader, file}, nil
}

func writeImported(c *cli.Context, all []*incoming, out string, wish *wish) error {
	w, err := hdf5write.Create(out, hdf5write.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	total := 0
	for _, in := range all {
		total += in.bytes()
	}
	bar := newMeter(c.App.ErrWriter, "import", total)
	defer bar.end()
	for _, in := range all {
		if err := in.write(c.Context, w, wish, bar); err != nil {
			if strings.HasPrefix(err.Error(), in.from) || errors.Is(err, context.Canceled) {
				return err
			}
			return fmt.Errorf("%s: %w", in.from, err)
		}
	}
	return w.Close()
}

func (in *incoming) write(ctx context.Context, w *hdf5write.Writer, wish *wish, bar meter) error {
	if in.texts != nil {
		return w.WriteStrings(in.path, in.texts, len(in.texts))
	}
	layout, err := wish.layoutFor(in.shape)
	if err != nil {
		return err
	}
	d, err := w.CreateDataset(in.path, in.t, in.shape, layout)
	if err != nil {
		return err
	}
	err = in.each(ctx, func(rows storage.Array) error {
		bar.add(rows.Len() * rows.Type.Size())
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
	for _, a := range in.attrs {
		if err := w.SetAttr(in.path, a.Name, a.Value); err != nil {
			return err
		}
	}
	return d.Close()
}

// layoutFor returns the layout of an imported array.
func (w *wish) layoutFor(shape []int) (hdf5write.Layout, error) {
	if w.layout == "train" || w.layout == "contiguous" || len(shape) == 0 || slices.Contains(shape, 0) {
		return hdf5write.Layout{}, nil
	}
	l := hdf5write.Layout{Filters: w.filters}
	if !w.refilter {
		l.Filters = []filter.Filter{filter.Shuffle(), filter.Deflate(deflateLevel)}
	}
	switch {
	case len(w.chunks) == len(shape):
		l.Chunks = slices.Clone(w.chunks)
	case w.chunks != nil && len(shape) > 1:
		return l, fmt.Errorf("--chunks has %d axes, and the shape %v has %d; use rows=N", len(w.chunks), shape, len(shape))
	case w.rows > 0:
		l.Chunks = append([]int{w.rows}, shape[1:]...)
	case len(l.Filters) == 0:
		l.Filters = []filter.Filter{} // chunks all the same
	}
	return l, nil
}

func showImported(w io.Writer, all []*incoming, out string) error {
	for _, in := range all {
		line := fmt.Sprintf("%s  %v %s  from %s", in.path, in.t, tuple(in.shape), in.from)
		if in.texts != nil {
			line = fmt.Sprintf("%s  string (%d,)  from %s", in.path, len(in.texts), in.from)
		}
		if in.note != "" {
			line += "; " + in.note
		}
		fmt.Fprintln(w, printable(line))
	}
	_, err := fmt.Fprintf(w, "%s  %s, %s\n", printable(out), plural(len(all), "dataset"), byteCount(fileSize(out)))
	return err
}

func showImportedJSON(w io.Writer, all []*incoming, out string) error {
	items := []fields{}
	for _, in := range all {
		f := fields{{"path", in.path}, {"dtype", in.t.String()}, {"shape", orNull(in.shape)}, {"from", in.from}}
		if in.texts != nil {
			f[1].Value, f[2].Value = "string", []int{len(in.texts)}
		}
		items = append(items, f)
	}
	if err := encode(w, fields{{"out", out}, {"datasets", items}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
