package format

import "encoding/binary"

// VerifyChecksums is switched off by fuzz tests, because hardly any mutation would get
// past the checksums of metadata.
var VerifyChecksums = true

// Lookup3 is Bob Jenkins' hash function of that name (2006, burtleburtle.net/bob/c/lookup3.c,
// hashlittle with an initial value of zero), the checksum of HDF5 metadata.
func Lookup3(key []byte) uint32 {
	a := 0xdeadbeef + uint32(len(key))
	b, c := a, a
	for len(key) > 12 {
		a += binary.LittleEndian.Uint32(key)
		b += binary.LittleEndian.Uint32(key[4:])
		c += binary.LittleEndian.Uint32(key[8:])
		a, b, c = mix(a, b, c)
		key = key[12:]
	}
	if len(key) == 0 {
		return c
	}
	var tail [12]byte
	copy(tail[:], key)
	a += binary.LittleEndian.Uint32(tail[:])
	b += binary.LittleEndian.Uint32(tail[4:])
	c += binary.LittleEndian.Uint32(tail[8:])
	return final(a, b, c)
}

func rot(x uint32, k int) uint32 { return x<<k | x>>(32-k) }

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	a, c = (a-c)^rot(c, 4), c+b
	b, a = (b-a)^rot(a, 6), a+c
	c, b = (c-b)^rot(b, 8), b+a
	a, c = (a-c)^rot(c, 16), c+b
	b, a = (b-a)^rot(a, 19), a+c
	c, b = (c-b)^rot(b, 4), b+a
	return a, b, c
}

func final(a, b, c uint32) uint32 {
	c = (c ^ b) - rot(b, 14)
	a = (a ^ c) - rot(c, 11)
	b = (b ^ a) - rot(a, 25)
	c = (c ^ b) - rot(b, 16)
	a = (a ^ c) - rot(c, 4)
	b = (b ^ a) - rot(a, 14)
	c = (c ^ b) - rot(b, 24)
	return c
}
