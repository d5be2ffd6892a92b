package format

import (
	"math"
	"testing"
)

func TestCheckShape(t *testing.T) {
	const half = 1 << 34
	for _, test := range []struct {
		elemSize int
		shape    []int
		ok       bool
	}{
		{8, nil, true},
		{0, []int{3}, true},
		{8, []int{0, 5}, true},
		{1, []int{math.MaxInt}, true},
		{2, []int{math.MaxInt}, false},
		{1, []int{0, half, 0, half}, false},
		{1, []int{half, half}, false},
		{8, []int{1 << 31, 1 << 30}, false},
		{4, []int{1 << 30, 1 << 30}, true},
		{1, []int{-1}, false},
	} {
		if err := CheckShape(test.elemSize, test.shape...); (err == nil) != test.ok {
			t.Errorf("shape %v of elements of %d bytes: error %v", test.shape, test.elemSize, err)
		}
	}
}

func TestProduct(t *testing.T) {
	for _, test := range []struct {
		sizes []int
		want  int
		ok    bool
	}{
		{nil, 1, true}, {[]int{2, 3, 4}, 24, true}, {[]int{math.MaxInt, 0, math.MaxInt}, 0, true},
		{[]int{math.MaxInt, 2}, 0, false}, {[]int{1 << 32, 1 << 31}, 0, false}, {[]int{3, -1}, 0, false},
	} {
		if got, err := Product(test.sizes...); got != test.want || (err == nil) != test.ok {
			t.Errorf("Product(%v) = %d, %v", test.sizes, got, err)
		}
	}
}
