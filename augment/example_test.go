package augment_test

import (
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/augment"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// Each epoch has other crops of the same images.
func Example() {
	images := storage.From(make([]uint8, 100*3*32*32), 100, 3, 32, 32)
	samples, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: images})
	if err != nil {
		panic(err)
	}
	chain := augment.NewChain([]augment.Augmentation{
		augment.NewFlip(augment.FlipOptions{}),
		augment.NewCrop(augment.CropOptions{Padding: []int{4}, Size: []int{28}}),
	}, augment.Options{Seed: 1})
	loader, err := dataset.NewLoader(samples, dataset.Options{BatchSize: 10, Stage: chain})
	if err != nil {
		panic(err)
	}
	for batch, err := range loader.Epoch(context.Background(), 0, 0) {
		fmt.Println(batch.Fields[0].Shape, err)
		break
	}
	// Output: [10 3 28 28] <nil>
}

// An inversion is an augmentation of a program.
type inversion struct{}

func (inversion) Changes(k augment.Kind) bool { return k == augment.Image }

func (inversion) Output(fields []augment.Field) ([]augment.Field, error) { return fields, nil }

func (inversion) Apply(to, from augment.Sample, r *augment.Random) error {
	invert := r.Bool(0.5)
	for i, f := range from.Fields {
		if f.Kind != augment.Image {
			continue
		}
		for k, v := range from.Data[i] {
			if invert {
				v = 255 - v
			}
			to.Data[i][k] = v
		}
	}
	return nil
}

func ExampleAugmentation() {
	chain := augment.NewChain([]augment.Augmentation{inversion{}}, augment.Options{})
	samples, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: storage.From(make([]uint8, 8*2*2), 8, 1, 2, 2)})
	if err != nil {
		panic(err)
	}
	inverted := 0
	for batch, err := range dataset.Load(context.Background(), samples, dataset.Options{BatchSize: 4, Stage: chain}) {
		if err != nil {
			panic(err)
		}
		for i, v := range storage.Elements[uint8](batch.Fields[0]) {
			if i%4 == 0 && v == 255 {
				inverted++
			}
		}
	}
	fmt.Println(inverted > 0 && inverted < 8)
	// Output: true
}
