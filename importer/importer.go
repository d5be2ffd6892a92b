// Package importer reads idx, NumPy and csv files and folders of images as arrays to be
// stored in HDF5.
//
// Nothing is stored here: each Array passes its rows to its caller block by block.
package importer

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/internal/signature"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
)

// The errors for files that are HDF5 already, and for files at URLs.
var (
	ErrHDF5 = errors.New("is an HDF5 file")
	ErrURL  = errors.New("is at a URL, where files are not imported")
)

// An Attr is an attribute of an array: a string or []string.
type Attr struct {
	Name  string
	Value any
}

// An Array is an array to be written.
type Array struct {
	From  string // the file or folder it comes from
	Path  string // in the file to be written
	Type  dtype.Type
	Shape []int
	// Each calls put with the rows in order, block by block.
	Each  func(ctx context.Context, put func(rows storage.Array) error) error
	Texts []string // the elements, instead of rows, if they are strings
	Attrs []Attr
	// FileAttrs is the metadata of the whole file, which belongs to the group at
	// FilePath. It comes with the first array of a file.
	FileAttrs []Attr
	FilePath  string
	Note      string // for a report
}

// Bytes returns the size of the elements.
func (in *Array) Bytes() int {
	n := in.Type.Size()
	for _, size := range in.Shape {
		n *= size
	}
	return n
}

// DefaultPath returns the path of an input: /train/images and the like for MNIST's
// files, else the file's name; "/" for a single input of several arrays.
func DefaultPath(name string, inputs int) string {
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

// Open finds the format and the arrays of the named file or folder; at is the path of the
// array, or of the group of its arrays. The caller calls closing when they have
// been read.
func Open(ctx context.Context, name, at string, options Options) (all []*Array, closing func(), err error) {
	none := func() {}
	if storage.IsURL(name) {
		return nil, none, fmt.Errorf("%s %w", name, ErrURL)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, none, err
	}
	if info.IsDir() {
		all, err = openImages(name, at, options.Budget)
		return all, none, err
	}
	format, err := serialize.FormatOf(name)
	plain := strings.ToLower(strings.TrimSuffix(name, ".gz"))
	switch {
	case err != nil && !errors.Is(err, serialize.ErrFormat):
		return nil, none, err
	case err == nil && serialize.Fits(name, "hdf5"):
		return nil, none, fmt.Errorf("%s %w", name, ErrHDF5)
	case format.Name != "" && format.Name != "csv":
		return openArrays(ctx, name, at, format.Single, options)
	case strings.HasSuffix(plain, ".csv") || strings.HasSuffix(plain, ".tsv"):
		all, err = openCSV(ctx, name, at, options)
		return all, none, err
	}
	all, err = openIDX(name, at, options.Budget)
	if errors.Is(err, errUnknown) {
		err = fmt.Errorf("%s: %w%s", name, errUnknown, foreign(name))
	}
	return all, none, err
}

// foreign returns the end of an error that names the format of a file by its signature.
func foreign(name string) string {
	file, err := storage.OpenFile(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	text := signature.Text(file, int64(fileSize(name)))
	if text == "" {
		return ""
	}
	return "; " + text
}

// openArrays returns the arrays of an npy or npz file.
func openArrays(ctx context.Context, name, at string, single bool, options Options) ([]*Array, func(), error) {
	file, err := serialize.Open(name, serialize.Options{Budget: options.Budget, Context: ctx})
	if err != nil {
		return nil, func() {}, err
	}
	entries, err := serialize.Collect(file)
	if err != nil {
		file.Close()
		return nil, func() {}, fmt.Errorf("%s: %w", name, err)
	}
	var all []*Array
	for _, e := range entries {
		a := e.Array
		in := &Array{From: name, Path: at, Type: a.Type, Shape: a.Shape, Each: func(ctx context.Context, put func(storage.Array) error) error {
			return put(blocks.WithContext(ctx, a))
		}}
		if !single {
			in.Path = strings.TrimSuffix(at, "/") + "/" + strings.Trim(e.Name, "/")
		}
		for _, key := range slices.Sorted(maps.Keys(e.Attrs)) {
			in.Attrs = append(in.Attrs, Attr{key, e.Attrs[key]})
		}
		all = append(all, in)
	}
	if meta := file.Meta(); len(all) > 0 {
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			all[0].FileAttrs = append(all[0].FileAttrs, Attr{key, meta[key]})
		}
		all[0].FilePath = at
		if single {
			all[0].FilePath = path.Dir(at)
		}
	}
	return all, func() { file.Close() }, nil
}

// A gunzipped is a file, decompressed if it is a gzip file.
type gunzipped struct {
	io.Reader
	file *os.File
}

func (u gunzipped) Close() error { return u.file.Close() }

func openGunzipped(name string) (io.ReadCloser, error) {
	file, err := storage.OpenFile(name)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(file, 1<<20)
	if head, _ := buffered.Peek(2); string(head) != "\x1f\x8b" {
		return gunzipped{buffered, file}, nil
	}
	reader, err := gzip.NewReader(buffered)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return gunzipped{reader, file}, nil
}
