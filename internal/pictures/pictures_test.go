package pictures_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pictures"
)

// Example decodes a PNG of two pixels.
func Example() {
	picture := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	picture.Set(0, 0, color.NRGBA{R: 255, A: 255})
	picture.Set(1, 0, color.NRGBA{G: 7, B: 9, A: 255})
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		panic(err)
	}
	pixels := make([]byte, 6)
	err := pictures.Decode(pixels, &file, pictures.Format{Height: 1, Width: 2}, 3)
	fmt.Println(pixels, err)
	// Output: [255 0 0 0 7 9] <nil>
}

// TestColorsOfEveryModel: the fast ways agree with the colors of single pixels.
func TestColorsOfEveryModel(t *testing.T) {
	box := image.Rect(3, 1, 10, 6) // images may begin anywhere
	nrgba, rgba, palette, gray := image.NewNRGBA(box), image.NewRGBA(box), image.NewPaletted(box, color.Palette{color.Black, color.NRGBA{9, 8, 7, 255}}), image.NewGray16(box)
	deep := image.NewNRGBA64(box)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			nrgba.Set(x, y, color.NRGBA{uint8(20 * x), uint8(30 * y), uint8(x * y), uint8(255 - x)})
			rgba.Set(x, y, color.NRGBA{uint8(20 * x), uint8(30 * y), uint8(x * y), 255})
			palette.SetColorIndex(x, y, uint8((x+y)%2))
			gray.Set(x, y, color.Gray16{Y: uint16(x*y) << 9})
			deep.Set(x, y, color.NRGBA64{uint16(x) << 12, uint16(y * 4000), uint16(x * y * 77), uint16(65535 - x)})
		}
	}
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, rgba, nil); err != nil {
		t.Fatal(err)
	}
	files := [][]byte{jpg.Bytes()}
	for _, picture := range []image.Image{nrgba, rgba, palette, gray, deep} {
		var file bytes.Buffer
		if err := png.Encode(&file, picture); err != nil {
			t.Fatal(err)
		}
		files = append(files, file.Bytes())
	}
	for i, file := range files {
		picture, _, err := image.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		const h, w = 5, 7
		f, err := pictures.FormatOf(bytes.NewReader(file))
		if want := (pictures.Format{Height: h, Width: w, Gray: i == 4, Deep: i > 3, Transparent: i%4 == 1}); err != nil || f != want {
			t.Fatalf("file %d: %+v: %v; want %+v", i, f, err, want)
		}
		got := make([]byte, 3*h*w*f.Size())
		if err := pictures.Decode(got, bytes.NewReader(file), f, 3); err != nil {
			t.Fatal(err)
		}
		for k := range h * w {
			at := picture.Bounds().Min.Add(image.Pt(k%w, k/w))
			if i == 0 {
				continue // see TestChromaIsInterpolated
			}
			if f.Deep {
				c := color.NRGBA64Model.Convert(picture.At(at.X, at.Y)).(color.NRGBA64)
				for j, want := range []uint16{c.R, c.G, c.B} {
					if x := binary.NativeEndian.Uint16(got[6*k+2*j:]); x != want {
						t.Fatalf("file %d, pixel %v: %d, want %d", i, at, x, want)
					}
				}
				continue
			}
			c := color.NRGBAModel.Convert(picture.At(at.X, at.Y)).(color.NRGBA)
			if want := [3]byte{c.R, c.G, c.B}; [3]byte(got[3*k:]) != want {
				t.Fatalf("file %d, pixel %v: %v, want %v", i, at, got[3*k:3*k+3], want)
			}
		}
		if err := pictures.Decode(got[:h*w*f.Size()], bytes.NewReader(file), f, 1); err != nil {
			t.Errorf("file %d: gray: %v", i, err)
		}
		if f.Width++; pictures.Decode(got, bytes.NewReader(file), f, 3) == nil {
			t.Errorf("file %d: no error for another size", i)
		}
	}
	if _, err := pictures.FormatOf(bytes.NewReader([]byte("GIF89a"))); err == nil {
		t.Error("no error for a GIF")
	}
}

// TestChromaIsInterpolated as libjpeg does: the expected numbers are Pillow's.
func TestChromaIsInterpolated(t *testing.T) {
	file, err := os.ReadFile("testdata/small.jpg")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/small.rgb")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 17, 23
	got := make([]byte, 3*h*w)
	if err := pictures.Decode(got, bytes.NewReader(file), pictures.Format{Height: h, Width: w}, 3); err != nil {
		t.Fatal(err)
	}
	for k := range got {
		if d := int(got[k]) - int(want[k]); d < -3 || d > 3 { // transforms and conversions round differently
			t.Fatalf("number %d: %d, want %d", k, got[k], want[k])
		}
	}
}
