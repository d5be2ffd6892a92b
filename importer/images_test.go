package importer_test

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/importer"
	"github.com/h5dnn/h5dnn/storage"
)

// TestDeepImagesKeepTheirNumbers: PNG files of 16 bits become uint16, and are refused beside PNG files of 8 bits.
func TestDeepImagesKeepTheirNumbers(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, picture image.Image) {
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := png.Encode(f, picture); err != nil {
			t.Fatal(err)
		}
	}
	deep := image.NewGray16(image.Rect(0, 0, 2, 1))
	deep.SetGray16(0, 0, color.Gray16{Y: 258})
	deep.SetGray16(1, 0, color.Gray16{Y: 40001})
	write("a.png", deep)
	arrays, closing, err := importer.Open(t.Context(), folder, "/", importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closing()
	var got []uint16
	if err := arrays[0].Each(t.Context(), func(a storage.Array) (err error) {
		got, err = storage.Read[uint16](a)
		return err
	}); err != nil || !slices.Equal(got, []uint16{258, 40001}) {
		t.Errorf("%v, %v", got, err)
	}
	write("b.png", image.NewGray(deep.Rect))
	if _, _, err := importer.Open(t.Context(), folder, "/", importer.Options{}); err == nil || !strings.Contains(err.Error(), "b.png has numbers of 8 bits") {
		t.Errorf("images of both depths: %v", err)
	}
}
