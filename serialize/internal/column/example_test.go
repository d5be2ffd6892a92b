package column_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// Example reads a column of times, of which one is missing.
func Example() {
	kind := column.Time("ms")
	c := &column.Column{Kind: kind, Rows: 1, Stored: func() int { return 8 }, Check: func() error { return nil }, Decode: func() (*column.Values, error) {
		v := &column.Values{}
		kind.AppendMissing(v)
		return v, nil
	}}
	e := c.Entry("when")
	elems, err := storage.Read[int64](e.Array)
	fmt.Println(e.Name, e.Attrs, elems, err)
	// Output: when map[numpy.descr:<M8[ms]] [-9223372036854775808] <nil>
}
