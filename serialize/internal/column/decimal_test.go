package column_test

import (
	"encoding/binary"
	"testing"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// TestDecimalsAreExact: signs, powers of ten, and digits before and after the point.
func TestDecimalsAreExact(t *testing.T) {
	for _, test := range []struct {
		integer int64
		scale   int
		want    string
	}{
		{0, 0, "0"}, {0, 2, "0.00"}, {0, -3, "0"}, {5, 0, "5"}, {5, 2, "0.05"}, {-5, 2, "-0.05"}, {123, 2, "1.23"}, {-12345, 2, "-123.45"}, {7, -2, "700"}, {-100, 2, "-1.00"},
		{1<<63 - 1, 4, "922337203685477.5807"}, {-1 << 63, 0, "-9223372036854775808"},
	} {
		big := binary.BigEndian.AppendUint64(nil, uint64(test.integer))
		little := binary.LittleEndian.AppendUint64(nil, uint64(test.integer))
		if got, other := column.Decimal(big, test.scale), column.DecimalLittleEndian(little, test.scale); got != test.want || other != test.want {
			t.Errorf("%d with scale %d: %s and %s; want %s", test.integer, test.scale, got, other, test.want)
		}
	}
	if got := column.Decimal(append([]byte{0x80}, make([]byte, 15)...), 1); got != "-17014118346046923173168730371588410572.8" {
		t.Errorf("-2^127 with scale 1: %s", got)
	}
}
