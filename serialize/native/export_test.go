package native

// FileOf returns a file with a header and the bytes after it, whose checksums but those of
// storages are right.
func FileOf(header, data []byte) []byte {
	p := preamble{alignment: pageAlignment, header: int64(len(header)), headerDigest: checksum(header)}
	p.length = p.data() + int64(len(data)) + endSize
	b := append(p.encode(), header...)
	b = append(b, make([]byte, p.data()-int64(len(b)))...)
	return append(append(b, data...), encodeEnd(p.length, 0)...)
}
