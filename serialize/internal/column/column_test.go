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
		c := &column.Column{Kind: kind, Missing: true, Rows: 2, Stored: func() int { return 16 }, Check: func() error { return nil }, Decode: func() (*column.Values, error) {
			v := &column.Values{Numbers: binary.NativeEndian.AppendUint64(nil, uint64(test.value))}
			kind.AppendMissing(v)
			return v, nil
		}}
		got, err := storage.Read[float64](c.Entry("n").Array)
		switch {
		case test.exact && (err != nil || got[0] != float64(test.value) || got[1] == got[1]):
			t.Errorf("%d and a missing one: %v, %v", test.value, got, err)
		case !test.exact && (err == nil || !strings.Contains(err.Error(), "fill the missing ones")):
			t.Errorf("%d is %v, %v; want an error", test.value, got, err)
		}
	}
}
