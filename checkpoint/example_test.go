package checkpoint_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	dense := checkpoint.Layer{Class: "Dense", Name: "hidden", Config: map[string]any{"units": 3, "use_bias": false}}
	dense.Weights = []checkpoint.Weight{{Name: "kernel", Array: storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)}}
	model := checkpoint.Model{Framework: checkpoint.Keras, Layers: []checkpoint.Layer{dense}}

	plans, err := checkpoint.ModelLinks(&model, checkpoint.LinkOptions{})
	if err != nil {
		panic(err)
	}
	for _, p := range plans {
		fmt.Println(p.Module)
		for _, link := range p.Links {
			to, err := link.Op.Forward([]storage.Array{dense.Weights[0].Array})
			if err != nil {
				panic(err)
			}
			elems, err := storage.Read[float32](to[0])
			fmt.Println(link.From, link.Op, link.To, to[0].Shape, elems, err)
		}
	}
	// Output:
	// nn.Linear(2, 3, bias=False)
	// [hidden/kernel] transpose(1 0) [hidden.weight] [3 2] [1 4 2 5 3 6] <nil>
}
