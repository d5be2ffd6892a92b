package importer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/importer"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "flowers.csv")
	if err := os.WriteFile(name, []byte("width,height,species\n1,2,rose\n3,4.5,aster\n"), 0o666); err != nil {
		panic(err)
	}
	arrays, closing, err := importer.Open(context.Background(), name, "/", importer.Options{})
	if err != nil {
		panic(err)
	}
	defer closing()
	for _, a := range arrays {
		if a.Texts != nil {
			fmt.Println(a.Path, a.Texts)
			continue
		}
		err := a.Each(context.Background(), func(rows storage.Array) error {
			elements, err := storage.Read[float64](rows)
			fmt.Println(a.Path, a.Type, a.Shape, elements)
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	// Output:
	// /x float32 [2 2] [1 2 3 4.5]
	// /y uint8 [2] [1 0]
	// /classes [aster rose]
}

func TestErrorsHaveTypes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "two.csv")
	if err := os.WriteFile(name, []byte("a,b,c\n1,x,y\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := importer.Open(t.Context(), name, "/", importer.Options{})
	var text *importer.TextError
	if !errors.As(err, &text) || text.Line != 2 || text.Column != "b" || text.Cell != "x" {
		t.Errorf("two columns of text: %v", err)
	}
	if _, _, err := importer.Open(t.Context(), "../testdata/digits.h5", "/", importer.Options{}); !errors.Is(err, importer.ErrHDF5) {
		t.Errorf("an HDF5 file: %v", err)
	}
	if _, _, err := importer.Open(t.Context(), filepath.Join(t.TempDir(), "none"), "/", importer.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
