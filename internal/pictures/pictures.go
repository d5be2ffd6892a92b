// Package pictures decodes PNG and JPEG images to bytes, or numbers of 16 bits.
package pictures

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/jpeg" // registered for Decode
	_ "image/png"  // registered for Decode
	"io"
)

// BytesPerPixel is how much memory a pixel takes at most while an image is decoded: 16 bits of four channels,
// and a converted copy.
const BytesPerPixel = 14

// A Format is the size of an image and what its pixels are.
type Format struct {
	Height, Width int
	Gray          bool
	Deep          bool // 16 bits for each channel, instead of 8
	Transparent   bool // with an alpha channel
}

// Size returns the bytes of a number.
func (f Format) Size() int {
	if f.Deep {
		return 2
	}
	return 1
}

// FormatOf reads the header of an image.
func FormatOf(r io.Reader) (Format, error) {
	c, _, err := image.DecodeConfig(r)
	if err == nil && (c.Width < 1 || c.Height < 1) {
		err = fmt.Errorf("an image of %dx%d pixels", c.Width, c.Height)
	}
	m := c.ColorModel
	return Format{
		Height: c.Height, Width: c.Width,
		Gray:        m == color.GrayModel || m == color.Gray16Model,
		Deep:        m == color.Gray16Model || m == color.RGBA64Model || m == color.NRGBA64Model,
		Transparent: m == color.NRGBAModel || m == color.NRGBA64Model,
	}, err
}

// Decode writes the pixels of an image of a known format to dst, row by row: one number each, or red, green and blue if
// channels is 3, in bytes or, of deep images, in the machine's numbers of 16 bits. Transparency is dropped.
func Decode(dst []byte, r io.Reader, f Format, channels int) error {
	picture, _, err := image.Decode(r)
	if err != nil {
		return err
	}
	box := picture.Bounds()
	height, width := f.Height, f.Width
	if box.Dy() != height || box.Dx() != width {
		return fmt.Errorf("an image of %dx%d pixels; want %dx%d", box.Dx(), box.Dy(), width, height)
	}
	if f.Deep {
		writeDeep(dst, picture, channels)
		return nil
	}
	if p, ok := picture.(*image.YCbCr); ok {
		writeYCbCr(dst, p, channels)
		return nil
	}
	if channels == 1 {
		gray := &image.Gray{Pix: dst, Stride: width, Rect: image.Rect(0, 0, width, height)}
		draw.Draw(gray, gray.Rect, picture, box.Min, draw.Src)
		return nil
	}
	writeRGB(dst, picture)
	return nil
}

// writeRGB writes red, green and blue of each pixel of an image that is not YCbCr.
func writeRGB(dst []byte, picture image.Image) {
	box := picture.Bounds()
	switch p := picture.(type) {
	case *image.RGBA:
		if p.Opaque() {
			dropFourth(dst, p.Pix, p.Stride, box)
			return
		}
	case *image.NRGBA:
		dropFourth(dst, p.Pix, p.Stride, box)
		return
	}
	at := 0
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
			dst[at], dst[at+1], dst[at+2] = c.R, c.G, c.B
			at += 3
		}
	}
}

// writeDeep writes numbers of 16 bits: gray, or red, green and blue of each pixel.
func writeDeep(dst []byte, picture image.Image, channels int) {
	box := picture.Bounds()
	put := func(v uint16) {
		binary.NativeEndian.PutUint16(dst, v)
		dst = dst[2:]
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if channels == 1 {
				put(color.Gray16Model.Convert(picture.At(x, y)).(color.Gray16).Y)
				continue
			}
			c := color.NRGBA64Model.Convert(picture.At(x, y)).(color.NRGBA64)
			put(c.R)
			put(c.G)
			put(c.B)
		}
	}
}

// dropFourth copies the first three of each four bytes.
func dropFourth(dst, src []byte, stride int, box image.Rectangle) {
	for y := range box.Dy() {
		row := src[y*stride:][:4*box.Dx()]
		for len(row) > 0 {
			dst[0], dst[1], dst[2] = row[0], row[1], row[2]
			dst, row = dst[3:], row[4:]
		}
	}
}
