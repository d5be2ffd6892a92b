package importer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/internal/pictures"
	"github.com/h5dnn/h5dnn/storage"
)

// An imageFile is an image file and its class number.
type imageFile struct {
	name  string
	class int
}

// openImages lists the images of a folder, or those of its subfolders, one for each
// class. Both are sorted by name.
func openImages(folder, at string, budget *storage.Budget) ([]*Array, error) {
	entries, err := os.ReadDir(folder) // in the order of names
	if err != nil {
		return nil, err
	}
	files := picturesIn(folder, entries, -1)
	var classes []string
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		inside, err := os.ReadDir(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		if found := picturesIn(filepath.Join(folder, e.Name()), inside, len(classes)); len(found) > 0 {
			classes, files = append(classes, e.Name()), append(files, found...)
		}
	}
	switch {
	case len(files) == 0:
		return nil, fmt.Errorf("%s: no .png, .jpg or .jpeg files in the folder or its subfolders", folder)
	case len(classes) > 0 && files[0].class < 0:
		return nil, fmt.Errorf("%s: %s is beside folders of images; move it to the folder of its class", folder, files[0].name)
	case len(classes) > maxClasses:
		return nil, fmt.Errorf("%s: %d folders; at most %d classes are supported", folder, len(classes), maxClasses)
	}
	return imported(folder, strings.TrimSuffix(at, "/"), files, classes, budget)
}

func picturesIn(folder string, entries []os.DirEntry, class int) (list []imageFile) {
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		if !e.IsDir() && slices.Contains([]string{".png", ".jpg", ".jpeg"}, ext) && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, imageFile{filepath.Join(folder, e.Name()), class})
		}
	}
	return list
}

// imported checks the size of every image and returns the arrays of the images.
func imported(folder, at string, files []imageFile, classes []string, budget *storage.Budget) ([]*Array, error) {
	var first pictures.Format
	colours, transparent := false, false
	for k, p := range files {
		c, err := formatOf(p.name, budget)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			first = c
		}
		if c.Width != first.Width || c.Height != first.Height {
			return nil, fmt.Errorf("%s is %dx%d, and %s %dx%d; make all images of one size first", p.name, c.Width, c.Height, files[0].name, first.Width, first.Height)
		}
		if c.Deep != first.Deep {
			return nil, fmt.Errorf("%s has numbers of %d bits, and %s of %d; make all images of one depth first", p.name, 8*c.Size(), files[0].name, 8*first.Size())
		}
		colours, transparent = colours || !c.Gray, transparent || c.Transparent
	}
	in := &Array{From: folder, Path: at + "/images", Type: imageType(first), Shape: []int{len(files), first.Height, first.Width}}
	if colours {
		in.Shape = append(in.Shape, 3)
		in.Note = "red, green, blue"
		if transparent {
			in.Note += " without transparency"
		}
		in.Attrs = []Attr{{Name: "layout", Value: "nhwc"}}
	}
	in.Each = func(ctx context.Context, put func(storage.Array) error) error {
		return in.decode(ctx, files, put, budget)
	}
	if len(classes) == 0 {
		return []*Array{in}, nil
	}
	labels := &Array{From: folder, Path: at + "/labels", Type: classType(len(classes)), Shape: []int{len(files)}}
	labels.Attrs = []Attr{{Name: "classes", Value: classes}}
	labels.Each = func(_ context.Context, put func(storage.Array) error) error {
		numbers := make([]int32, len(files))
		for k, p := range files {
			numbers[k] = int32(p.class)
		}
		made, err := storage.Make(storage.CPU, labels.Type, len(numbers))
		if err != nil {
			return err
		}
		b, _ := made.Bytes()
		return errors.Join(dtype.Convert(b, labels.Type, dtype.Bytes(numbers), dtype.Int32), put(made))
	}
	return []*Array{in, labels, {From: folder, Path: at + "/classes", Texts: classes}}, nil
}

// imageType returns the type of the pixels of images.
func imageType(f pictures.Format) dtype.Type {
	if f.Deep {
		return dtype.Uint16
	}
	return dtype.Uint8
}

// formatOf returns the size of an image, which the budget must allow to decode.
func formatOf(name string, budget *storage.Budget) (pictures.Format, error) {
	file, err := storage.OpenFile(name)
	if err != nil {
		return pictures.Format{}, err
	}
	defer file.Close()
	f, err := pictures.FormatOf(bufio.NewReader(file))
	if err == nil {
		err = budget.Allocate(min(f.Width, math.MaxInt/pictures.BytesPerPixel/f.Height)*f.Height*pictures.BytesPerPixel, fileSize(name))
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// decode decodes images side by side, some MiB of them at a time.
func (in *Array) decode(ctx context.Context, files []imageFile, put func(storage.Array) error, budget *storage.Budget) error {
	size := in.Bytes() / len(files)
	atOnce := max(1, min(runtime.GOMAXPROCS(0), budget.Limit()/(in.Shape[1]*in.Shape[2]*pictures.BytesPerPixel)))
	block := max(1, min(len(files), blocks.Size/size))
	for at := 0; at < len(files); at += block {
		some := files[at:min(at+block, len(files))]
		rows, err := storage.Make(storage.CPU, in.Type, append([]int{len(some)}, in.Shape[1:]...)...)
		if err != nil {
			return err
		}
		pixels, _ := rows.Bytes()
		err = parallel.Do(len(some), min(len(some), atOnce), func(k int) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return in.decode1(some[k].name, pixels[k*size:(k+1)*size])
		})
		if err != nil {
			return err
		}
		if err := put(rows); err != nil {
			return err
		}
	}
	return nil
}

// decode1 writes the pixels of one image, without its transparency.
func (in *Array) decode1(name string, to []byte) error {
	file, err := storage.OpenFile(name)
	if err != nil {
		return err
	}
	defer file.Close()
	channels := 3
	if len(in.Shape) == 3 {
		channels = 1
	}
	format := pictures.Format{Height: in.Shape[1], Width: in.Shape[2], Deep: in.Type == dtype.Uint16}
	if err := pictures.Decode(to, bufio.NewReader(file), format, channels); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
