package propose_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/propose"
)

// A table of measurements with species and numbers of the plants.
func Example() {
	const rows = 60
	size := propose.Array{Path: "/size", Rows: []int{rows}, Row: []int{2}, Type: dtype.Float32, Stored: "float32"}
	plant := propose.Array{Path: "/plant", Rows: []int{rows}, Type: dtype.Int64, Stored: "int64"}
	species := propose.Array{Path: "/species", Rows: []int{rows}, Kind: propose.Texts, Stored: "string"}
	for row := range rows {
		size.Sample.Values = append(size.Sample.Values, float64(row%7), float64(row%5))
		plant.Sample.Values = append(plant.Sample.Values, float64(row))
		species.Sample.Texts = append(species.Sample.Texts, []string{"ash", "birch"}[row%2])
	}
	proposals, err := propose.From(propose.File{Arrays: []propose.Array{size, plant, species}}, propose.Wishes{})
	if err != nil {
		fmt.Println(err)
		return
	}
	best := proposals[0]
	fmt.Println(best.Task, best.X, "->", best.Y)
	fmt.Println("target:", best.Target.Text, "-", best.Target.Reason)
	fmt.Println("model:", best.Model[0], "-", best.Network.Reason)
	// Output:
	// classify [/size] -> [/species]
	// target: /species, 2 classes (ash, birch) - named as classes are
	// model: mlp - one hidden layer
}
