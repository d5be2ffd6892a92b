package weights_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// Example converts the kernel of a dense layer of Keras to the weight of PyTorch's nn.Linear, and back.
func Example() {
	kernel := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	link := weights.Link{From: []string{"kernel"}, To: []string{"weight"}, Op: weights.TransposeOp(1, 0)}
	to, err := link.Op.Forward([]storage.Array{kernel})
	if err != nil {
		panic(err)
	}
	elems, err := storage.Read[float32](to[0])
	fmt.Println(link.From, link.Op, link.To, to[0].Shape, elems, err)
	back, err := link.Op.Backward(to)
	fmt.Println(back[0].Shape, err)
	// Output:
	// [kernel] transpose(1 0) [weight] [3 2] [1 4 2 5 3 6] <nil>
	// [2 3] <nil>
}
