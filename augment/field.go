package augment

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native/images"
)

// imageAxes returns which axes of samples of an image or a mask are channels, rows and columns; -1 if there is no such axis.
func (f Field) imageAxes() (channels, rows, columns int) {
	switch {
	case len(f.Shape) == 2:
		return -1, 0, 1
	case f.Kind == Mask && f.Shape[2] == 1, f.Kind == Image && f.ChannelsLast:
		return 2, 0, 1
	}
	return 0, 1, 2
}

func (f Field) channels() int {
	if c, _, _ := f.imageAxes(); c >= 0 {
		return f.Shape[c]
	}
	return 1
}

func (f Field) height() int {
	_, h, _ := f.imageAxes()
	return f.Shape[h]
}

func (f Field) width() int {
	_, _, w := f.imageAxes()
	return f.Shape[w]
}

// resized returns the field with images of another size.
func (f Field) resized(h, w int) Field {
	_, rows, columns := f.imageAxes()
	f.Shape = slices.Clone(f.Shape)
	f.Shape[rows], f.Shape[columns] = h, w
	return f
}

// image returns the layout of an image or a mask.
func (f Field) image() *images.Image {
	g := &images.Image{C: int64(f.channels()), H: int64(f.height()), W: int64(f.width())}
	if c, _, _ := f.imageAxes(); c == 2 {
		g.Channel, g.Pixel = 1, g.C
	} else {
		g.Channel, g.Pixel = g.H*g.W, 1
	}
	g.Row = g.W * g.Pixel
	return g
}

// pixelType returns the type of the pixels of an image.
func (f Field) pixelType() images.PixelType {
	if f.Type == dtype.Uint8 {
		return images.Bytes
	}
	return images.Floats
}

// inFloats returns the field as augmentations have it: images of bytes and of float32, signals of float32 and float64;
// other numbers become float32.
func (f Field) inFloats() Field {
	switch {
	case f.Kind != Image && f.Kind != Signal, f.Kind == Image && f.Type == dtype.Uint8, f.Kind == Signal && f.Type == dtype.Float64, !isReal(f.Type):
		return f
	}
	f.Type = dtype.Float32
	return f
}

// isReal reports whether t is a type of numbers without an imaginary part.
func isReal(t dtype.Type) bool { return t.IsInt() || t.IsFloat() }

// check returns an error if a field cannot have its kind.
func (f Field) check() error {
	last := 0
	if n := len(f.Shape); n > 0 {
		last = f.Shape[n-1]
	}
	wrong := func(want string) error {
		return fmt.Errorf("%v as %s; want %s: %w", f.Field, f.Kind, want, config.ErrInvalid)
	}
	switch f.Kind {
	case Image:
		if len(f.Shape) != 2 && len(f.Shape) != 3 || f.Type != dtype.Uint8 && f.Type != dtype.Float32 {
			return wrong("(C, H, W), (H, W, C) or (H, W) of numbers")
		}
	case Mask:
		if len(f.Shape) != 2 && (len(f.Shape) != 3 || f.Shape[0] != 1 && f.Shape[2] != 1) || f.Type.Size() > 8 {
			return wrong("(H, W), (1, H, W) or (H, W, 1)")
		}
	case Boxes:
		if last != 4 || f.Type != dtype.Float32 {
			return wrong("(…, 4) of float32")
		}
	case Points:
		if last != 2 || f.Type != dtype.Float32 {
			return wrong("(…, 2) of float32")
		}
	case Signal:
		if len(f.Shape) != 1 && len(f.Shape) != 2 || f.Type != dtype.Float32 && f.Type != dtype.Float64 {
			return wrong("(T) or (C, T) of numbers")
		}
	}
	return nil
}

// frameOf returns the first image or mask among fields; its Shape is nil without one.
func frameOf(fields []Field) Field {
	for _, f := range fields {
		if f.Kind == Image || f.Kind == Mask {
			return f
		}
	}
	return Field{}
}

// only is embedded by augmentations that change fields of one kind, and neither types nor shapes.
type only Kind

// Changes reports whether k is the kind.
func (o only) Changes(k Kind) bool { return k == Kind(o) }

// Output returns the fields.
func (o only) Output(fields []Field) ([]Field, error) { return fields, nil }

// each calls change for the data of each field of a kind, after to was made a copy of from.
func each(k Kind, to, from Sample, change func(f Field, data []byte)) error {
	for i, f := range from.Fields {
		if f.Kind == k {
			copy(to.Data[i], from.Data[i])
			change(f, to.Data[i])
		}
	}
	return nil
}
