package main

// #include <stdlib.h>
// #include "exports.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/capi/dlpack"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	_ "github.com/h5dnn/h5dnn/storage/remote" // opens URLs
)

// A file is an open file that C has a handle of.
type file struct {
	*hdf5.File
	mu    sync.Mutex
	names []*C.char // in C's memory, NULL at the end; nil until C asks for it
}

//export h5dnn_open
func h5dnn_open(path *C.text, out *C.h5dnn_file) C.h5dnn_status {
	return call(func() error {
		f, err := hdf5.Open(C.GoString(path))
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
	var paths []string
	for d, err := range f.NumericDatasets() {
		if err != nil {
			return err
		}
		paths = append(paths, d.Path)
	}
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
		d, err := f.Dataset(C.GoString(name))
		if err != nil {
			return err
		}
		a, err := d.Array()
		if err != nil {
			return err
		}
		return hold(out, &array{Tensor: dlpack.Tensor{Array: a}})
	})
}
