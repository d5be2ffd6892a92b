package png_test

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"

	h5png "github.com/h5dnn/h5dnn/serialize/png"
	"github.com/h5dnn/h5dnn/storage"
)

// TestPicturesShowEveryPixel draws arrays of all shapes a picture can have,
// and looks at pixels.
func TestPicturesShowEveryPixel(t *testing.T) {
	for _, c := range []struct {
		name  string
		a     storage.Array
		size  [2]int // width, height
		x, y  int
		pixel color.NRGBA
	}{
		{"bytes are stretched", ramp(2, 3), [2]int{3, 2}, 1, 1, grey(204)},
		{"one value", storage.From([]uint8{7, 7}, 1, 2), [2]int{2, 1}, 1, 0, grey(0)},
		{"bools", storage.From([]bool{false, true}, 1, 2), [2]int{2, 1}, 1, 0, grey(255)},
		{"floats in 0..1", storage.From([]float32{0, 0.5, 1, 0.25}, 2, 2), [2]int{2, 2}, 1, 0, grey(128)},
		{"floats beyond", storage.From([]float64{-10, 10, 0, 0}, 2, 2), [2]int{2, 2}, 0, 1, color.NRGBA{33, 145, 140, 255}},
		{"between two colours", storage.From([]float32{-10, 10, -6.25, 0}, 2, 2), [2]int{2, 2}, 0, 1, color.NRGBA{65, 63, 131, 255}},
		{"a field's least", storage.From([]float32{-10, 10, 0, 0}, 2, 2), [2]int{2, 2}, 0, 0, color.NRGBA{68, 1, 84, 255}},
		{"a missing value", storage.From([]float32{-10, 10, 0, float32(math.NaN())}, 2, 2), [2]int{2, 2}, 1, 1, color.NRGBA{}},
		{"a signal's first, at the bottom", slope(100), [2]int{512, 96}, 0, 91, color.NRGBA{31, 119, 180, 255}},
		{"its last, at the top", slope(100), [2]int{512, 96}, 511, 4, color.NRGBA{31, 119, 180, 255}},
		{"between", slope(100), [2]int{512, 96}, 511, 91, grey(255)},
		{"a missing sample is a gap", curve(128, func(k int) float64 { return map[bool]float64{true: math.NaN(), false: float64(k)}[k == 64] }), [2]int{512, 96}, 257, 47, grey(255)},
		{"a jump is a line", curve(128, func(k int) float64 { return float64(k / 64) }), [2]int{512, 96}, 256, 48, color.NRGBA{31, 119, 180, 255}},
		{"many samples share a column", curve(4096, func(k int) float64 { return float64(k % 2) }), [2]int{2048, 96}, 700, 48, color.NRGBA{31, 119, 180, 255}},
		{"the largest range", storage.From([]float64{-math.MaxFloat64, math.MaxFloat64}, 2), [2]int{512, 96}, 511, 4, color.NRGBA{31, 119, 180, 255}},
		{"two channels", storage.From(append(make([]int16, 100), slices.Repeat([]int16{1}, 100)...), 2, 100), [2]int{512, 192}, 5, 100, color.NRGBA{31, 119, 180, 255}},
		{"too few samples for signals", storage.From(make([]float32, 150), 50, 3), [2]int{3, 50}, 0, 0, grey(0)},
		{"too many channels", storage.From(make([]float32, 17*200), 200, 17), [2]int{17, 200}, 0, 0, grey(0)},
		{"channels last, 12 of 1000", storage.From(make([]float32, 12000), 1000, 12), [2]int{1000, 12 * 96}, 5, 4, grey(255)},
		{"bytes of 3 columns", ramp(80, 3), [2]int{3, 80}, 0, 0, grey(0)},
		{"integers", storage.From([]int16{0, 1000, 500, 0}, 2, 2), [2]int{2, 2}, 1, 0, grey(255)},
		{"colour", ramp(5, 6, 3), [2]int{6, 5}, 1, 0, color.NRGBA{3, 4, 5, 255}},
		{"colour with alpha", ramp(5, 6, 4), [2]int{6, 5}, 1, 0, color.NRGBA{4, 5, 6, 7}},
		{"a grid of 3, two across", ramp(3, 4, 5), [2]int{11, 9}, 6, 0, grey(86)},
		{"the third below", ramp(3, 4, 5), [2]int{11, 9}, 0, 5, grey(173)},
		{"channels first", ramp(1, 3, 4, 5), [2]int{5, 4}, 1, 0, color.NRGBA{1, 21, 41, 255}},
		{"channels last", ramp(2, 4, 5, 1), [2]int{11, 4}, 6, 0, grey(131)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := h5png.Write(&out, c.a); err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(&out)
			if err != nil {
				t.Fatal(err)
			}
			if b := img.Bounds(); b.Dx() != c.size[0] || b.Dy() != c.size[1] {
				t.Errorf("picture of %d x %d, want %d x %d", b.Dx(), b.Dy(), c.size[0], c.size[1])
			}
			if got := color.NRGBAModel.Convert(img.At(c.x, c.y)); got != c.pixel {
				t.Errorf("pixel %d, %d is %v, want %v", c.x, c.y, got, c.pixel)
			}
		})
	}
}

// TestSixteenBitsStay: an image of integers of 16 bits has as many levels as the values.
func TestSixteenBitsStay(t *testing.T) {
	var out bytes.Buffer
	if err := h5png.Write(&out, storage.From([]uint16{0, 1, 2, 4095}, 2, 2)); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	if img.ColorModel() != color.Gray16Model {
		t.Fatalf("an image of %v", img.ColorModel())
	}
	for i, want := range []uint16{0, 16, 32, 65535} {
		if got := img.At(i%2, i/2).(color.Gray16).Y; got != want {
			t.Errorf("pixel %d is %d, want %d", i, got, want)
		}
	}
}

func grey(level uint8) color.NRGBA { return color.NRGBA{level, level, level, 255} }

// slope returns 0, 1, 2, … as a signal.
func slope(n int) storage.Array { return curve(n, func(k int) float64 { return float64(k) }) }

// curve returns a signal of n samples.
func curve(n int, sample func(k int) float64) storage.Array {
	xs := make([]float64, n)
	for k := range xs {
		xs[k] = sample(k)
	}
	return storage.From(xs, n)
}

// ramp returns 0, 1, 2, … in the given shape.
func ramp(shape ...int) storage.Array {
	n := 1
	for _, size := range shape {
		n *= size
	}
	bytes := make([]byte, n)
	for k := range bytes {
		bytes[k] = byte(k)
	}
	return storage.From(bytes, shape...)
}

// TestArraysThatAreNoImagesAreRefused: the error comes before anything is written.
func TestArraysThatAreNoImagesAreRefused(t *testing.T) {
	for _, a := range []storage.Array{
		ramp(4), ramp(0, 4), ramp(2, 2, 2, 2), ramp(1, 1, 1, 1, 1),
		storage.From([]complex64{1}, 1, 1),
	} {
		var out bytes.Buffer
		if err := h5png.Write(&out, a); err == nil || out.Len() > 0 {
			t.Errorf("%v: %v and %d bytes; want an error and nothing", a, err, out.Len())
		}
	}
}

func Example() {
	var out bytes.Buffer
	if err := h5png.Write(&out, storage.From([]uint8{0, 255, 255, 0}, 2, 2)); err != nil {
		panic(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		panic(err)
	}
	fmt.Println(img.Bounds().Size(), img.At(1, 0))
	// Output: (2,2) {255}
}
