package launch

import (
	"slices"
	"testing"
)

// TestOptionsAreWords has options of every kind of number.
func TestOptionsAreWords(t *testing.T) {
	got, err := Words(struct {
		A    int
		B    [2]uint8
		C    struct{ D, E float64 }
		F, G bool
	}{-1, [2]uint8{2, 3}, struct{ D, E float64 }{1, -0.5}, true, false})
	if want := []uint64{1<<64 - 1, 2, 3, 0x3ff0000000000000, 0xbfe0000000000000, 1, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, error %v; want %x", got, err, want)
	}
}
