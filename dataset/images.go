package dataset

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pictures"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// ByteRows returns the rows of an array of bytes as Ragged. They are padded already, as encoded images in an array are.
func ByteRows(name string, a storage.Array) (Ragged, error) {
	if a.Rank() != 2 || a.Type != dtype.Uint8 {
		return Ragged{}, fmt.Errorf("dataset: %s: rows of %v%v; want rows of bytes: %w", name, a.Type, a.Shape, views.ErrShape)
	}
	r := Ragged{Name: name, Rows: a.Shape[0], Type: a.Type, MaxLength: a.Shape[1], ChunkRows: 1}
	if source, ok := a.Data.(storage.Chunked); ok {
		r.ChunkRows, _ = rowGroups(a.View, source)
	}
	r.Read = func(dst []byte, first, n, length int) error {
		if length != a.Shape[1] {
			return fmt.Errorf("rows of %d bytes read as %d: %w", a.Shape[1], length, views.ErrShape)
		}
		return fetch(dst, a, first, n)
	}
	return r, nil
}

// Images returns the images that rows of bytes hold as PNG or JPEG files, as one array of shape rows × height ×
// width, or rows × height × width × 3 for colors: red, green, blue. All have the size of the first one. They are
// decoded when they are read, each alone, to bytes, or to uint16 where PNG has 16 bits.
func (r Ragged) Images(channels int) (storage.Array, error) {
	if r.Type != dtype.Uint8 || len(r.ElementShape) > 0 || r.Rows == 0 || channels != 1 && channels != 3 {
		return storage.Array{}, fmt.Errorf("dataset: %s: %d rows of %v%v are no encoded images of %d channels; want rows of bytes, and 1 or 3 channels: %w", r.Name, r.Rows, r.Type, r.ElementShape, channels, dtype.ErrType)
	}
	first := make([]byte, r.MaxLength)
	if err := r.Read(first, 0, 1, r.MaxLength); err != nil {
		return storage.Array{}, fmt.Errorf("dataset: %s: %w", r.Name, err)
	}
	format, err := pictures.FormatOf(bytes.NewReader(first))
	if err != nil {
		return storage.Array{}, fmt.Errorf("dataset: %s: row 0: %w; want PNG or JPEG", r.Name, err)
	}
	shape := []int{r.Rows, format.Height, format.Width}
	if channels == 3 {
		shape = append(shape, 3)
	}
	v, err := views.New(shape, math.MaxInt/pictures.BytesPerPixel)
	if err != nil {
		return storage.Array{}, fmt.Errorf("dataset: %s: %w", r.Name, err)
	}
	t := dtype.Uint8
	if format.Deep {
		t = dtype.Uint16
	}
	return storage.Array{Data: &images{r, shape, channels, format, t, views.Of(shape[1:]...).Len()}, Type: t, View: v}, nil
}

// images is a Source that decodes images.
type images struct {
	Ragged
	shape    []int
	channels int
	format   pictures.Format
	pixels   dtype.Type
	size     int // elements of one image
}

func (p *images) Len() int               { return p.Rows * p.bytes() }
func (p *images) bytes() int             { return p.size * p.pixels.Size() } // of one image
func (p *images) Device() storage.Device { return storage.File(p.Name) }
func (p *images) Shape() []int           { return p.shape }

// ChunkShape is the shape of as many images as are stored together; nil for single ones.
func (p *images) ChunkShape() []int {
	if p.ChunkRows <= 1 {
		return nil
	}
	return append([]int{p.ChunkRows}, p.shape[1:]...)
}

// ReadView decodes the images that v selects from, and no others.
func (p *images) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != p.pixels || !v.Within(p.Rows*p.size) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v of images of %v: %w", p.Name, t, v.Shape, p.shape[1:], views.ErrShape)
	}
	if v.Len() == 0 {
		return nil
	}
	for k := range v.Rank() + 1 {
		one := views.View{Shape: v.Shape[k:], Stride: v.Stride[k:]}
		if one.Len() == p.size && one.Contiguous() && v.Offset%p.size == 0 && p.wholeRows(v.Stride[:k]) {
			outer := views.View{Offset: v.Offset, Shape: v.Shape[:k], Stride: v.Stride[:k]}
			rows := make([]int, 0, outer.Len())
			for at := range outer.Positions() {
				rows = append(rows, at/p.size)
			}
			return p.decode(dst, rows)
		}
	}
	lo, hi := v.Bounds()
	rows := make([]int, hi/p.size+1-lo/p.size)
	for k := range rows {
		rows[k] = lo/p.size + k
	}
	whole := make([]byte, len(rows)*p.bytes())
	if err := p.decode(whole, rows); err != nil {
		return err
	}
	v.Offset -= rows[0] * p.size
	storage.Gather(dst, whole, t, v)
	return nil
}

// wholeRows reports whether strides are numbers of whole images.
func (p *images) wholeRows(strides []int) bool {
	return !slices.ContainsFunc(strides, func(s int) bool { return s%p.size != 0 })
}

// decode writes some images to dst. Neighbours are read together, and equal ones decoded once.
func (p *images) decode(dst []byte, rows []int) error {
	done := make(map[int]int, len(rows)) // by row: its first place in dst
	most, size := max(1, spanBuffer/max(1, p.MaxLength)), p.bytes()
	for k := 0; k < len(rows); {
		if at, ok := done[rows[k]]; ok {
			copy(dst[k*size:(k+1)*size], dst[at*size:])
			k++
			continue
		}
		n := 1
		for n < most && k+n < len(rows) && rows[k+n] == rows[k]+n {
			n++
		}
		files := make([]byte, n*p.MaxLength)
		if err := p.Read(files, rows[k], n, p.MaxLength); err != nil {
			return fmt.Errorf("%s: rows %d to %d: %w", p.Name, rows[k], rows[k]+n-1, err)
		}
		for i := range n {
			file := bytes.NewReader(files[i*p.MaxLength : (i+1)*p.MaxLength])
			if err := p.decode1(dst[(k+i)*size:(k+i+1)*size], file); err != nil {
				return fmt.Errorf("%s: row %d: %w", p.Name, rows[k+i], err)
			}
			done[rows[k+i]] = k + i
		}
		k += n
	}
	return nil
}

// decode1 decodes one image, whose size is known before memory is allocated for it.
func (p *images) decode1(dst []byte, file *bytes.Reader) error {
	f, err := pictures.FormatOf(file)
	switch {
	case err != nil:
		return err
	case f.Height != p.shape[1] || f.Width != p.shape[2]:
		return fmt.Errorf("an image of %dx%d pixels; the first one has %dx%d: %w", f.Width, f.Height, p.shape[2], p.shape[1], views.ErrShape)
	case f.Deep != p.format.Deep:
		return fmt.Errorf("an image with numbers of %d bits; the first one has %d: %w", 8*f.Size(), 8*p.format.Size(), dtype.ErrType)
	}
	file.Seek(0, io.SeekStart)
	return pictures.Decode(dst, file, f, p.channels)
}
