package kerasfile_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
)

// Example lists the layers of a model, and reads one weight.
func Example() {
	f, err := serialize.Open("testdata/keras3_cnn.keras")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	m := f.(*kerasfile.File).Model() // nil if the file holds weights only
	for path, l := range m.All() {
		fmt.Println(path, l.Class, len(l.Weights))
	}
	a, err := serialize.Find(f, "conv2d/kernel")
	fmt.Println(a.Type, a.Shape, err)
	// Output:
	// input_layer InputLayer 0
	// conv2d Conv2D 2
	// batch_normalization BatchNormalization 4
	// max_pooling2d MaxPooling2D 0
	// flatten Flatten 0
	// dropout Dropout 0
	// dense Dense 2
	// float32 [3 3 3 4] <nil>
}
