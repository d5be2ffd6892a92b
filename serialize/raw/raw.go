// Package raw makes the bare elements of one array, in row-major order and the byte
// order of the machine, one of the formats of package serialize that are written.
package raw

import (
	"context"
	"io"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
)

var format = serialize.Format{Name: "raw", Extensions: []string{".raw", ".bin"}, Single: true}

func init() {
	format.Save = save
	serialize.Register(format)
}

func save(w io.Writer, c serialize.Contents) error {
	e, err := format.Only(c)
	if err != nil {
		return err
	}
	for elements, err := range blocks.Elements(context.Background(), e.Array, blocks.Size) {
		if err != nil {
			return err
		}
		if _, err := w.Write(elements); err != nil {
			return err
		}
	}
	return nil
}
