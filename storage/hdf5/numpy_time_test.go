package hdf5

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// TestNumPyTimes compares with what NumPy 2 prints for the same integers.
func TestNumPyTimes(t *testing.T) {
	for _, c := range []struct {
		tag  string
		x    int64
		want string
	}{
		{"<M8[Y]", -1971, "-001"},
		{"<M8[Y]", 30000, "31970"},
		{"<M8[M]", -25, "1967-12"},
		{"<M8[W]", -3, "1969-12-11"},
		{"<M8[D]", -719529, "-001-12-31"},
		{"<M8[D]", 11016, "2000-02-29"},
		{"<M8[h]", -1, "1969-12-31T23"},
		{"<M8[m]", -61, "1969-12-31T22:59"},
		{"<M8[s]", 951782399, "2000-02-28T23:59:59"},
		{"<M8[s]", -62167219201, "-001-12-31T23:59:59"},
		{"<M8[ms]", -1, "1969-12-31T23:59:59.999"},
		{"<M8[us]", 1, "1970-01-01T00:00:00.000001"},
		{"<M8[ns]", 1<<63 - 1, "2262-04-11T23:47:16.854775807"},
		{"<M8[ps]", -1 << 62, "1969-11-08T14:58:33.981572612096"},
		{"<M8[fs]", -1, "1969-12-31T23:59:59.999999999999999"},
		{"<M8[as]", -1, "1969-12-31T23:59:59.999999999999999999"},
		{"<M8[25s]", 3, "1970-01-01T00:01:15"},
		{">M8[s]", 1, "1970-01-01T00:00:01"},
		{"<M8[s]", -1 << 63, "NaT"},
		{"<m8[D]", -1 << 63, "NaT"},
		{"<m8[7D]", -5, "-5"},
	} {
		n := parseNumpyTime("NUMPY:"+c.tag, 8)
		if n == nil || n.code() != c.tag {
			t.Errorf("%s: taken for %v", c.tag, n)
			continue
		}
		element := binary.LittleEndian.AppendUint64(nil, uint64(c.x))
		if n.order == ">" {
			element = binary.BigEndian.AppendUint64(nil, uint64(c.x))
		}
		if got := fmt.Sprint(n.value(element)); got != c.want {
			t.Errorf("%s, %d: got %s, want %s", c.tag, c.x, got, c.want)
		}
	}
	for _, tag := range []string{"NUMPY:<M8", "NUMPY:<M8[0s]", "NUMPY:<M8[x]", "NUMPY:|M8[s]", "<M8[s]"} {
		if n := parseNumpyTime(tag, 8); n != nil {
			t.Errorf("%s: taken for %v", tag, n)
		}
	}
}
