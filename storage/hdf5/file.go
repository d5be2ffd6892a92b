// Package hdf5 is HDF5 files as places where arrays live: what is in them, and
// arrays of theirs that are read on demand, a part at a time, or written.
//
// Reading is all Go, one file of this folder for each structure of the format
// (HDF5 File Format Specification, version 3.0). No size, address or count in a
// file is believed before it was checked against the bytes there are, every
// structure is walked at most once, and no other file is opened unless
// [Options] allow it: a file from a stranger is an error or data. libhdf5 writes.
//
// It knows types, shapes and bytes. What arrays mean to each other belongs to
// package serialize, how batches are made of them to package dataset.
package hdf5

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/h5dnn/h5dnn/storage"
)

// A File is an HDF5 file open for reading. All its methods may be called from
// several goroutines.
type File struct {
	name    string
	options Options
	file    *os.File
	size    int // bytes, when it was opened
	super   superblock
	widths
	shared  []sharedIndex // where shared messages are kept
	image   []imageEntry  // metadata that is newer than what is in its place
	blocks  blockCache
	chunks  chunkCache
	mapping mapping
	heaps   heapCache
	groups  groupCache
	linked  *linkedFiles             // files it may lead to, or nil
	paths   func() map[uint64]string // of every object, by address of its header
}

// Options change how a file is opened. The zero value is right for files from strangers.
type Options struct {
	// Follow names a folder whose files may be opened where this one refers to
	// them: by external links, external raw data and virtual datasets. Without
	// it no other file is ever opened.
	Follow string

	// CacheBytes is the most memory that decoded chunks are kept in, so that
	// reading row by row does not decode a chunk again for every row. 0 means
	// 64 MiB; negative, none.
	CacheBytes int
}

// Open opens the named file for reading.
func Open(name string, options ...Options) (*File, error) {
	// Opened as usual, a pipe would wait for its writer.
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, file: file}
	if len(options) > 0 {
		f.options = options[0]
	}
	err = f.start()
	if err == nil && f.options.Follow != "" {
		err = f.allowFolder(f.options.Follow)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// start reads what has to be known before anything else can be read.
func (f *File) start() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file; HDF5 needs one it can seek in")
	}
	f.size = int(info.Size())
	f.chunks.limit = f.options.CacheBytes
	if f.chunks.limit == 0 {
		f.chunks.limit = 64 << 20
	}
	f.paths = sync.OnceValue(f.mapPaths)
	f.super, err = findSuperblock(f.peek, f.size)
	if err != nil {
		return err
	}
	f.widths = f.super.widths
	if end := f.super.end; end != undefined && end > uint64(f.size) {
		return fmt.Errorf("truncated: has %d bytes of %d", f.size, end)
	}
	return errors.Join(f.checkDriver(), f.readExtension())
}

// peek returns n bytes at a place in the file, or nil.
func (f *File) peek(at, n int) []byte {
	b := make([]byte, n)
	if _, err := f.file.ReadAt(b, int64(at)); err != nil {
		return nil
	}
	return b
}

// Close closes the file. Arrays read from it on demand fail from then on;
// arrays that are mapped stay usable for as long as they are reachable.
func (f *File) Close() error {
	if f.linked != nil {
		return errors.Join(f.linked.close(f), f.closeSelf())
	}
	return f.closeSelf()
}

func (f *File) closeSelf() error {
	return errors.Join(f.mapping.close(), f.file.Close())
}

// ReadAt reads bytes of the file itself, from its first byte on, user block included.
// It implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }

// Name returns the name the file was opened with.
func (f *File) Name() string { return f.name }

// Size returns the file's size in bytes when it was opened.
func (f *File) Size() int { return f.size }

// UserBlock returns the number of bytes before the HDF5 content.
func (f *File) UserBlock() int { return f.super.at }

// FormatVersion returns the version of the file's superblock, 0 to 3.
func (f *File) FormatVersion() int { return f.super.version }

// span turns an address and a length into a range of the file, or explains why it cannot.
func (f *File) span(address uint64, n int) (at int64, err error) {
	switch limit := uint64(f.size - f.super.at); {
	case address == undefined:
		return 0, errors.New("address is undefined")
	case n < 0 || address > limit || uint64(n) > limit-address:
		return 0, fmt.Errorf("%d bytes at address %d are beyond the file's end at %d", n, address, limit)
	}
	return int64(address) + int64(f.super.at), nil
}

// readAt fills b from the given address.
func (f *File) readAt(b []byte, address uint64) error {
	at, err := f.span(address, len(b))
	if err != nil {
		return err
	}
	return f.pread(b, at)
}

func (f *File) pread(b []byte, at int64) error {
	n, err := f.file.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, os.ErrClosed) {
		return errClosed
	}
	return fmt.Errorf("file cut short while in use: %d bytes at %d: %w", len(b), at, err)
}

var errClosed = fmt.Errorf("the file was closed: %w", storage.ErrState)

// maxStructure is the most bytes of metadata that are read at once.
const maxStructure = 128 << 20

// bytes returns n bytes of metadata, not to be written to, from the given address.
func (f *File) bytes(address uint64, n int) ([]byte, error) {
	at, err := f.span(address, n)
	if err != nil {
		return nil, err
	}
	if n > maxStructure {
		return nil, fmt.Errorf("structure of %d bytes at address %d; more than %d are not believed", n, address, maxStructure)
	}
	if b := f.imageOf(address, n); b != nil {
		return b, nil
	}
	return f.blocks.bytes(f, at, n)
}

// cursor returns a cursor over n bytes from the given address.
func (f *File) cursor(what string, address uint64, n int) *cursor {
	buf, err := f.bytes(address, n)
	c := &cursor{widths: f.widths, what: what, buf: buf}
	if err != nil {
		c.fail("%w", err)
	}
	return c
}

// newCursor returns a cursor over bytes at hand.
func (f *File) newCursor(what string, buf []byte) *cursor {
	return &cursor{widths: f.widths, what: what, buf: buf}
}

// A blockCache keeps stretches of the file around metadata: small structures
// lie close together, and are often read more than once. It has a young and an
// old half; what is used in time moves from old to young.
type blockCache struct {
	sync.Mutex
	young, old map[int64][]byte
}

const (
	blockSize  = 64 << 10
	halfBlocks = 256 // 16 MiB
)

func (c *blockCache) bytes(f *File, at int64, n int) ([]byte, error) {
	first, last := at/blockSize, (at+int64(n)-1)/blockSize
	if n == 0 {
		return nil, nil
	}
	if first != last {
		b := make([]byte, n)
		return b, f.pread(b, at)
	}
	block, err := c.block(f, first)
	if err != nil {
		return nil, err
	}
	from := int(at - first*blockSize)
	if from+n > len(block) {
		return nil, fmt.Errorf("file cut short while in use: %d bytes at %d", n, at)
	}
	return block[from : from+n : from+n], nil
}

func (c *blockCache) block(f *File, k int64) ([]byte, error) {
	c.Lock()
	defer c.Unlock()
	b, ok := c.young[k]
	if ok {
		return b, nil
	}
	if b, ok = c.old[k]; !ok {
		b = make([]byte, min(blockSize, f.size-int(k*blockSize)))
		if err := f.pread(b, k*blockSize); err != nil {
			return nil, err
		}
	}
	if c.young == nil || len(c.young) >= halfBlocks {
		c.young, c.old = map[int64][]byte{}, c.young
	}
	c.young[k] = b
	return b, nil
}
