package hdf5

import (
	"bytes"
	"errors"
	"fmt"
)

// A superblock has the sizes of addresses and lengths and the address of the root group.
// It is at byte 0, 512, 1024, 2048, …, after a user block for other programs. Addresses
// are relative to it.
//
//	version 0 and 1                          version 2 and 3
//	| 89 48 44 46 0d 0a 1a 0a     |  8       | 89 48 44 46 0d 0a 1a 0a |  8
//	| version                     |  1       | version                 |  1
//	| version of free space       |  1       | size of offsets         |  1
//	| version of root group       |  1       | size of lengths         |  1
//	| 0                           |  1       | consistency flags       |  1
//	| version of shared headers   |  1       | base address            |  O
//	| size of offsets, of lengths |  2       | extension address       |  O
//	| 0                           |  1       | end of file             |  O
//	| group leaf K, internal K    |  4       | root group's header     |  O
//	| consistency flags           |  4       | checksum                |  4
//	| (1) chunk K, 0              |  4
//	| base address, free space    | 2O
//	| end of file, driver info    | 2O
//	| root group's link           | 2O+24
type superblock struct {
	widths
	at      int    // its offset in the file
	version int    //
	root    uint64 // header of the root group
	end     uint64 // size of the file, from byte 0
	driver  uint64 // driver information, or undefined
	ext     uint64 // extension header, or undefined
	growing bool   // a program writes to the file that lets others read meanwhile (SWMR)
}

var magic = []byte("\x89HDF\r\n\x1a\n")

// errNotHDF5 is the error for files without a superblock.
var errNotHDF5 = errors.New("not an HDF5 file: no signature at byte 0, 512, 1024, …")

// superblockSize is the maximum size of a superblock: version 1 with 32-byte addresses.
const superblockSize = 24 + 4 + 4*32 + 2*32 + 24

// findSuperblock searches the offsets at which a superblock may be.
func findSuperblock(readAt func(at, n int) []byte, size int) (superblock, error) {
	for at := 0; at+len(magic) <= size; at = max(512, 2*at) {
		if bytes.Equal(readAt(at, len(magic)), magic) {
			return parseSuperblock(readAt(at, min(superblockSize, size-at)), at)
		}
	}
	return superblock{}, errNotHDF5
}

func parseSuperblock(buf []byte, at int) (superblock, error) {
	c := &cursor{what: "superblock", buf: buf}
	c.skip(len(magic))
	s := superblock{at: at, version: c.u8(), driver: undefined, ext: undefined}
	var base uint64
	switch s.version {
	case 0, 1:
		base = s.parseOld(c)
	case 2, 3:
		base = s.parseNew(c)
	default:
		c.fail("version %d is not known; the file is newer than this program", s.version)
	}
	if base != undefined && s.end != undefined {
		s.end += uint64(at) - base // a user block may have been added later
	}
	return s, c.err
}

// setWidths reads and checks the sizes of offsets and lengths.
func (s *superblock) setWidths(c *cursor) {
	s.offset, s.length = c.u8(), c.u8()
	for _, n := range []int{s.offset, s.length} {
		if n != 2 && n != 4 && n != 8 && n != 16 && n != 32 {
			c.fail("addresses of %d bytes and lengths of %d bytes are not possible", s.offset, s.length)
		}
	}
	c.widths = s.widths
}

func (s *superblock) parseOld(c *cursor) (base uint64) {
	c.skip(4)
	s.setWidths(c)
	c.skip(1 + 4 + 4)
	if s.version == 1 {
		c.skip(4)
	}
	base = c.address()
	c.address()
	s.end, s.driver = c.address(), c.address()
	c.address()
	s.root = c.address()
	return base
}

func (s *superblock) parseNew(c *cursor) (base uint64) {
	s.setWidths(c)
	flags := c.u8()
	base = c.address()
	s.ext, s.end, s.root = c.address(), c.address(), c.address()
	c.checksum()
	const writing, readersAllowed = 1, 4
	s.growing = s.version == 3 && flags&readersAllowed != 0
	if s.version == 3 && flags&writing != 0 && !s.growing {
		c.fail("the file is open for writing, or its writer never finished; if no one writes to it any more, h5clear -s resets the mark")
	}
	return base
}

// checkDriver returns an error for files that are one part of several.
//
//	| 0 | 0 0 0 | size (4) | driver (8) | … |
func (f *File) checkDriver() error {
	if f.super.driver == undefined {
		return nil
	}
	buf, err := f.bytes(f.super.driver, 16)
	if err != nil {
		return fmt.Errorf("driver information: %w", err)
	}
	switch name := string(buf[8:16]); name {
	case "NCSAfami", "NCSAmult":
		return fmt.Errorf("one part of a file that driver %s has split; join the parts with h5repart or h5repack", name)
	}
	return nil
}
