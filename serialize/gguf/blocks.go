package gguf

import (
	"encoding/binary"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
)

// A block is a quantized type: a fixed number of elements stored in a fixed number of bytes.
type block struct {
	elements, size int
	decode         func(dst []float32, b []byte, order binary.ByteOrder)
}

// blocks are the quantized types that are read, by number (ggml/src/ggml-common.h and
// ggml-quants.c). Products are rounded to float32 before they are added, as there.
var blocks = map[uint32]block{
	2:  {32, 2 + 16, decodeQ4_0},
	3:  {32, 4 + 16, decodeQ4_1},
	6:  {32, 2 + 4 + 16, decodeQ5_0},
	7:  {32, 4 + 4 + 16, decodeQ5_1},
	8:  {32, 2 + 32, decodeQ8_0},
	10: {256, 16 + 64 + 4, decodeQ2_K},
	11: {256, 32 + 64 + 12 + 2, decodeQ3_K},
	12: {256, 4 + 12 + 128, decodeQ4_K},
	13: {256, 4 + 12 + 32 + 128, decodeQ5_K},
	14: {256, 128 + 64 + 16 + 2, decodeQ6_K},
	20: {32, 2 + 16, decodeIQ4_NL},
	23: {256, 2 + 2 + 4 + 128, decodeIQ4_XS},
	39: {32, 1 + 16, decodeMXFP4},
}

// half returns the float16 that b begins with.
func half(b []byte, order binary.ByteOrder) float32 { return dtype.F16(order.Uint16(b)).Float32() }

// nibbles returns 4 bits of each of 32 elements: element i is the low half of byte i, or the high
// half of byte i-16.
func nibbles(b []byte) (q [32]byte) {
	for i, x := range b[:16] {
		q[i], q[i+16] = x&15, x>>4
	}
	return q
}

// fifths adds the fifth bits of 32 elements.
func fifths(q [32]byte, bits uint32) [32]byte {
	for i := range q {
		q[i] |= byte(bits>>i) & 1 << 4
	}
	return q
}

// decodeQ8_0 decodes blocks: scale, int8 × 32.
func decodeQ8_0(dst []float32, b []byte, order binary.ByteOrder) {
	scale, b := half(b, order), b[2:]
	for i := range dst {
		dst[i] = float32(int8(b[i])) * scale
	}
}

// decodeQ4_0 decodes blocks: scale, 4 bits × 32, less 8.
func decodeQ4_0(dst []float32, b []byte, order binary.ByteOrder) {
	scale, b := half(b, order), b[2:]
	for i := range 16 { // faster than nibbles
		dst[i] = float32(int(b[i]&15)-8) * scale
		dst[i+16] = float32(int(b[i]>>4)-8) * scale
	}
}

// decodeQ4_1 decodes blocks: scale, minimum, 4 bits × 32.
func decodeQ4_1(dst []float32, b []byte, order binary.ByteOrder) {
	scale, minimum := half(b, order), half(b[2:], order)
	for i, q := range nibbles(b[4:]) {
		dst[i] = float32(scale*float32(q)) + minimum
	}
}

// decodeQ5_0 decodes blocks: scale, the fifth bits as uint32, 4 bits × 32, less 16.
func decodeQ5_0(dst []float32, b []byte, order binary.ByteOrder) {
	scale := half(b, order)
	for i, q := range fifths(nibbles(b[6:]), order.Uint32(b[2:])) {
		dst[i] = float32(int(q)-16) * scale
	}
}

// decodeQ5_1 decodes blocks: scale, minimum, the fifth bits as uint32, 4 bits × 32.
func decodeQ5_1(dst []float32, b []byte, order binary.ByteOrder) {
	scale, minimum := half(b, order), half(b[2:], order)
	for i, q := range fifths(nibbles(b[8:]), order.Uint32(b[4:])) {
		dst[i] = float32(scale*float32(q)) + minimum
	}
}

// two returns 2 bits of element i of 256: 32 bytes have those of 128 elements.
func two(b []byte, i int) byte { return b[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3 }

// decodeQ2_K decodes blocks: 4 bits of scale and 4 of minimum for each 16 elements, 2 bits × 256, and the scales of
// both.
func decodeQ2_K(dst []float32, b []byte, order binary.ByteOrder) {
	scale, minimum := half(b[80:], order), half(b[82:], order)
	for i := range dst {
		part := b[i/16]
		dst[i] = float32(float32(scale*float32(part&15))*float32(two(b[16:], i))) - float32(minimum*float32(part>>4))
	}
}

// decodeQ3_K decodes blocks: the third bits, inverted, 2 bits × 256, 6 bits of scale less 32 for each 16 elements, and
// their scale. 4 bits of the scales are in 8 bytes, the others in the next 4.
func decodeQ3_K(dst []float32, b []byte, order binary.ByteOrder) {
	scales, scale := b[96:108], half(b[108:], order)
	for i := range dst {
		part := i / 16
		bits := scales[part%8]>>(part/8*4)&15 | scales[8+part%4]>>(part/4*2)&3<<4
		q := int(two(b[32:], i))
		if b[i%32]>>(i/32)&1 == 0 {
			q -= 4
		}
		dst[i] = float32(scale*float32(int(bits)-32)) * float32(q)
	}
}

// scaleMin returns 6 bits of scale and 6 of minimum of part i of 8: the first four scales and
// minima are the low 6 bits of 8 bytes. The low 4 bits of the others are in the next 4, and their
// high 2 bits in the high bits of the first 8.
func scaleMin(b []byte, i int) (scale, minimum float32) {
	if i < 4 {
		return float32(b[i] & 63), float32(b[i+4] & 63)
	}
	return float32(b[i+4]&15 | b[i-4]>>6<<4), float32(b[i+4]>>4 | b[i]>>6<<4)
}

// decodeQ4_K decodes blocks: the scales of scales and of minima, scaleMin for each 32 elements, and 4 bits × 256.
func decodeQ4_K(dst []float32, b []byte, order binary.ByteOrder) {
	decodeK(dst, b, b[16:], make([]byte, 32), order)
}

// decodeQ5_K decodes blocks: Q4_K, with the fifth bits in 32 bytes before the others.
func decodeQ5_K(dst []float32, b []byte, order binary.ByteOrder) {
	decodeK(dst, b, b[48:], b[16:48], order)
}

// decodeK decodes blocks whose fifth bits are in high: those of the elements of part i of 8 are bit i
// of 32 bytes.
func decodeK(dst []float32, b, low, high []byte, order binary.ByteOrder) {
	for part := range 8 {
		scale, minimum := scaleMin(b[4:16], part)
		scale, minimum = half(b, order)*scale, half(b[2:], order)*minimum
		for i := range 32 {
			q := low[part/2*32+i]>>(part%2*4)&15 | high[i]>>part&1<<4
			dst[part*32+i] = float32(scale*float32(q)) - minimum
		}
	}
}

// decodeQ6_K decodes blocks: 4 bits × 256, 2 more bits of each, less 32, an int8 as scale of each 16 elements, and their
// scale.
func decodeQ6_K(dst []float32, b []byte, order binary.ByteOrder) {
	scale := half(b[208:], order)
	for i := range dst {
		low := b[i/128*64+i%64] >> (i % 128 / 64 * 4) & 15
		q := int(low|two(b[128:], i)<<4) - 32
		dst[i] = float32(scale*float32(int8(b[192+i/16]))) * float32(q)
	}
}

// valuesIQ4 are the values of 4 bits in IQ4_NL and IQ4_XS.
var valuesIQ4 = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// decodeIQ4_NL decodes blocks: scale, the index of a value × 32.
func decodeIQ4_NL(dst []float32, b []byte, order binary.ByteOrder) {
	scale := half(b, order)
	for i, q := range nibbles(b[2:]) {
		dst[i] = scale * valuesIQ4[q]
	}
}

// decodeIQ4_XS decodes blocks: scale, a uint16 with 2 high bits and 4 bytes with 4 low bits of a scale less 32 for
// each 32 elements, and the index of a value × 256.
func decodeIQ4_XS(dst []float32, b []byte, order binary.ByteOrder) {
	scale, high := half(b, order), order.Uint16(b[2:])
	for part := range 8 {
		bits := b[4+part/2]>>(part%2*4)&15 | byte(high>>(2*part)&3)<<4
		of32 := float32(scale * float32(int(bits)-32))
		for i, q := range nibbles(b[8+part*16:]) {
			dst[part*32+i] = of32 * valuesIQ4[q]
		}
	}
}

// valuesFP4 are twice the values of 4 bits of float4 (OCP Microscaling Formats, 5.3.3).
var valuesFP4 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// decodeMXFP4 decodes blocks: the exponent of a scale (127 stands for 1), and a float4 × 32.
func decodeMXFP4(dst []float32, b []byte, _ binary.ByteOrder) {
	scale := float32(math.Ldexp(1, int(b[0])-128)) // half of it, because the values are twice those
	for i, q := range nibbles(b[1:]) {
		dst[i] = scale * valuesFP4[q]
	}
}
