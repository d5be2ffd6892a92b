package column_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// TestMissingIntegersAreExactOrAnError reads integers beside a missing one as float64.
func TestMissingIntegersAreExactOrAnError(t *testing.T) {
	for _, test := range []struct {
		value int64
		exact bool
	}{{-5, true}, {1<<53 - 1, true}, {1<<53 + 1, false}, {-1<<53 - 1, false}, {1<<63 - 1, false}} {
		kind := column.Kind{Type: dtype.Int64}
		c := columnOf(kind, 2, func(v *column.Values) error {
			v.Numbers = binary.NativeEndian.AppendUint64(nil, uint64(test.value))
			kind.AppendMissing(v)
			return nil
		})
		c.Missing = true
		got, err := storage.Read[float64](c.Entry("n").Array)
		switch {
		case test.exact && (err != nil || got[0] != float64(test.value) || got[1] == got[1]):
			t.Errorf("%d and a missing one: %v, %v", test.value, got, err)
		case !test.exact && (err == nil || !strings.Contains(err.Error(), "fill the missing ones")):
			t.Errorf("%d is %v, %v; want an error", test.value, got, err)
		}
	}
}

// columnOf returns a column whose pages a function appends.
func columnOf(kind column.Kind, rows int, next func(*column.Values) error) *column.Column {
	table := &column.Table{Rows: rows, Check: func() error { return nil }}
	return &column.Column{Table: table, Kind: kind, Stored: func() int { return 16 * rows }, Start: func() func(*column.Values) error { return next }}
}
