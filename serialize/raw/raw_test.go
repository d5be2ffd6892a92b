package raw_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/raw"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	a := storage.From([]uint16{1, 2, 3, 4}, 2, 2)
	transposed, _ := a.Transpose()
	var out bytes.Buffer
	arrays := map[string]storage.Array{"x": a.With(transposed)}
	if err := serialize.Write(&out, "raw", serialize.Contents{Entries: serialize.Arrays(maps.All(arrays))}); err != nil {
		panic(err)
	}
	elements := make([]uint16, 4)
	if err := binary.Read(&out, binary.NativeEndian, elements); err != nil {
		panic(err)
	}
	fmt.Println(elements)
	// Output: [1 3 2 4]
}
