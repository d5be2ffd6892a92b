package main

// #include <stdlib.h>
// #include "exports.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// kinds are the kinds of error and their statuses.
var kinds = []struct {
	err    error
	status C.h5dnn_status
}{
	{views.ErrShape, C.H5DNN_SHAPE}, {dtype.ErrType, C.H5DNN_TYPE}, {storage.ErrDevice, C.H5DNN_DEVICE},
	{cuda.ErrNoDriver, C.H5DNN_DEVICE}, {storage.ErrState, C.H5DNN_STATE}, {errBug, C.H5DNN_BUG},
	{errAgain, C.H5DNN_AGAIN}, {fs.ErrNotExist, C.H5DNN_MISSING}, {config.ErrInvalid, C.H5DNN_SETTING},
}

var errNull = fmt.Errorf("the address for the result is NULL: %w", storage.ErrState)

// errBug is the kind of a panic, which must not reach C.
var errBug = errors.New("a bug of h5dnn")

// gpus is set when a call first needs a GPU. Until then nothing opens the CUDA driver,
// because a process that forks afterwards could not use it.
var gpus atomic.Bool

// call runs the body of a library function, stores the error message of the calling
// thread and returns the status.
func call(act func() error) C.h5dnn_status {
	err := caught(act)
	if err == nil {
		return C.H5DNN_OK
	}
	line := C.CString(strings.ReplaceAll(err.Error(), "\n", "; "))
	defer C.free(unsafe.Pointer(line))
	C.capi_say(line)
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.status
		}
	}
	return C.H5DNN_ERROR
}

// callOn is call for a function that may use a GPU.
func callOn(gpu bool, act func() error) C.h5dnn_status {
	if gpu {
		gpus.Store(true)
	}
	return call(act)
}

func caught(act func() error) (err error) {
	inside := func() {
		defer func() {
			if what := recover(); what != nil {
				err = fmt.Errorf("%w: %v", errBug, what)
			}
		}()
		err = act()
	}
	if !gpus.Load() {
		inside()
		return err
	}
	guest := cuda.PreserveContext(inside)
	return errors.Join(err, guest)
}

// put stores a result at the address that C gave.
func put[T any](to *T, value T) error {
	if to == nil {
		return errNull
	}
	*to = value
	return nil
}
