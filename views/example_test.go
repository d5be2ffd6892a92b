package views_test

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

func Example() {
	image := views.Of(3, 4) // 3 rows of 4
	part, err := image.Index("[::-1, 1:3]")
	if err != nil {
		panic(err)
	}
	fmt.Println(part.Shape, slices.Collect(part.Positions()))
	// Output: [3 2] [9 10 5 6 1 2]
}

func ExampleView_Reshape() {
	columns, _ := views.Of(2, 3).Transpose()
	_, err := columns.Reshape(6)
	fmt.Println(err)
	// Output: reshape: shape [3 2] with strides [1 3] cannot be viewed as [6]; copy it first: wrong shape
}

func ExampleWalk() {
	rows := views.Of(4, 3)
	left, _ := rows.Slice(1, 0, 2, 1)
	views.Walk(func(at, step []int, n int) {
		fmt.Println(n, "elements from", at[0], "to", at[1])
	}, views.Of(4, 2), left)
	// Output:
	// 2 elements from 0 to 0
	// 2 elements from 2 to 3
	// 2 elements from 4 to 6
	// 2 elements from 6 to 9
}

func ExampleCutIndex() {
	fmt.Println(views.CutIndex("/train/images[0, ::2]"))
	// Output: /train/images [0, ::2]
}
