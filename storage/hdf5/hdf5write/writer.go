// Package hdf5write writes HDF5 files, and copies them with other layouts. Files are
// written with libhdf5; chunks are encoded by package filter, in parallel.
//
// A program that only reads files does not import this package, and does not link
// libhdf5.
package hdf5write

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// A Writer writes a new file. Until Close, the file has a temporary name in the same
// directory, and a file that exists under the final name is unchanged.
//
// Arrays are copied in blocks, so they may be larger than memory. Objects are named by
// absolute paths; groups on the way are created as needed. Methods may be called
// concurrently. Errors name the object, not the file.
type Writer struct {
	out     *atomicfile.File
	file    *libhdf5.File
	cleanup runtime.Cleanup

	anyNames bool // names need not be UTF-8

	mu     sync.Mutex
	open   map[*DatasetWriter]int // numbered as they were created
	number int                    // of the next one
	err    error                  // the first failure after which the file is incomplete
	closed bool
}

// CreateOptions configure Create. The zero value is suitable for most files.
type CreateOptions struct {
	// NoSync lets the system choose when data reaches the disk. Other processes still
	// see the old file or the complete new one; a machine that crashes may lose both.
	NoSync bool

	// UserBlock is the number of bytes before the HDF5 content that are reserved for
	// other programs: 0, or a power of two from 512 on.
	UserBlock int

	// PageSize is the number of bytes of pages in which the space of the file is allocated, so that headers and
	// indexes are together: 0 for none, or 512 and more.
	PageSize int

	// Space is the number of bytes that the file will have at least. Create returns an error
	// if its disk has no room for them.
	Space int64
}

// Create starts a file that Close will put at path.
func Create(path string, o CreateOptions) (*Writer, error) {
	out, err := atomicfile.Create(path, atomicfile.Options{NoSync: o.NoSync})
	if err != nil {
		return nil, err
	}
	if err := out.CheckSpace(o.Space); err != nil {
		out.Discard()
		return nil, err
	}
	file, err := libhdf5.CreateFile(out.Name(), o.UserBlock, o.PageSize)
	if err != nil {
		out.Discard()
		return nil, err
	}
	w := &Writer{out: out, file: file, open: map[*DatasetWriter]int{}}
	w.cleanup = runtime.AddCleanup(w, func(f *libhdf5.File) { f.Close(); out.Discard() }, file)
	return w, nil
}

// Name returns the path that the file will have.
func (w *Writer) Name() string { return w.out.Path() }

// Close completes the file and gives it its name. It fails, removes the new file and
// leaves an old one unchanged if the file cannot be completed, or if an earlier call
// failed after it had begun to write, such as a dataset of which only a part could be
// written. A call that was refused without writing, because of a wrong argument or a
// name that exists, does not make Close fail.
//
// One error comes too late to undo: if the directory cannot be flushed to disk after
// the file has its name, Close returns an error and the new file is in place.
func (w *Writer) Close() error { return w.closeAfter(nil) }

// closeAfter is Close with a check of the complete file, under its temporary name.
func (w *Writer) closeAfter(check func(name string) error) error {
	if err := w.closeDatasets(); err != nil {
		w.Abort()
		return err
	}
	if !w.markClosed() {
		return fmt.Errorf("close: already closed: %w", storage.ErrState)
	}
	err := w.err
	if closing := w.file.Close(); closing != nil && err == nil {
		err = fmt.Errorf("close: libhdf5 cannot complete the file; is the disk full? (%w)", closing)
	}
	if err == nil && check != nil {
		err = check(w.out.Name())
	}
	if err != nil {
		w.out.Discard()
		return err
	}
	return w.out.Commit()
}

// Abort removes the new file. After Close it does nothing, so that it can be deferred.
func (w *Writer) Abort() {
	if w.markClosed() {
		w.file.Close()
		w.out.Discard()
	}
}

// markClosed marks w closed and reports whether it was open.
func (w *Writer) markClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleanup.Stop()
	was := !w.closed
	w.closed = true
	return was
}

func (w *Writer) closeDatasets() error {
	w.mu.Lock()
	open := slices.SortedFunc(maps.Keys(w.open), func(a, b *DatasetWriter) int { return w.open[a] - w.open[b] })
	w.mu.Unlock()
	for _, d := range open {
		if err := d.Close(); err != nil {
			return err
		}
	}
	return nil
}

// setErr records the first failure that leaves the file incomplete. It returns err.
func (w *Writer) setErr(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// do makes one call of the library for the object at path, unless w is closed.
func (w *Writer) do(act, path string, call func() error) error {
	if err := CheckPath(path); err != nil && !w.anyNames {
		return fmt.Errorf("%s: %w", act, err)
	}
	w.mu.Lock() // so that Close waits for the call
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("%s %s: the file is closed: %w", act, path, storage.ErrState)
	}
	if err := call(); err != nil {
		err = fmt.Errorf("%s %s: %w", act, path, err)
		if libhdf5.IsPartial(err) && w.err == nil {
			w.err = err
		}
		return err
	}
	return nil
}

// Group creates a group, unless it exists, and sets attributes of it.
func (w *Writer) Group(path string, attrs ...Attr) error {
	if path != "/" {
		if err := w.do("group", path, func() error { return w.file.Group(path) }); err != nil {
			return err
		}
	}
	for _, a := range attrs {
		if err := w.SetAttr(path, a.Name, a.Value); err != nil {
			return err
		}
	}
	return nil
}

// SoftLink creates a soft link at path to the object that is, or will be, at target.
func (w *Writer) SoftLink(path, target string) error {
	if err := checkNoNUL("link", target); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	return w.do("link", path, func() error { return w.file.SoftLink(path, target) })
}

// HardLink creates another name, path, of the object at target, which has been written.
func (w *Writer) HardLink(path, target string) error {
	if err := CheckPath(target); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	return w.do("link", path, func() error { return w.file.HardLink(path, target) })
}

// CheckPath returns an error for names that HDF5 cannot store or would read differently.
func CheckPath(path string) error {
	rest, absolute := strings.CutPrefix(path, "/")
	switch {
	case !absolute:
		return fmt.Errorf("path %q does not begin with /", path)
	case !utf8.ValidString(path):
		return fmt.Errorf("path %q is not UTF-8", path)
	case rest == "":
		return nil
	}
	for name := range strings.SplitSeq(rest, "/") {
		if name == "" || name == "." {
			return fmt.Errorf("path %q contains a name that is empty or a dot", path)
		}
	}
	return checkNoNUL("path", path)
}

// checkNoNUL returns an error for text that C would truncate.
func checkNoNUL(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%s %q contains a zero byte, which HDF5 cannot store", what, s)
	}
	return nil
}
