//go:build !cgo

package filter

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
