package dataset

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// SlidingWindows returns the array whose element i is elements i to i+n-1 of a's
// first axis: the windows of length n over a time series, one step apart. It is a
// view; nothing is copied.
func SlidingWindows(a storage.Array, n int) (storage.Array, error) {
	if a.Rank() == 0 || n < 1 || n > a.Shape[0] {
		return a, fmt.Errorf("dataset: windows of %d rows over %v; want at least 1 row, and at most as many as there are: %w", n, a.Shape, views.ErrShape)
	}
	v, err := a.View.SlidingWindow(0, n, 1)
	if err != nil {
		return a, fmt.Errorf("dataset: %w", err)
	}
	order := []int{0, v.Rank() - 1}
	for axis := 1; axis < a.Rank(); axis++ {
		order = append(order, axis)
	}
	v, err = v.Transpose(order...)
	return a.With(v), err
}

// rowsApart returns how many rows are in a window that v shows, and how far apart: 1 and 1 if it shows none.
func rowsApart(v views.View) (n, step int) {
	if v.Rank() < 2 || v.Shape[0] == 0 || v.Shape[1] < 2 || v.Stride[0] <= 0 || v.Stride[1] <= 0 || v.Stride[1]%v.Stride[0] != 0 {
		return 1, 1
	}
	return v.Shape[1], v.Stride[1] / v.Stride[0]
}

// windows returns the rows over which v shows sliding windows, and the length of a
// window: v itself and 1 if it shows none.
func windows(v views.View) (single views.View, n int) {
	if v.Rank() < 2 || v.Shape[0] == 0 || v.Shape[1] < 2 || v.Stride[0] != v.Stride[1] {
		return v, 1
	}
	n = v.Shape[1]
	single = views.View{Offset: v.Offset}
	single.Shape = append([]int{v.Shape[0] + n - 1}, v.Shape[2:]...)
	single.Stride = append([]int{v.Stride[0]}, v.Stride[2:]...)
	return single, n
}
