package h5ck

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// A head describes the first 4 KiB of a file. The object header of the root group follows
// the superblock, and its first attribute is h5ck:index: four numbers of 8 bytes.
type head struct {
	offset, length int64 // of the index
	sum            uint32
	regionSum      uint32 // of the metadata up to the index, with values and rootSum as zeros
	values         int    // where the four numbers are
	rootSum        int    // where the checksum of the root group's header is
}

// parseHead reads the superblock and the header of the root group, as far as this package
// writes them. Anything else is an error: the file may still be of the profile.
func parseHead(b []byte) (h head, err error) {
	if len(b) < superblockEnd+10 || b[8] != 2 || b[9] != 8 || b[10] != 8 {
		return h, errNotProfile("superblock")
	}
	if root := binary.LittleEndian.Uint64(b[36:]); root != superblockEnd || string(b[root:root+4]) != "OHDR" || b[root+4] != 2 || b[root+5] != 2 {
		return h, errNotProfile("root group")
	}
	size := int64(binary.LittleEndian.Uint32(b[superblockEnd+6:]))
	at := superblockEnd + 10
	h.rootSum = at + int(size)
	name := append([]byte(attrIndex), 0)
	// | type | size (2) | flags | 3 0 | name, type, space (2 each) | 1 | name …
	const prefixSize = 4 + 9
	if len(b) < at+prefixSize+len(name) || b[at] != 12 || !bytes.Equal(b[at+prefixSize:][:len(name)], name) {
		return h, errNotProfile("index")
	}
	body := int(binary.LittleEndian.Uint16(b[at+1:]))
	typ, space := int(binary.LittleEndian.Uint16(b[at+8:])), int(binary.LittleEndian.Uint16(b[at+10:]))
	h.values = at + prefixSize + len(name) + typ + space
	if end := at + 4 + body; h.values+32 != end || end > len(b) || end > h.rootSum || size > maxRegion {
		return h, errNotProfile("index")
	}
	v := b[h.values:]
	h.offset, h.length = int64(binary.LittleEndian.Uint64(v)), int64(binary.LittleEndian.Uint64(v[8:]))
	h.sum, h.regionSum = uint32(binary.LittleEndian.Uint64(v[16:])), uint32(binary.LittleEndian.Uint64(v[24:]))
	return h, nil
}

// regionChecksum returns the checksum of the metadata from the header of the root group to
// the index, in the file that r reads.
func (h head) regionChecksum(r io.ReaderAt) (uint32, error) {
	var zeros [32]byte
	sum := crc32.New(castagnoli)
	part := func(start, end int64) error {
		_, err := io.Copy(sum, io.NewSectionReader(r, start, end-start))
		return err
	}
	err := part(superblockEnd, int64(h.values))
	sum.Write(zeros[:])
	err = cmp.Or(err, part(int64(h.values)+32, int64(h.rootSum)))
	sum.Write(zeros[:4])
	err = cmp.Or(err, part(int64(h.rootSum)+4, h.offset))
	return sum.Sum32(), err
}
