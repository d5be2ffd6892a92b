package dataconfig_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
)

// Two inputs and a target are arrays of one file; a tenth of the samples is for
// validation. Paths in files are opened by dataconfig.Open in the same way.
func Example() {
	c := dataconfig.Config{
		File:  dataconfig.Names{"demo.h5"},
		X:     dataconfig.Paths{{Name: "image", Path: "/images"}, {Name: "pose", Path: "/poses"}},
		Y:     dataconfig.Path("/labels"),
		Split: dataconfig.Split{Fraction: 0.1},
	}
	if err := c.Check(); err != nil {
		fmt.Println(err)
		return
	}
	data, err := dataconfig.New(c, 1, []dataset.NamedArray{
		{Name: "image", Array: storage.From(make([]uint8, 100*64), 100, 8, 8)},
		{Name: "pose", Array: storage.From(make([]float32, 100*7), 100, 7)},
		{Name: "y", Array: storage.From(make([]int64, 100), 100), Role: dataset.Target},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	schema, err := dataset.SchemaOf(data.Train.Fields())
	fmt.Println(data.Train.Len(), data.Val.Len(), schema.Inputs, schema.Targets, err)
	// Output: 90 10 [0 1] [2] <nil>
}
