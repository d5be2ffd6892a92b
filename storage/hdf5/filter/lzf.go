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
