package storage

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
)

// ReverseBytes writes elements of 2, 4 or 8 bytes to dst with their bytes in the opposite order. Dst,
// which may be src, has as many bytes. Other sizes are copied.
func ReverseBytes(dst, src []byte, size int) {
	const low = 0x00ff00ff00ff00ff // the first byte of each element of two
	whole := len(src) &^ 7
	to, from := uint64s(dst[:whole]), uint64s(src[:whole])
	switch size {
	case 2:
		for i, x := range from {
			to[i] = x&low<<8 | x>>8&low
		}
	case 4:
		for i, x := range from {
			to[i] = bits.RotateLeft64(bits.ReverseBytes64(x), 32)
		}
	case 8:
		for i, x := range from {
			to[i] = bits.ReverseBytes64(x)
		}
	default:
		copy(dst, src)
		return
	}
	for at := whole; at < len(src); at += size {
		copy(dst[at:], src[at:at+size])
		slices.Reverse(dst[at : at+size])
	}
}

// uint64s reinterprets bytes, which need no alignment on the processors that [loadable] names.
func uint64s(b []byte) []uint64 {
	if len(b) < 8 { // no pointer to a number may reach beyond the memory
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// GoValue returns the little-endian number that b begins with as a Go value: int64, uint64, float64, bool
// or complex128, and a float32 as such.
func GoValue(t dtype.Type, b []byte) any {
	x := uint64(0)
	for k := min(t.Size(), 8) - 1; k >= 0; k-- {
		x = x<<8 | uint64(b[k])
	}
	unused := 64 - 8*t.Size()
	switch {
	case t == dtype.Bool:
		return x != 0
	case t == dtype.Float32:
		return math.Float32frombits(uint32(x))
	case t == dtype.Float64:
		return math.Float64frombits(x)
	case t == dtype.Complex64:
		return complex(float64(math.Float32frombits(uint32(x))), float64(math.Float32frombits(uint32(x>>32))))
	case t == dtype.Complex128:
		return complex(math.Float64frombits(x), math.Float64frombits(binary.LittleEndian.Uint64(b[8:])))
	case t.IsSigned():
		return int64(x<<unused) >> unused
	case t.IsInt():
		return x
	}
	var wide [8]byte // the small floats
	if err := dtype.Convert(wide[:], dtype.Float64, b[:t.Size()], t); err != nil {
		return err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(wide[:]))
}
