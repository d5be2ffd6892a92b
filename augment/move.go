package augment

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native/images"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// A matrix is a map of the plane: (x, y) to (m[0]x + m[1]y + m[2], m[3]x + m[4]y + m[5]).
type matrix [6]float64

var identity = matrix{1, 0, 0, 0, 1, 0}

// then returns the map that applies m and then n.
func (m matrix) then(n matrix) matrix {
	return matrix{
		n[0]*m[0] + n[1]*m[3], n[0]*m[1] + n[1]*m[4], n[0]*m[2] + n[1]*m[5] + n[2],
		n[3]*m[0] + n[4]*m[3], n[3]*m[1] + n[4]*m[4], n[3]*m[2] + n[4]*m[5] + n[5],
	}
}

func (m matrix) inverse() matrix {
	d := m[0]*m[4] - m[1]*m[3]
	a, b, c, e := m[4]/d, -m[1]/d, -m[3]/d, m[0]/d
	return matrix{a, b, -a*m[2] - b*m[5], c, e, -c*m[2] - e*m[5]}
}

func (m matrix) apply(x, y float64) (float64, float64) {
	return m[0]*x + m[1]*y + m[2], m[3]*x + m[4]*y + m[5]
}

// A move says where the pixels of a moved image come from.
type move struct {
	forward matrix // from positions in the image to positions in the result; the left and upper edge are 0
	samples int    // for each pixel of the result, along both axes
	nearest bool
	borders
}

// A Border names the pixels outside of an image: constant, edge or reflect.
type Border string

// borders are the pixels outside of images.
type borders struct {
	border Border
	fill   float64
}

var borderNames = map[Border]int64{"": images.BorderConstant, "constant": images.BorderConstant, "edge": images.BorderEdge, "reflect": images.BorderReflect}

// check fails for the settings of an unknown border.
func (b borders) check(name string) {
	if _, ok := borderNames[b.border]; !ok {
		tensor.Fail(name, nn.ErrConfig, "border: %v", config.Unknown("border", string(b.border), []string{"constant", "edge", "reflect"}))
	}
}

// warp returns m as the loops take it. Positions of pixels are of their centers there.
func (m move) warp() images.Warp {
	center := matrix{1, 0, 0.5, 0, 1, 0.5}
	back := center.then(m.forward.inverse()).then(center.inverse())
	w := images.Warp{Samples: int64(max(1, m.samples)), Border: borderNames[m.border], Fill: m.fill}
	for i, v := range back {
		w.M[i] = int64(math.Round(min(max(v, -1<<28), 1<<28) * (1 << 32)))
	}
	return w
}

// shift returns the pixel of the image that each axis begins with, and whether it runs backwards, if pixels are moved as
// they are.
func (m move) shift(g *images.Image) (x, y int, mirrored, upsideDown, ok bool) {
	f := m.forward
	if m.samples > 1 || f[1] != 0 || f[3] != 0 || math.Abs(f[0]) != 1 || math.Abs(f[4]) != 1 || f[2] != math.Trunc(f[2]) || f[5] != math.Trunc(f[5]) {
		return 0, 0, false, false, false
	}
	mirrored, upsideDown = f[0] < 0, f[4] < 0
	x, y = -int(f[2]), -int(f[5])
	if mirrored {
		x = int(f[2]) - 1
	}
	if upsideDown {
		y = int(f[5]) - 1
	}
	return x, y, mirrored, upsideDown, true
}

// apply moves the images, masks, boxes and points of a sample.
func (m move) apply(to, from Sample) error {
	if m.forward == identity && frameOf(from.Fields).Equal(frameOf(to.Fields).Field) {
		for i := range from.Data {
			copy(to.Data[i], from.Data[i])
		}
		return nil
	}
	var w images.Warp
	for i, f := range from.Fields {
		switch f.Kind {
		case Image, Mask:
			out := to.Fields[i]
			if m.moveRows(out, to.Data[i], f, from.Data[i]) {
				continue
			}
			if w.Samples == 0 {
				w = m.warp()
			}
			if f.Kind == Mask || m.nearest {
				w.ApplyNearest(m.filling(f), out.image(), to.Data[i], f.image(), from.Data[i])
			} else {
				w.Apply(f.pixelType(), out.image(), to.Data[i], f.image(), from.Data[i])
			}
		case Points:
			movePoints(m.forward, dtype.Cast[float32](to.Data[i]), dtype.Cast[float32](from.Data[i]))
		case Boxes:
			frame := frameOf(to.Fields)
			moveBoxes(m.forward, float64(frame.width()), float64(frame.height()), dtype.Cast[float32](to.Data[i]), dtype.Cast[float32](from.Data[i]))
		}
	}
	return nil
}

// filling returns the bytes of an element outside: 0 in masks.
func (m move) filling(f Field) []byte {
	b := make([]byte, f.Type.Size())
	if f.Kind == Image && f.Type == dtype.Uint8 {
		b[0] = uint8(m.fill)
	} else if f.Kind == Image {
		binary.NativeEndian.PutUint32(b, math.Float32bits(float32(m.fill)))
	}
	return b
}

// moveRows moves an image by whole pixels, row by row, and reports whether it could.
func (m move) moveRows(out Field, dst []byte, f Field, src []byte) bool {
	to, from := out.image(), f.image()
	x, y, mirrored, upsideDown, ok := m.shift(from)
	if !ok || m.border != "" && m.border != "constant" {
		return false
	}
	size, fill := f.Type.Size(), m.filling(f)
	pixel := size * int(from.Pixel) // an image of (H, W, C) is one channel of larger pixels
	channels := int(from.C)
	if from.Pixel > 1 {
		channels, fill = 1, slices.Repeat(fill, int(from.Pixel))
	}
	width, inWidth := int(to.W), int(from.W)
	first, end := max(0, -x), min(width, inWidth-x) // columns of the result that are inside
	if mirrored {
		first, end = max(0, x-inWidth+1), min(width, x+1)
	}
	end = max(first, end)
	for c := range channels {
		for r := range int(to.H) {
			row := dst[(c*int(to.H)+r)*width*pixel:][:width*pixel]
			at := y + r
			if upsideDown {
				at = y - r
			}
			if at < 0 || at >= int(from.H) || first >= width || end <= first {
				fillWith(row, fill)
				continue
			}
			in := src[(c*int(from.H)+at)*inWidth*pixel:][:inWidth*pixel]
			fillWith(row[:first*pixel], fill)
			fillWith(row[end*pixel:], fill)
			if mirrored {
				reversed(row[first*pixel:end*pixel], in[(x-end+1)*pixel:(x-first+1)*pixel], pixel)
			} else {
				copy(row[first*pixel:end*pixel], in[(first+x)*pixel:])
			}
		}
	}
	return true
}

// fillWith sets row to copies of an element.
func fillWith(row, element []byte) {
	for n := copy(row, element); n < len(row); n *= 2 {
		copy(row[n:], row[:n])
	}
}

// reversed sets dst to the pixels of src in reverse order.
func reversed(dst, src []byte, pixel int) {
	n := len(src) / pixel
	i := 0
	if pixel == 1 {
		for ; i+8 <= n; i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], bits.ReverseBytes64(binary.LittleEndian.Uint64(src[n-8-i:])))
		}
	}
	for ; i < n; i++ {
		copy(dst[i*pixel:(i+1)*pixel], src[(n-1-i)*pixel:])
	}
}

func movePoints(m matrix, to, from []float32) {
	for i := 0; i+1 < len(from); i += 2 {
		x, y := m.apply(float64(from[i]), float64(from[i+1]))
		to[i], to[i+1] = float32(x), float32(y)
	}
}

// moveBoxes sets boxes to the smallest that hold the corners of the moved ones, cut at the edges of an image of w × h.
func moveBoxes(m matrix, w, h float64, to, from []float32) {
	for i := 0; i+3 < len(from); i += 4 {
		x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
		for _, corner := range [][2]int{{0, 1}, {2, 1}, {0, 3}, {2, 3}} {
			x, y := m.apply(float64(from[i+corner[0]]), float64(from[i+corner[1]]))
			x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
		}
		for k, v := range []float64{min(max(x0, 0), w), min(max(y0, 0), h), min(max(x1, 0), w), min(max(y1, 0), h)} {
			to[i+k] = float32(v)
		}
	}
}

// geometric is embedded by augmentations that move images and what moves with them.
type geometric struct{}

// Changes reports whether k moves.
func (geometric) Changes(k Kind) bool { return k == Image || k == Mask || k == Boxes || k == Points }

// moved returns fields with images of h × w; 0 stands for the size that they have.
func moved(a Augmentation, fields []Field, size []int) ([]Field, error) {
	frame := frameOf(fields)
	if frame.Shape == nil {
		return nil, config.Errorf("%s: no image or mask among %v", Name(a), namesOf(fields))
	}
	h, w := frame.height(), frame.width()
	if len(size) > 0 {
		h, w = size[0], size[len(size)-1]
	}
	if h < 1 || w < 1 {
		return nil, config.Errorf("%s: images of %d by %d; want at least one pixel", Name(a), h, w)
	}
	for i, f := range fields {
		if f.Kind == Image || f.Kind == Mask {
			fields[i] = f.resized(h, w)
		}
	}
	return fields, nil
}

func namesOf(fields []Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}
