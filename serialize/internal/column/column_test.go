package column_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// TestMissingIntegersLoseNothing reads integers beside a missing one as float64s, or as strings if
// float64 does not have them, and without a missing one as they are.
func TestMissingIntegersLoseNothing(t *testing.T) {
	for _, test := range []struct {
		typ   dtype.Type
		value int64
		exact bool
	}{
		{dtype.Int64, -5, true}, {dtype.Int64, 1<<53 - 1, true}, {dtype.Int64, 1<<53 + 1, false}, {dtype.Int64, -1<<53 - 1, false}, {dtype.Int64, 1<<63 - 1, false},
		{dtype.Int64, -1 << 63, false}, {dtype.Uint64, 7, true}, {dtype.Uint64, -1, false},
	} {
		kind := column.Kind{Type: test.typ}
		for _, missing := range []bool{false, true} {
			c := columnOf(kind, 2, func(v *column.Values) error {
				v.Numbers = binary.NativeEndian.AppendUint64(nil, uint64(test.value))
				if missing {
					kind.AppendMissing(v)
				} else {
					v.Numbers = append(v.Numbers, v.Numbers...)
				}
				return nil
			})
			c.Missing, c.Unknown = missing, !missing
			e, err := c.Entry("n")
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(test.value)
			if test.typ == dtype.Uint64 {
				text = fmt.Sprint(uint64(test.value))
			}
			switch {
			case !missing:
				a, err := e.Array.To(storage.CPU)
				if err != nil {
					t.Fatal(err)
				}
				if elems, _ := a.Bytes(); a.Type != test.typ || binary.NativeEndian.Uint64(elems[8:]) != uint64(test.value) {
					t.Errorf("%s: %v of type %v", text, elems, a.Type)
				}
			case test.exact:
				got, err := storage.Read[float64](e.Array)
				if err != nil || got[0] != float64(test.value) || got[1] == got[1] {
					t.Errorf("%s and a missing one: %v, %v", text, got, err)
				}
			case e.Elements == nil:
				t.Errorf("%s and a missing one have type %v; want strings", text, e.Array.Type)
			default:
				if got, err := e.Elements.Values(e.Elements.View); err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("[%q \"\"]", text) {
					t.Errorf("%s and a missing one: %q, %v", text, got, err)
				}
			}
		}
	}
}

// columnOf returns a column whose pages a function appends.
func columnOf(kind column.Kind, rows int, next func(*column.Values) error) *column.Column {
	table := &column.Table{Rows: rows, Check: func() error { return nil }}
	return &column.Column{Table: table, Kind: kind, Stored: func() int { return 16 * rows }, Start: func() func(*column.Values) error { return next }}
}
