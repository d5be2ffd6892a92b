package hdf5

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	h5 "gonum.org/v1/hdf5"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/storage"
)

// A Writer makes a new file. Nothing appears under its name, and what is there
// stays, until Close has written everything: it works on a file beside it,
// which is flushed to the disk and renamed at the end.
//
// Arrays are copied in blocks, so they may be larger than memory. Objects are
// named by absolute paths, and groups on the way are made as needed. Methods
// may be called from several goroutines. Errors name the object, not the file.
type Writer struct {
	out     *atomicfile.File
	file    *h5.File // of out, as the library sees it
	cleanup runtime.Cleanup

	mu     sync.Mutex
	open   map[*DatasetWriter]bool
	err    error // why the file is not worth keeping
	closed bool
}

// CreateOptions say how a file is made. The zero value is right for most.
type CreateOptions struct {
	// NoSync leaves it to the system when data reaches the disk. The file is
	// still never seen half written, unless the machine itself stops.
	NoSync bool

	// UserBlock is how many bytes before the HDF5 content are left for others
	// to fill: 0, or a power of two from 512 on.
	UserBlock int
}

// Create begins a file that Close will put at path.
func Create(path string, o CreateOptions) (*Writer, error) {
	out, err := atomicfile.Create(path, atomicfile.Options{NoSync: o.NoSync})
	if err != nil {
		return nil, err
	}
	id, err := callLibrary(func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_create(cString(out.Name()), C.uint64_t(o.UserBlock), msg, size)
	})
	if err != nil {
		out.Discard()
		return nil, err
	}
	w := &Writer{out: out, file: wrap[h5.File](id), open: map[*DatasetWriter]bool{}}
	w.cleanup = runtime.AddCleanup(w, func(f *h5.File) { closeFile(f); out.Discard() }, w.file)
	return w, nil
}

// Name returns the path the file will have.
func (w *Writer) Name() string { return w.out.Path() }

// Close finishes the file and gives it its name. If anything failed before,
// or fails now, no file is left and whatever had the name still has it.
func (w *Writer) Close() error { return w.closeAfter(nil) }

// closeAfter is Close that lets check look at the complete file, under the name
// it has on its way, and drops it if check finds it wanting.
func (w *Writer) closeAfter(check func(name string) error) error {
	if err := w.finishDatasets(); err != nil {
		w.Abort()
		return err
	}
	if !w.markClosed() {
		return fmt.Errorf("close: already closed: %w", storage.ErrState)
	}
	err := w.err
	if closing := closeFile(w.file); closing != nil && err == nil {
		err = fmt.Errorf("close: libhdf5 cannot finish the file: is the disk full? (%w)", closing)
	}
	if err == nil && check != nil {
		err = check(w.out.Name())
	}
	if err != nil {
		w.out.Discard()
	} else {
		err = w.out.Commit()
	}
	return err
}

// Abort drops the file. After Close it does nothing, so that it can be deferred.
func (w *Writer) Abort() {
	if w.markClosed() {
		closeFile(w.file)
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

func (w *Writer) finishDatasets() error {
	w.mu.Lock()
	var open []*DatasetWriter
	for d := range w.open {
		open = append(open, d)
	}
	w.mu.Unlock()
	for _, d := range open {
		if err := d.Close(); err != nil {
			return err
		}
	}
	return nil
}

// setErr remembers that what is in the file is not what was asked for.
func (w *Writer) setErr(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// call makes one call for the object at path, unless w is closed.
func (w *Writer) call(act, path string, c libraryCall) (int64, error) {
	if err := checkPath(path); err != nil {
		return 0, fmt.Errorf("%s: %w", act, err)
	}
	w.mu.Lock() // so that Close waits for the call
	defer w.mu.Unlock()
	if w.closed {
		return 0, fmt.Errorf("%s %s: the file is closed: %w", act, path, storage.ErrState)
	}
	id, err := callLibrary(c)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", act, path, err)
	}
	return id, nil
}

// Group makes a group, unless it is there already, and gives it attributes.
func (w *Writer) Group(path string, attrs ...Attr) error {
	if path != "/" {
		_, err := w.call("group", path, func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_group(C.int64_t(w.file.ID()), cString(path), msg, size)
		})
		if err != nil {
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

// SoftLink makes path another name of what is, or will be, at target.
func (w *Writer) SoftLink(path, target string) error {
	if err := checkNoNUL("link", target); err != nil {
		return fmt.Errorf("link %s: %w", path, err)
	}
	_, err := w.call("link", path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_soft_link(C.int64_t(w.file.ID()), cString(path), cString(target), msg, size)
	})
	return err
}

// checkPath refuses names that HDF5 cannot keep or would read differently.
func checkPath(path string) error {
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
			return fmt.Errorf("path %q has a name that is empty or a dot", path)
		}
	}
	return checkNoNUL("path", path)
}
