package arrayfmt

import (
	"fmt"
	"math"
	"strings"
)

// Shape returns a shape as Python writes a tuple; sizes below 0 are unlimited.
func Shape(shape []int) string {
	cells := make([]string, len(shape))
	for axis, n := range shape {
		cells[axis] = fmt.Sprint(n)
		if n < 0 {
			cells[axis] = "unlimited"
		}
	}
	if len(cells) == 1 {
		return "(" + cells[0] + ",)"
	}
	return "(" + strings.Join(cells, ", ") + ")"
}

// Bytes formats a number of bytes with a binary unit.
func Bytes(n int) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1024, 0
	for ; x >= 1024 && unit < 5; unit++ {
		x /= 1024
	}
	digits := max(0, 2-int(math.Log10(x)))
	return fmt.Sprintf("%.*f %ciB", min(1, digits), x, "KMGTPE"[unit])
}
