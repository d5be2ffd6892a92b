package dataset

import (
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

// TestPaddedRowsAreASource reads rows of different lengths, cut and padded, through views
// of any part: columns, every other row, backwards.
func TestPaddedRowsAreASource(t *testing.T) {
	values, offsets := storage.From([]int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 9), storage.From([]int64{0, 3, 3, 4, 9}, 5)
	dense := storage.From([]float32{0, 5, 0, 6, 7, 0, 0, 0, 8, 0, 0, 9}, 4, 3)
	data, columns, starts := storage.From([]float32{5, 6, 7, 8, 9}, 5), storage.From([]int32{1, 0, 1, 2, 2}, 5), storage.From([]int64{0, 1, 3, 4, 5}, 5)
	for _, c := range []struct {
		name   string
		rows   Ragged
		length int
		want   storage.Array
	}{
		{"padded", must[Ragged](t)(Offsets("x", values, offsets)), 6, storage.From([]int32{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 5, 6, 7, 8, 9, 0}, 4, 6)},
		{"cut", must[Ragged](t)(Offsets("x", values, offsets)), 2, storage.From([]int32{1, 2, 0, 0, 4, 0, 5, 6}, 4, 2)},
		{"sparse", must[Ragged](t)(Sparse("x", data, columns, starts, 3)), 3, dense},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.rows.Padded(c.length)
			if err != nil {
				t.Fatal(err)
			}
			storagetest.TestSource(t, got, c.want)
		})
	}
}
