package tfbundle

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// A partitioned variable is stored in slices. Their keys are a zero, the name of the variable,
// and where each slice begins and how long it is along each axis, in the encodings of
// tensorflow/core/lib/strings/ordered_code.cc. The name itself has an entry without elements.

// An extent is where a slice is along an axis. A negative length is that of the whole axis.
type extent struct{ start, length int }

// parseSlice reads the key of a slice.
func parseSlice(key string) (name string, extents []extent, ok bool) {
	name, rest, ok := orderedText(strings.TrimPrefix(key, "\x00"))
	if !strings.HasPrefix(key, "\x00") || !ok || len(rest) < 2 || rest[0] != 1 || int(rest[1]) > maxRank {
		return "", nil, false
	}
	extents = make([]extent, rest[1])
	rest = rest[2:]
	for i := range extents {
		e := &extents[i]
		if e.start, rest, ok = orderedInt(rest); ok {
			e.length, rest, ok = orderedInt(rest)
		}
		if !ok || e.start < 0 || e.length > math.MaxInt-e.start {
			return "", nil, false
		}
	}
	return name, extents, rest == ""
}

// sliceName returns a readable name of a slice, such as embeddings/0:4,0:2.
func sliceName(name string, extents []extent) string {
	axes := make([]string, len(extents))
	for i, e := range extents {
		if axes[i] = fmt.Sprintf("%d:%d", e.start, e.start+e.length); e.length < 0 {
			axes[i] = ":"
		}
	}
	return name + "/" + strings.Join(axes, ",")
}

// orderedText reads a string that ends in 00 01. 00 FF is a zero in it, and FF 00 an FF.
func orderedText(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i+1 < len(s); i++ {
		switch pair := s[i : i+2]; {
		case pair == "\x00\x01":
			return b.String(), s[i+2:], true
		case pair == "\x00\xff":
			b.WriteByte(0)
			i++
		case pair == "\xff\x00":
			b.WriteByte(0xff)
			i++
		case s[i] == 0 || s[i] == 0xff:
			return "", "", false
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// orderedInt reads a big-endian integer of up to 7 bytes. As many of its highest bits as it has
// bytes are inverted.
func orderedInt(s string) (x int, rest string, ok bool) {
	if s == "" {
		return 0, "", false
	}
	first, negative := s[0], s[0]&0x80 == 0
	if negative {
		first = ^first
	}
	n := bits.LeadingZeros8(^first)
	if n > 7 || len(s) < n {
		return 0, "", false
	}
	if negative {
		x = -1
	}
	for i := range n {
		c := s[i]
		if i == 0 {
			c ^= byte(0xff << (8 - n))
		}
		x = x<<8 | int(c)
	}
	return x, s[n:], true
}
