package dlpack_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/storage"
)

// An array goes to another library as a DLManagedTensorVersioned, and one that
// comes from there is taken by Import: here both are the same.
func Example() {
	ours := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	tensor, err := dlpack.Export(dlpack.Tensor{Array: ours}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	theirs, release, err := dlpack.Import(tensor)
	if err != nil {
		fmt.Println(err)
		return
	}
	storage.Elements[float32](ours)[5] = 60
	fmt.Println(theirs.Type, theirs.Shape, storage.Elements[float32](theirs.Array))
	fmt.Println(release())
	// Output:
	// float32 [2 3] [1 2 3 4 5 60]
	// <nil>
}
