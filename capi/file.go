package main

// #include <stdlib.h>
// #include "exports.h"
import "C"

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/all"
	_ "github.com/h5dnn/h5dnn/storage/remote" // opens URLs
)

// A file is an open file that C has a handle of.
type file struct {
	inspect.File
	mu    sync.Mutex // while objects are listed or found
	names []*C.char  // in C's memory, NULL at the end; nil until C asks for it
}

//export h5dnn_open
func h5dnn_open(path *C.text, out *C.h5dnn_file) C.h5dnn_status { return openAs(path, nil, nil, out) }

//export h5dnn_open_as
func h5dnn_open_as(path, format *C.text, out *C.h5dnn_file) C.h5dnn_status {
	return openAs(path, format, nil, out)
}

//export h5dnn_open_following
func h5dnn_open_following(path, format, follow *C.text, out *C.h5dnn_file) C.h5dnn_status {
	return openAs(path, format, follow, out)
}

// openAs opens a file of a format, or, if that is NULL or "", of the one that its content says. Other files are opened that are in the
// folder, or below the URL, to follow.
func openAs(path, format, follow *C.text, out *C.h5dnn_file) C.h5dnn_status {
	return call(func() error {
		f, err := inspect.Open(C.GoString(path), serialize.Options{Format: C.GoString(format), Follow: C.GoString(follow)})
		if err != nil {
			return err
		}
		if err := hold(out, &file{File: f}); err != nil {
			f.Close()
			return err
		}
		return nil
	})
}

//export h5dnn_close
func h5dnn_close(h C.h5dnn_file) C.h5dnn_status {
	return call(func() error {
		f, err := drop[*file](h)
		if err != nil {
			return err
		}
		for _, name := range f.names {
			C.free(unsafe.Pointer(name))
		}
		C.free(unsafe.Pointer(unsafe.SliceData(f.names)))
		return f.Close()
	})
}

//export h5dnn_names
func h5dnn_names(h C.h5dnn_file, out *C.names) C.h5dnn_status {
	return call(func() error {
		f, err := held[*file](h)
		if err != nil {
			return err
		}
		if err := f.list(); err != nil {
			return err
		}
		return put(out, C.names(&f.names[0]))
	})
}

// list fills in names, once.
func (f *file) list() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names != nil {
		return nil
	}
	objects, err := f.Entries("")
	if err != nil {
		return err
	}
	var paths []string
	for o := range objects {
		if o.Err != nil {
			return o.Err
		}
		if o.Data != nil && o.Data.Numbers {
			paths = append(paths, o.Path)
		}
	}
	slices.Sort(paths)
	list := C.calloc(C.size_t(len(paths)+1), C.size_t(unsafe.Sizeof((*C.char)(nil))))
	f.names = unsafe.Slice((**C.char)(list), len(paths)+1)
	for i, path := range paths {
		f.names[i] = C.CString(path)
	}
	return nil
}

//export h5dnn_get
func h5dnn_get(h C.h5dnn_file, name *C.text, out *C.h5dnn_array) C.h5dnn_status {
	return call(func() error {
		f, err := held[*file](h)
		if err != nil {
			return err
		}
		s, err := f.find(C.GoString(name))
		if err != nil {
			return err
		}
		return f.show(s, out)
	})
}

//export h5dnn_member
func h5dnn_member(h C.h5dnn_file, name, member *C.text, out *C.h5dnn_array) C.h5dnn_status {
	return call(func() error {
		f, err := held[*file](h)
		if err != nil {
			return err
		}
		h5, ok := f.File.(inspect.HDF5)
		if !ok {
			return fmt.Errorf("%s: %s files have no compounds: %w", f.Name(), f.Format(), dtype.ErrType)
		}
		f.mu.Lock()
		s, err := h5.Member(C.GoString(name), C.GoString(member))
		f.mu.Unlock()
		if err != nil {
			return err
		}
		return f.show(s, out)
	})
}

// find returns the data of that name.
func (f *file) find(name string) (inspect.Selection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Find(name)
}

// show returns a handle of numbers.
func (f *file) show(s inspect.Selection, out *C.h5dnn_array) error {
	if !s.Numbers() {
		return fmt.Errorf("%s: %s has elements of type %s; want numbers: %w", f.Name(), s.Name, s.Type(), dtype.ErrType)
	}
	return hold(out, &array{Tensor: dlpack.Tensor{Array: s.Array}})
}
