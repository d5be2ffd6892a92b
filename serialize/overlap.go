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
	list = slices.DeleteFunc(list, func(x Extent) bool { return x.Size == 0 })
	slices.SortFunc(list, func(x, y Extent) int { return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.At, y.At)) })
	for i := 1; i < len(list); i++ {
		if x, y := list[i-1], list[i]; x.File == y.File && y.At-x.At < x.Size {
			return fmt.Errorf("the elements of %q overlap those of %q: %w", y.Name, x.Name, storage.ErrState)
		}
	}
	return nil
}
