package npy_test

import (
	"bytes"
	"fmt"

	"github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	var b bytes.Buffer // or a pipe
	if err := npy.Write(&b, storage.From([]uint8{1, 2, 3, 4}, 2, 2)); err != nil {
		panic(err)
	}
	header, _ := b.ReadString('\n')
	fmt.Printf("%.67s %d bytes of data", header[10:], b.Len())
	// Output: {'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }         4 bytes of data
}
