//go:build cgo

// Package mpi is the collective.Group of the processes that mpirun or srun has started. The program has no MPI in it: a
// library for each MPI, which make mpi builds, is loaded when a launcher has started the process.
package mpi

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/dtype"
)

// PathVariable is the environment variable that names the folder of the libraries, where they are neither beside the
// program nor in ../lib/h5dnn.
const PathVariable = "H5DNN_MPI"

// A Group is the processes of MPI_COMM_WORLD.
type Group struct {
	functions C.h5dnn_mpi
	rank      int
	size      int
	local     int
}

// Join returns the group of the processes that a launcher has started with this one, or nil if none has. It is called
// once.
func Join() (*Group, error) {
	name, err := Launcher(os.Getenv)
	if name == "" || err != nil {
		return nil, err
	}
	file, err := find("libh5dnn-" + name + ".so")
	if err != nil {
		return nil, err
	}
	g := &Group{}
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	var text message
	if C.mpi_load(&g.functions, path, text.at(), text.size()) != 0 {
		return nil, fmt.Errorf("mpi: load the library for %s: %s", name, &text)
	}
	if C.mpi_begin(&g.functions, text.at(), text.size()) != 0 {
		return nil, fmt.Errorf("mpi: begin with %s: %s", name, &text)
	}
	g.rank, g.size, g.local = int(C.mpi_rank(&g.functions)), int(C.mpi_size(&g.functions)), int(C.mpi_local(&g.functions))
	return g, nil
}

// find returns the path of a library.
func find(name string) (string, error) {
	folders := []string{os.Getenv(PathVariable)}
	if folders[0] == "" {
		program, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("mpi: find %s: %w", name, err)
		}
		folder := filepath.Dir(program)
		folders = []string{folder, filepath.Join(folder, "..", "lib", "h5dnn")}
	}
	for _, folder := range folders {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("mpi: no %s in %s; build it with make mpi, or name its folder in %s", name, folders[0], PathVariable)
}

// Rank returns the number of this process, from 0.
func (g *Group) Rank() int { return g.rank }

// Size returns the number of processes.
func (g *Group) Size() int { return g.size }

// Local returns the number of processes on this host.
func (g *Group) Local() int { return g.local }

// Start implements collective.Group. Messages go on in calls of MPI: in other exchanges' starts and waits, and in this one's.
func (g *Group) Start(send, receive [][]byte) collective.Wait {
	if len(send) != g.size || len(receive) != g.size {
		return failed(fmt.Errorf("mpi: exchange of %d and %d messages with %d processes: %w", len(send), len(receive), g.size, collective.ErrGroup))
	}
	pins := &runtime.Pinner{}
	all := append(append([][]byte(nil), send...), receive...)
	pointers, lengths := make([]unsafe.Pointer, len(all)), make([]C.int64_t, len(all))
	for i, m := range all {
		pointers[i], lengths[i] = pinned(pins, m), C.int64_t(len(m))
	}
	var text message
	return g.wait(C.mpi_start(&g.functions, &pointers[0], &lengths[0], &pointers[g.size], &lengths[g.size], text.at(), text.size()), pins, &text)
}

// StartSum implements collective.Group by MPI_Iallreduce.
func (g *Group) StartSum(t dtype.Type, values []byte) collective.Wait {
	if t != dtype.Float32 && t != dtype.Float64 {
		return failed(fmt.Errorf("mpi: sums of %v; want float32 or float64: %w", t, dtype.ErrType))
	}
	pins, doubles := &runtime.Pinner{}, C.int(0)
	if t == dtype.Float64 {
		doubles = 1
	}
	var text message
	return g.wait(C.mpi_sum(&g.functions, pinned(pins, values), C.int64_t(len(values)/t.Size()), doubles, text.at(), text.size()), pins, &text)
}

// pinned returns the address of m, which stays where it is.
func pinned(pins *runtime.Pinner, m []byte) unsafe.Pointer {
	if len(m) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(m))
	pins.Pin(p)
	return p
}

// wait waits for what C has started; nil failed, as text says.
func (g *Group) wait(started unsafe.Pointer, pins *runtime.Pinner, text *message) collective.Wait {
	if started == nil {
		pins.Unpin()
		return failed(fmt.Errorf("%w: %s", collective.ErrGroup, text))
	}
	return func() error {
		defer pins.Unpin()
		var text message
		if C.mpi_wait(&g.functions, started, text.at(), text.size()) != 0 {
			return fmt.Errorf("%w: %s", collective.ErrGroup, &text)
		}
		return nil
	}
}

func failed(err error) collective.Wait { return func() error { return err } }

// Abort does nothing: End tells the others, once the reason is printed.
func (g *Group) Abort(error) {}

// End ends this process's part in the group. A status other than 0 ends all processes of the group, this one included.
func (g *Group) End(status int) {
	if status != 0 {
		C.mpi_abort(&g.functions, C.int(status))
	}
	C.mpi_end(&g.functions)
}

// A message is what C says.
type message [512]C.char

func (m *message) at() *C.char    { return &m[0] }
func (m *message) size() C.size_t { return C.size_t(len(m)) }
func (m *message) String() string { return C.GoString(&m[0]) }
