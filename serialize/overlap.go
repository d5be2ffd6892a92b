package serialize

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

// An Extent is where the elements of an array are in a file, or in one of several.
type Extent struct {
	Name     string // of the array
	File     int
	At, Size int64
}

// CheckOverlap returns an error if two arrays have bytes in common. Formats that cannot share
// elements call it: otherwise a small hostile file could name the same bytes again and again,
// and become any size when it is converted. It sorts the list.
func CheckOverlap(list []Extent) error {
	list = inOrder(list)
	for i := 1; i < len(list); i++ {
		if x, y := list[i-1], list[i]; x.File == y.File && y.At-x.At < x.Size {
			return fmt.Errorf("the elements of %q overlap those of %q: %w", y.Name, x.Name, storage.ErrState)
		}
	}
	return nil
}

// inOrder sorts extents by their places, without empty ones.
func inOrder(list []Extent) []Extent {
	list = slices.DeleteFunc(list, func(x Extent) bool { return x.Size == 0 })
	slices.SortFunc(list, func(x, y Extent) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.At, y.At), cmp.Compare(x.Size, y.Size), cmp.Compare(x.Name, y.Name))
	})
	return list
}

// Overlapping returns the names of the arrays that have bytes in common with another one that
// is not at the same place, each with the name of such an array. It sorts the list.
func Overlapping(list []Extent) map[string]string {
	list = inOrder(list)
	overlapping := map[string]string{}
	mark := func(x, y Extent) {
		overlapping[x.Name], overlapping[y.Name] = y.Name, x.Name
	}
	for first := 0; first < len(list); {
		longest, next := list[first], first+1 // the array that ends last of those before next
		for ; next < len(list) && list[next].File == longest.File && list[next].At-longest.At < longest.Size; next++ {
			y := list[next]
			if y.At != longest.At || y.Size != longest.Size {
				mark(longest, y)
			}
			if y.At+y.Size > longest.At+longest.Size {
				longest = y
			}
		}
		first = next
	}
	type place struct {
		file     int
		at, size int64
	}
	others := map[place]string{}
	for _, x := range list {
		if other, ok := overlapping[x.Name]; ok {
			others[place{x.File, x.At, x.Size}] = other
		}
	}
	for _, x := range list { // arrays at the same place overlap the same ones
		if other, ok := others[place{x.File, x.At, x.Size}]; ok && overlapping[x.Name] == "" {
			overlapping[x.Name] = other
		}
	}
	return overlapping
}
