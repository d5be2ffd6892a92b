package filter

// LZF, filter 32000 (h5py/lzf/lzf_d.c; LibLZF by M. Lehmann): literals, and matches
// with earlier output.
//
//	| 000 n |                    n+1 literals follow
//	| len offset_high | offset |      len+2 bytes from offset+1 back, len 1 to 6
//	| 111 offset_high | len | offset |    len+9 bytes from offset+1 back
//
// The first field has 3 bits, the second 5.

// LZFID is the number of the LZF filter.
const LZFID = 32000

func init() { Register(Codec{ID: LZFID, Name: "lzf", Decode: decodeLZF}) }

func decodeLZF(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	n := 0
	for len(src) > 0 {
		control := int(src[0])
		src = src[1:]
		if control < 32 {
			if control+1 > len(src) || control+1 > len(dst)-n {
				return nil, errCorrupt
			}
			n += copy(dst[n:], src[:control+1])
			src = src[control+1:]
			continue
		}
		size := control >> 5
		if size == 7 && len(src) > 0 {
			size += int(src[0])
			src = src[1:]
		}
		if len(src) == 0 || !copyMatch(dst, n, control&31<<8|int(src[0])+1, size+2) {
			return nil, errCorrupt
		}
		n += size + 2
		src = src[1:]
	}
	return dst[:n], nil
}

// copyMatch copies size bytes within dst to at, from distance bytes before it. The
// two may overlap. It reports false if either is out of range.
func copyMatch(dst []byte, at, distance, size int) bool {
	if distance < 1 || distance > at || size > len(dst)-at {
		return false
	}
	for from, end := at-distance, at+size; at < end; {
		at += copy(dst[at:end], dst[from:at]) // doubles while the two overlap
	}
	return true
}
