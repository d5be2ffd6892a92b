package dataset

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// encoded returns PNG files of 3 by 4 pixels as rows of bytes, and their pixels: bytes, or numbers of 16 bits.
func encoded(t *testing.T, n int, typ dtype.Type) (r Ragged, pixels []byte) {
	offsets, files := []int64{0}, []byte(nil)
	for k := range n {
		var picture draw.Image = image.NewNRGBA(image.Rect(0, 0, 4, 3))
		if typ == dtype.Uint16 {
			picture = image.NewNRGBA64(picture.Bounds())
		}
		for i := range 12 {
			if typ == dtype.Uint16 {
				c := color.NRGBA64{uint16(k), uint16(i) << 8, uint16(777 * k * i), 65535}
				picture.Set(i%4, i/4, c)
				pixels = append(pixels, dtype.Bytes([]uint16{c.R, c.G, c.B})...)
				continue
			}
			c := color.NRGBA{uint8(k), uint8(i), uint8(k * i), 255}
			picture.Set(i%4, i/4, c)
			pixels = append(pixels, c.R, c.G, c.B)
		}
		var file bytes.Buffer
		if err := png.Encode(&file, picture); err != nil {
			t.Fatal(err)
		}
		files = append(files, file.Bytes()...)
		offsets = append(offsets, int64(len(files)))
	}
	return must[Ragged](t)(Offsets("movie", storage.From(files, len(files)), storage.From(offsets, len(offsets)))), pixels
}

// TestImagesAreDecodedInEveryView, and only those that it selects from.
func TestImagesAreDecodedInEveryView(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.Uint8, dtype.Uint16} {
		t.Run(typ.String(), func(t *testing.T) { testDecoded(t, typ) })
	}
}

func testDecoded(t *testing.T, typ dtype.Type) {
	const n = 40
	rows, pixels := encoded(t, n, typ)
	all := storage.Array{Data: storage.Wrap(pixels), Type: typ, View: views.Of(n, 3, 4, 3)}
	read, reads := rows.Read, 0
	rows.Read = func(dst []byte, first, n, length int) error {
		reads += n
		return read(dst, first, n, length)
	}
	movie := must[storage.Array](t)(rows.Images(3))
	windows := must[storage.Array](t)(SlidingWindows(movie, 21))
	want := must[storage.Array](t)(SlidingWindows(all, 21))
	for _, c := range []struct {
		index string
		rows  int // that are decoded
	}{{":", n}, {"5", 21}, {"[5:7, ::5]", 10}, {"3, ::5", 5}, {"3, ::5, ::-1, 1:, 2", 21}, {"::7, 4:10", 18}, {"0:0", 0}, {"::-1, 0", 20}} {
		v, err := windows.View.Index(c.index)
		if c.index == ":" {
			v, err = movie.View, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		reads = 0
		got := make([]byte, v.Len()*typ.Size())
		if err := movie.Data.(storage.Source).ReadView(got, typ, v); err != nil {
			t.Fatal(c.index, err)
		}
		expected := make([]byte, v.Len()*typ.Size())
		storage.Gather(expected, pixels, typ, v)
		if !slices.Equal(got, expected) {
			t.Errorf("%s: wrong pixels", c.index)
		}
		if reads > c.rows {
			t.Errorf("%s: %d images read, want %d", c.index, reads, c.rows)
		}
	}
	d := must[Dataset](t)(FromArrays(NamedArray{Name: "movie", Array: windows}))
	into := must[*Batch](t)(NewBatch(d, 3))
	if err := d.Read(*into, []int{7, 2, 9}); err != nil {
		t.Fatal(err)
	}
	for k, row := range []int{7, 2, 9} {
		sample, _ := into.Fields[0].With(samples(into.Fields[0].View, k, 1)).Bytes()
		one := make([]byte, len(sample))
		storage.Gather(one, pixels, typ, samples(want.View, row, 1))
		if !slices.Equal(sample, one) {
			t.Errorf("window %d: wrong pixels", row)
		}
	}
}

// TestRowsThatAreNoImages are errors that name the row.
func TestRowsThatAreNoImages(t *testing.T) {
	rows, _ := encoded(t, 3, dtype.Uint8)
	var large, deep bytes.Buffer
	if err := errors.Join(png.Encode(&large, image.NewGray(image.Rect(0, 0, 5, 3))), png.Encode(&deep, image.NewGray16(image.Rect(0, 0, 4, 3)))); err != nil {
		t.Fatal(err)
	}
	read := rows.Read
	for name, file := range map[string][]byte{"size": large.Bytes(), "depth": deep.Bytes(), "text": []byte("no image")} {
		rows.Read = func(dst []byte, first, n, length int) error {
			err := read(dst, first, n, length)
			if at := 2 - first; at < n {
				clear(dst[at*length:])
				copy(dst[at*length:], file)
			}
			return err
		}
		movie := must[storage.Array](t)(rows.Images(1))
		if _, err := storage.Read[uint8](movie); err == nil || !bytes.Contains([]byte(err.Error()), []byte("row 2")) || name == "size" && !errors.Is(err, views.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := rows.Images(2); !errors.Is(err, dtype.ErrType) {
		t.Errorf("two channels: %v", err)
	}
	if _, err := ByteRows("x", storage.From([]int32{1}, 1, 1)); err == nil {
		t.Error("integers are no bytes")
	}
	padded := must[storage.Array](t)(rows.Padded(0))
	again := must[Ragged](t)(ByteRows("padded", padded))
	if movie := must[storage.Array](t)(again.Images(3)); !slices.Equal(movie.Shape, []int{3, 3, 4, 3}) {
		t.Errorf("images of padded rows: %v", movie.Shape)
	}
}
