package filter

import "fmt"

// N-bit, filter 5 (H5Znbit.c), stores only the bits of each element that its type
// uses, highest first.
//
//	| bits of element 0 | bits of element 1 | … | zeros up to a whole byte |
//
// params: their number; 1 if nothing was packed; the number of elements; and the
// type, one of
//
//	1 size, order (0 little-endian, 1 big-endian), bits used, the lowest one     a number
//	2 size, type                                                                 an array
//	3 size, number of members, and of each: offset, type                         a compound
//	4 size                                                                       bytes, not packed

// NbitID is the number of the N-bit filter.
const NbitID = 5

func init() { Register(Codec{ID: NbitID, Name: "nbit", Decode: decodeNbit}) }

func decodeNbit(dst, src []byte, params []uint32, _ int) ([]byte, error) {
	if len(params) < 5 {
		return nil, fmt.Errorf("%d params", len(params))
	}
	if params[1] != 0 {
		return src, nil
	}
	t, _, err := nbitTypeOf(params[3:], 0)
	if err != nil {
		return nil, err
	}
	n := int(params[2])
	if n > len(dst)/t.size {
		return nil, fmt.Errorf("%d elements of %d bytes, where %d bytes are expected", n, t.size, len(dst))
	}
	dst = dst[:n*t.size]
	clear(dst)
	r := bitReader{src: src}
	for at := 0; at < len(dst); at += t.size {
		t.unpack(dst[at:at+t.size], &r)
		if r.short {
			return nil, errCorrupt
		}
	}
	return dst, nil
}

// An nbitType describes how an element is packed. A type without members is a number.
type nbitType struct {
	size      int
	bigEndian bool
	low, high int // the bits of a number that are stored
	members   []nbitMember
	count     int // repetitions of an array's only member
}

type nbitMember struct {
	offset int
	nbitType
}

// nbitDepth is the maximum depth of nested types.
const nbitDepth = 16

// nbitTypeOf reads a type from params and returns what follows it.
func nbitTypeOf(params []uint32, depth int) (t nbitType, rest []uint32, err error) {
	corrupt := fmt.Errorf("params describe no type: %w", errCorrupt)
	if len(params) < 2 || params[1] == 0 || depth > nbitDepth {
		return t, nil, corrupt
	}
	class := params[0]
	t.size = int(params[1])
	params = params[2:]
	switch {
	case class == 1 && len(params) >= 3:
		t.bigEndian, t.low = params[0] == 1, int(params[2])
		t.high = t.low + int(params[1])
		if params[0] > 1 || t.high > 8*t.size || t.low == t.high {
			return t, nil, corrupt
		}
		return t, params[3:], nil
	case class == 2:
		base, rest, err := nbitTypeOf(params, depth+1)
		if err != nil || base.size > t.size {
			return t, nil, corrupt
		}
		t.members, t.count = []nbitMember{{0, base}}, t.size/base.size
		return t, rest, nil
	case class == 3 && len(params) >= 1:
		return nbitCompound(t, params, depth)
	case class == 4:
		t.high = 8 * t.size
		t.bigEndian = true // the first byte comes first
		return t, params, nil
	}
	return t, nil, corrupt
}

func nbitCompound(t nbitType, params []uint32, depth int) (nbitType, []uint32, error) {
	n, used := params[0], 0
	params = params[1:]
	t.count = 1
	for range n {
		if len(params) < 3 {
			return t, nil, errCorrupt
		}
		offset := int(params[0])
		member, rest, err := nbitTypeOf(params[1:], depth+1)
		if err != nil {
			return t, nil, err
		}
		used += member.size
		if used > t.size || offset > t.size-member.size {
			return t, nil, errCorrupt
		}
		t.members, params = append(t.members, nbitMember{offset, member}), rest
	}
	return t, params, nil
}

// unpack reads the bits of one element into dst, which must be zero.
func (t nbitType) unpack(dst []byte, r *bitReader) {
	if t.count == 0 {
		t.unpackNumber(dst, r)
		return
	}
	for i := range t.count {
		for _, m := range t.members {
			at := m.offset + i*m.size
			m.unpack(dst[at:at+m.size], r)
		}
		if r.short {
			return
		}
	}
}

func (t nbitType) unpackNumber(dst []byte, r *bitReader) {
	for low := (t.high - 1) &^ 7; low+8 > t.low; low -= 8 { // bytes, from the highest down
		from, to := max(low, t.low), min(low+8, t.high)
		k := low / 8
		if t.bigEndian {
			k = t.size - 1 - k
		}
		dst[k] = byte(r.take(to-from) << (from - low))
	}
}
