package filter

// Deflate, filter 1: a zlib stream (RFC 1950).
//
//	| 78 | flags | deflate blocks (RFC 1951) … | Adler-32 of the data, big-endian |
//
// params[0] is the compression level, 0 to 9.

// DeflateID is the number of the deflate filter.
const DeflateID = 1

func init() {
	Register(Codec{ID: DeflateID, Name: "deflate", Decode: decodeDeflate, Encode: encodeDeflate})
}

// Deflate returns a filter that compresses chunks as zlib does, at level 0 (store) to 9.
func Deflate(level int) Filter {
	return Filter{ID: DeflateID, Name: "deflate", Flags: 1, Params: []uint32{uint32(level)}}
}
