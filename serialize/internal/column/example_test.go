package column_test

import (
	"fmt"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// Example reads a column of times, of which one is missing.
func Example() {
	kind := column.Time("ms")
	next := func(v *column.Values) error {
		kind.AppendMissing(v)
		return nil
	}
	table := &column.Table{Rows: 1, Check: func() error { return nil }}
	c := &column.Column{Table: table, Kind: kind, Stored: func() int { return 8 }, Start: func() func(*column.Values) error { return next }}
	e, err := c.Entry("when")
	if err != nil {
		panic(err)
	}
	elems, err := storage.Read[int64](e.Array)
	fmt.Println(e.Name, e.Attrs, elems, err)
	// Output: when map[numpy.descr:<M8[ms]] [-9223372036854775808] <nil>
}
