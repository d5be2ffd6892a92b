// Package hdf5 reads HDF5 files: the objects in a file, and their elements as arrays that
// are read on demand.
//
// It is written in Go, with one file for each structure of the format (HDF5 File Format
// Specification, version 3.0), and does not link libhdf5; only the filters use C. Every
// size, address and count in a file is checked against the size of the file before it is
// used, every structure is visited at most once, and no other file is opened unless
// [Options] allow it. A hostile file gives data or an error.
//
// Package hdf5write writes files. The meaning of arrays belongs to package serialize,
// batches of them to package dataset.
package hdf5

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/internal/signature"
	"github.com/h5dnn/h5dnn/storage"
)

// A File is an HDF5 file open for reading. Its methods may be called concurrently.
type File struct {
	name    string
	dir     string // relative to which links name other files
	options Options
	r       io.ReaderAt
	file    *os.File                       // r, if it is a file that can be mapped
	remote  *remoteFile                    // r, if it is read over a network; else nil
	close   func() error                   // of r, if Open opened it
	reopen  func() (storage.Remote, error) // opens the URL again; nil for local files
	closed  atomic.Bool
	size    int // bytes, when it was opened
	super   superblock
	widths
	shared  []sharedIndex // tables of shared messages
	image   []imageEntry  // metadata cache image, which replaces what is at its addresses
	blocks  blockCache
	chunks  *chunkCache
	mapping mapping
	heaps   addressCache[collection] // of the global heap
	groups  addressCache[[]link]     // of the links of groups
	types   sync.Map                 // of datasets and attributes, by their short messages
	linked  *linkedFiles             // other files, or nil if they may not be opened
	root    func() (*Object, error)
	paths   func() map[uint64]string // of every object, by the address of its header
}

// Options configure how a file is opened. The zero value is suitable for files from
// untrusted sources.
type Options struct {
	// Follow names a folder, or a URL. External links, external raw data and virtual datasets may
	// refer to files in it. If it is empty, no other file is opened.
	Follow string

	// CacheBytes limits the memory of the cache of decoded chunks, which keeps a chunk
	// from being decoded again for every row. 0 means 64 MiB; a negative number disables
	// the cache.
	CacheBytes int

	// Budget limits memory and elements for which the file stores little. Nil is one
	// with the default limit.
	Budget *storage.Budget

	// Context ends long reads when it is done; nil never does. Reads return its error.
	Context context.Context

	// Name is the file's name in errors. The default is that of the *os.File.
	Name string
}

// Open opens the named file, or the one at a URL if package storage/remote is linked. Contiguous
// data is mapped into memory, unless it is very large.
func Open(name string, options ...Options) (*File, error) {
	if storage.IsURL(name) {
		return openURL(name, options)
	}
	file, err := storage.OpenFile(name)
	if err != nil {
		return nil, err
	}
	size, err := regularSize(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f, err := open(&File{name: name, dir: filepath.Dir(name), r: file, file: file, close: file.Close}, size, options)
	if err != nil {
		file.Close()
	}
	return f, err
}

// regularSize returns the size of a regular file.
func regularSize(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file; HDF5 requires random access")
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// NewReader opens an HDF5 file that is read through r and has the given size, such as a
// part of an archive, memory, or a remote object. ReadAt is called concurrently. If r is
// an *os.File, it is mapped as by Open; what a [storage.Remote] will read is prefetched. The
// caller closes r after the File.
func NewReader(r io.ReaderAt, size int64, options ...Options) (*File, error) {
	f := &File{name: "reader", r: r}
	if file, ok := r.(*os.File); ok {
		f.name, f.dir = file.Name(), filepath.Dir(file.Name())
		if have, err := regularSize(file); err == nil && size == have {
			f.file = file
		}
	}
	return open(f, size, options)
}

// open reads the superblock of a file and what it leads to.
func open(f *File, size int64, options []Options) (*File, error) {
	if len(options) > 0 {
		f.options = options[0]
	}
	if f.options.Name != "" {
		f.name = f.options.Name
	}
	if f.options.Budget == nil {
		f.options.Budget = storage.NewBudget(0)
	}
	if f.dir == "" {
		f.dir = f.options.Follow
		if storage.IsURL(f.name) && storage.IsURL(f.dir) {
			f.dir = storage.Folder(f.name)
		}
	}
	err := f.start(size)
	if err == nil && f.options.Follow != "" {
		err = f.allowFolder(f.options.Follow)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return f, nil
}

// start reads the structures that the others depend on.
func (f *File) start(size int64) error {
	if size < 0 || size != int64(int(size)) {
		return fmt.Errorf("size of %d bytes", size)
	}
	f.size = int(size)
	if remote, ok := f.r.(storage.Remote); ok {
		f.remote = &remoteFile{Remote: remote}
	}
	if f.chunks == nil {
		f.chunks = &chunkCache{limit: cmp.Or(f.options.CacheBytes, 64<<20)}
	}
	f.root = sync.OnceValues(func() (*Object, error) { return f.object("/", f.super.root) })
	f.paths = sync.OnceValue(f.mapPaths)
	var err error
	f.super, err = findSuperblock(f.peek, f.size)
	if errors.Is(err, errNotHDF5) {
		if foreign := signature.Text(f.r, size); foreign != "" {
			return fmt.Errorf("%w; %s", err, foreign)
		}
	}
	if err != nil {
		return err
	}
	f.widths = f.super.widths
	if end := f.super.end; end != undefined && end > uint64(f.size) && !f.super.growing {
		return fmt.Errorf("truncated: has %d bytes of %d; copy or download it again", f.size, end)
	}
	return errors.Join(f.checkDriver(), f.readExtension())
}

// peek returns n bytes at an offset, or nil.
func (f *File) peek(at, n int) []byte {
	b := make([]byte, n)
	if k, _ := f.r.ReadAt(b, int64(at)); k < n {
		return nil
	}
	return b
}

// Close closes the file and the files it opened. Arrays that were read from it can no
// longer be read, mapped ones included: that is an error of kind [storage.ErrState].
// Copies in memory, which [storage.Array.To] makes, remain valid. Close waits for reads
// of mapped data in progress.
func (f *File) Close() error {
	if f.linked != nil {
		return errors.Join(f.linked.close(f), f.closeSelf())
	}
	return f.closeSelf()
}

func (f *File) closeSelf() error {
	f.closed.Store(true)
	err := f.mapping.close()
	if f.close != nil {
		err = errors.Join(err, f.close())
	}
	return err
}

// ReadAt reads bytes of the file itself, from its first byte on, user block included.
// It implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if f.closed.Load() {
		return 0, errClosed
	}
	return f.r.ReadAt(p, off)
}

// err returns the error of the context that the file was opened with.
func (f *File) err() error {
	if f.options.Context == nil {
		return nil
	}
	return f.options.Context.Err()
}

// Budget returns the budget that the file was opened with, or one of its own with the
// default limit.
func (f *File) Budget() *storage.Budget { return f.options.Budget }

// Name returns the file's name, as errors have it.
func (f *File) Name() string { return f.name }

// Size returns the file's size in bytes when it was opened.
func (f *File) Size() int { return f.size }

// UserBlock returns the number of bytes before the HDF5 content.
func (f *File) UserBlock() int { return f.super.at }

// FormatVersion returns the version of the file's superblock, 0 to 3.
func (f *File) FormatVersion() int { return f.super.version }

// span returns the offset in the file of n bytes at an address, or an error if they are
// not within the file.
func (f *File) span(address uint64, n int) (at int64, err error) {
	limit := uint64(f.size - f.super.at)
	if f.super.growing && f.file != nil && address != undefined && (address > limit || uint64(n) > limit-address) {
		if size, err := regularSize(f.file); err == nil {
			limit = uint64(max(size, int64(f.size))) - uint64(f.super.at)
		}
	}
	switch {
	case address == undefined:
		return 0, errors.New("address is undefined")
	case n < 0 || address > limit || uint64(n) > limit-address:
		return 0, fmt.Errorf("%d bytes at address %d are beyond the file's end at %d", n, address, limit)
	}
	return int64(address) + int64(f.super.at), nil
}

// readAt fills b with the bytes at an address.
func (f *File) readAt(b []byte, address uint64) error {
	at, err := f.span(address, len(b))
	if err != nil {
		return err
	}
	return f.pread(b, at)
}

func (f *File) pread(b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, os.ErrClosed) || errors.Is(err, storage.ErrState) && f.closed.Load() {
		return errClosed
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("file truncated while in use: %d bytes at %d: %w", len(b), at, err)
	}
	return fmt.Errorf("read %d bytes at %d: %w", len(b), at, err)
}

// withDescriptor calls use with the descriptor of the file, which is not closed before
// use returns.
func (f *File) withDescriptor(use func(fd uintptr) error) error {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return err
	}
	if raw.Control(func(fd uintptr) { err = use(fd) }) != nil {
		return errClosed
	}
	return err
}

var errClosed = fmt.Errorf("the file was closed: %w", storage.ErrState)

// maxStructure limits the size of a structure of metadata, in bytes.
const maxStructure = 128 << 20

// bytes returns n bytes of metadata at an address. They must not be modified.
func (f *File) bytes(address uint64, n int) ([]byte, error) {
	at, err := f.span(address, n)
	if err != nil {
		return nil, err
	}
	if n > maxStructure {
		return nil, fmt.Errorf("structure of %d bytes at address %d, more than the limit of %d", n, address, maxStructure)
	}
	if b := f.imageOf(address, n); b != nil {
		return b, nil
	}
	if f.remote != nil {
		return f.remote.metadata(f, at, n)
	}
	return f.blocks.bytes(f, at, n)
}

// cursor returns a cursor over n bytes at an address.
func (f *File) cursor(what string, address uint64, n int) *cursor {
	buf, err := f.bytes(address, n)
	c := &cursor{widths: f.widths, what: what, buf: buf}
	if err != nil {
		c.fail("%w", err)
	}
	return c
}

// newCursor returns a cursor over bytes that have been read.
func (f *File) newCursor(what string, buf []byte) *cursor {
	return &cursor{widths: f.widths, what: what, buf: buf}
}
