package filter

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// ZFP, filter 32013 (P. Lindstrom, Fixed-Rate Compressed Floating-Point Arrays, IEEE
// TVCG 20, 2014; LLNL/zfp, LLNL/H5Z-ZFP), transforms blocks of 4 elements along each of
// up to 4 axes and stores the requested number of bits of the coefficients, highest
// bits first.
//
//	params[0]       versions
//	params[1:]      | "zfp" | 5 | type: 2 | axes-1: 2 | sizes-1: 48 | mode: 12 or 64 |
//	the chunk       | block | block | … |
//	a block         | not zero: 1 | exponent: 8 or 11 | planes of bits … |
//
// Numbers are stored lowest bit first. Blocks of integers have no exponent. Reversible
// blocks have the number of planes before the planes.

// ZFPID is the number of the ZFP filter.
const ZFPID = 32013

func init() { Register(Codec{ID: ZFPID, Name: "zfp", Plugin: "hdf5plugin", Decode: decodeZFP}) }

// A zfp holds the parameters of the filter.
type zfp struct {
	size             int    // bytes of an element
	float            bool   // or an integer
	dims             [4]int // last axis first; 1 beyond the rank
	axes             int
	minBits, maxBits int // of a block
	planes           int // of bits, at most
	exponent         int // of the lowest plane
	reversible, swap bool
	order            []uint8 // of coefficients
}

func decodeZFP(dst, src []byte, params []uint32, _ int) ([]byte, error) {
	z, err := zfpOf(params)
	if err != nil {
		return nil, err
	}
	n := z.dims[0] * z.dims[1] * z.dims[2] * z.dims[3] // at most 2^48, by the bits that hold them
	if n > len(dst)/z.size {
		return nil, fmt.Errorf("%d elements of %d bytes, where %d bytes are expected", n, z.size, len(dst))
	}
	dst = dst[:n*z.size]
	r := &lowBits{src: src}
	if z.size == 4 {
		err = decodeZFPBlocks[int32](z, dst, r)
	} else {
		err = decodeZFPBlocks[int64](z, dst, r)
	}
	if z.swap {
		for at := 0; at < len(dst); at += z.size {
			slices.Reverse(dst[at : at+z.size])
		}
	}
	return dst, err
}

// zfpOf reads the header in params, in either byte order.
func zfpOf(params []uint32) (*zfp, error) {
	if len(params) < 4 || len(params) > 16 {
		return nil, fmt.Errorf("%d params", len(params))
	}
	var head []byte
	for _, p := range params[1:] {
		head = binary.LittleEndian.AppendUint32(head, p)
	}
	z := &zfp{dims: [4]int{1, 1, 1, 1}}
	if z.swap = string(head[:3]) != "zfp"; z.swap {
		for at := 0; at < len(head); at += 4 {
			slices.Reverse(head[at : at+4])
		}
	}
	r := &lowBits{src: head}
	if magic := r.take(24); magic != 'z'|'f'<<8|'p'<<16 || r.take(8) != 5 {
		return nil, fmt.Errorf("params are no header of codec 5: %w", errCorrupt)
	}
	kind := r.take(2)
	z.float, z.size = kind >= 2, 4+4*int(kind&1)
	z.axes = int(r.take(2)) + 1
	for axis := range z.axes {
		z.dims[axis] = int(r.take(48/z.axes)) + 1
	}
	mode := r.take(12)
	if mode == 1<<12-1 {
		mode |= r.take(52) << 12
	}
	z.setMode(mode)
	z.order = zfpOrders()[z.axes-1]
	if r.short || z.minBits > z.maxBits || z.planes > 64 {
		return nil, errCorrupt
	}
	return z, nil
}

// setMode decodes the compression mode: the number of bits and planes of a block.
func (z *zfp) setMode(mode uint64) {
	const lowest = -1074 // the exponent of the smallest float64
	z.minBits, z.maxBits, z.planes, z.exponent = 1, 16658, 64, lowest
	switch {
	case mode < 2048: // fixed rate
		z.minBits, z.maxBits = int(mode)+1, int(mode)+1
	case mode < 2048+128: // fixed precision
		z.planes = int(mode) + 1 - 2048
	case mode == 2048+128:
		z.reversible = true
	case mode < 1<<12-1: // fixed accuracy
		z.exponent = int(mode) + lowest - (2048 + 128 + 1)
	default:
		z.minBits, z.maxBits = int(mode>>12&0x7fff)+1, int(mode>>27&0x7fff)+1
		z.planes = int(mode>>42&0x7f) + 1
		z.exponent = int(mode>>49&0x7fff) - 16495
		z.reversible = z.exponent < lowest
	}
}

// decodeZFPBlocks fills dst block by block.
func decodeZFPBlocks[I int32 | int64](z *zfp, dst []byte, r *lowBits) error {
	block := make([]I, len(z.order))
	d, at := z.dims, [4]int{}
	for at[3] = 0; at[3] < d[3]; at[3] += 4 {
		for at[2] = 0; at[2] < d[2]; at[2] += 4 {
			for at[1] = 0; at[1] < d[1]; at[1] += 4 {
				for at[0] = 0; at[0] < d[0]; at[0] += 4 {
					decodeZFPBlock(z, block, r)
					if r.short {
						return errCorrupt
					}
					scatterZFP(z, dst, block, at)
				}
			}
		}
	}
	return nil
}

// scatterZFP copies the elements of a block that lie within the array to dst.
func scatterZFP[I int32 | int64](z *zfp, dst []byte, block []I, at [4]int) {
	for i, x := range block {
		to, inside := 0, true
		for axis := z.axes - 1; axis >= 0; axis-- {
			coord := at[axis] + i>>(2*axis)&3
			inside = inside && coord < z.dims[axis]
			to = to*z.dims[axis] + coord
		}
		switch {
		case !inside:
		case z.size == 4:
			binary.LittleEndian.PutUint32(dst[4*to:], uint32(x))
		default:
			binary.LittleEndian.PutUint64(dst[8*to:], uint64(x))
		}
	}
}

// decodeZFPBlock decodes the elements of a block. Floats become their bit patterns.
func decodeZFPBlock[I int32 | int64](z *zfp, block []I, r *lowBits) {
	begin, width, exponentBits := r.at, 8*z.size, 11
	if z.size == 4 {
		exponentBits = 8
	}
	exponent, reinterpreted := 0, false
	if z.float {
		if r.take(1) == 0 {
			clear(block)
			r.skipTo(begin + z.minBits)
			return
		}
		reinterpreted = z.reversible && r.take(1) == 1
		if !reinterpreted {
			exponent = int(r.take(exponentBits)) - (1<<(exponentBits-1) - 1)
		}
	}
	planes := z.planes
	switch {
	case z.reversible && z.size == 4:
		planes = int(r.take(5)) + 1
	case z.reversible:
		planes = int(r.take(6)) + 1
	case z.float:
		planes = min(planes, max(0, exponent-z.exponent+2*z.axes+2))
	}
	decodeZFPPlanes(z, block, r, planes, begin+z.maxBits)
	r.skipTo(begin + z.minBits)
	z.transform(func(at, step int) {
		if z.reversible {
			inverseLorenzo(block, at, step)
		} else {
			inverseLift(block, at, step)
		}
	})
	switch {
	case reinterpreted:
		for i, x := range block {
			if x < 0 { // sign and magnitude
				block[i] = x ^ I(1<<(width-1)-1)
			}
		}
	case z.float:
		scaleZFP(block, exponent-(width-2), z.reversible && exponent == -(1<<(exponentBits-1)-1))
	}
}

// decodeZFPPlanes decodes planes of bits, highest first, until the bit at end. Each
// plane has the bits of the coefficients that are known to be nonzero, followed by the
// others as run lengths of zeros.
func decodeZFPPlanes[I int32 | int64](z *zfp, block []I, r *lowBits, planes, end int) {
	clear(block)
	data := make([]uint64, len(block))
	size, width, n := len(block), 8*z.size, 0
	for k := width - 1; k >= max(0, width-planes) && r.at < end && !r.short; k-- {
		for i := 0; i < n && r.at < end; i++ {
			data[i] |= r.take(1) << k
		}
		for n < size && r.at < end && r.take(1) == 1 {
			for n < size-1 && r.at < end && r.take(1) == 0 {
				n++
			}
			data[n] |= 1 << k
			n++
		}
	}
	const negabinary = 0xaaaaaaaaaaaaaaaa
	for i, x := range data {
		block[z.order[i]] = I(x ^ negabinary - negabinary)
	}
}

// transform calls lift for all rows of a block along each axis, last axis first, with
// the start of the row and the step to its next element.
func (z *zfp) transform(lift func(at, step int)) {
	for axis := z.axes - 1; axis >= 0; axis-- {
		step := 1 << (2 * axis)
		for at := range len(z.order) {
			if at/step%4 == 0 {
				lift(at, step)
			}
		}
	}
}

// inverseLift multiplies four elements by the matrix
//
//	     4  6 -4 -1
//	1/4  4  2  4  5
//	     4 -2  4 -5
//	     4 -6 -4  1
//
// in steps that lose only the lowest bits.
func inverseLift[I int32 | int64](p []I, at, step int) {
	x, y, z, w := p[at], p[at+step], p[at+2*step], p[at+3*step]
	y += w >> 1
	w -= y >> 1
	y += w
	w -= y - w
	z += x
	x -= z - x
	y += z
	z -= y - z
	w += x
	x -= w - x
	p[at], p[at+step], p[at+2*step], p[at+3*step] = x, y, z, w
}

// inverseLorenzo multiplies four elements by Pascal's matrix, which is exact.
func inverseLorenzo[I int32 | int64](p []I, at, step int) {
	x, y, z, w := p[at], p[at+step], p[at+2*step], p[at+3*step]
	w += z
	z += y
	w += z
	y += x
	z += y
	w += z
	p[at], p[at+step], p[at+2*step], p[at+3*step] = x, y, z, w
}

// scaleZFP replaces each element by the bits of the float element · 2^exponent.
func scaleZFP[I int32 | int64](block []I, exponent int, zero bool) {
	scale := math.Ldexp(1, exponent)
	for i, x := range block {
		switch any(x).(type) {
		case int32:
			block[i] = I(math.Float32bits(float32(scale) * float32(x)))
		default:
			block[i] = I(math.Float64bits(scale * float64(x)))
		}
	}
	if zero {
		clear(block)
	}
}

// A lowBits reads numbers of any width from bytes, lowest bit first. Beyond the end it
// reads zeros and sets short.
type lowBits struct {
	src   []byte
	at    int
	short bool
}

func (r *lowBits) take(width int) (x uint64) {
	for got := 0; got < width; {
		if r.at>>3 >= len(r.src) {
			r.short = true
			r.at += width - got
			return x
		}
		n := min(8-r.at&7, width-got)
		x |= uint64(r.src[r.at>>3]) >> (r.at & 7) & (1<<n - 1) << got
		got, r.at = got+n, r.at+n
	}
	return x
}

func (r *lowBits) skipTo(at int) {
	r.at = max(r.at, at)
	r.short = r.short || r.at > 8*len(r.src)
}

// zfpOrders returns, for 1 to 4 axes, the index in a block of each coefficient: ordered
// by the sum of its coordinates, then by the sum of their squares, then as listed in
// the format.
var zfpOrders = sync.OnceValue(func() (orders [4][]uint8) {
	for axes, list := range [4]string{zfpOrder1, zfpOrder2, zfpOrder3, zfpOrder4} {
		for places := range strings.FieldsSeq(list) {
			at := 0
			for axis, digit := range []byte(places) {
				at += int(digit-'0') << (2 * axis)
			}
			orders[axes] = append(orders[axes], uint8(at))
		}
	}
	return orders
})

const (
	zfpOrder1 = "0 1 2 3"
	zfpOrder2 = "00 10 01 11 20 02 21 12 30 03 22 31 13 32 23 33"
	zfpOrder3 = "000 100 010 001 011 101 110 200 020 002 111 210 201 021 120 102 012 300 030 003 211 121 112 022 202 220 310 301 " +
		"031 130 103 013 122 212 221 311 131 113 320 302 032 230 203 023 222 321 312 132 231 213 123 033 303 330 322 232 " +
		"223 133 313 331 233 323 332 333"
	zfpOrder4 = "" +
		"0000 1000 0100 0010 0001 1100 0011 1010 0101 1001 0110 2000 0200 0020 0002 0111 1011 1101 1110 2100 2010 2001 0210 " +
		"0201 1200 0021 1020 0120 1002 0102 0012 3000 0300 0030 0003 1111 2011 2101 2110 1201 1210 0211 1120 0121 1021 0112 " +
		"1012 1102 2200 0022 2020 0202 2002 0220 3100 3010 3001 0310 0301 1300 0031 1030 0130 1003 0103 0013 2111 1211 1121 " +
		"1112 1022 1202 1220 2102 2120 0122 2210 0212 2012 0221 2021 2201 3011 3101 3110 1301 1310 0311 1130 0131 1031 0113 " +
		"1013 1103 3200 3020 3002 0320 0302 2300 0032 2030 0230 2003 0203 0023 2211 1122 2121 1212 2112 1221 0222 2022 2202 " +
		"2220 3111 1311 1131 1113 3210 3201 3021 3120 3102 3012 0321 1320 1302 0312 2310 2301 1032 0132 2130 2031 0231 1230 " +
		"2103 2013 0213 1203 1023 0123 3300 0033 3030 0303 3003 0330 1222 2122 2212 2221 3211 3121 3112 1321 1312 2311 1132 " +
		"2131 1231 2113 1213 1123 3022 3202 3220 2302 2320 0322 2230 0232 2032 0223 2023 2203 1033 1303 1330 3103 3130 0133 " +
		"3310 0313 3013 0331 3031 3301 2222 3122 3212 3221 2312 2321 1322 2231 1232 2132 1223 2123 2213 3311 1133 3131 1313 " +
		"3113 1331 2033 2303 2330 3203 3230 0233 3320 0323 3023 0332 3032 3302 3222 2322 2232 2223 2133 2313 2331 3213 3231 " +
		"1233 3321 1323 3123 1332 3132 3312 0333 3033 3303 3330 3322 2233 3232 2323 3223 2332 1333 3133 3313 3331 2333 3233 " +
		"3323 3332 3333"
)
