package cuda

// #include "communicator.h"
import "C"

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A Communicator is a rank of several processes that exchange the memory of their GPUs by NCCL, each with a GPU of its own. All start the
// same exchanges in the same order. They follow the work issued to the device before, and the work issued after them follows them.
type Communicator struct {
	device *Device
	handle C.h5_object
	size   int
}

// CommunicatorIDSize is the number of bytes that identify a communicator.
const CommunicatorIDSize = C.sizeof_h5_nccl_id

// CheckNCCL returns an error if NCCL is missing. Communicators need it.
func CheckNCCL() error {
	if l := libraries[nccl].find(); l.Missing != nil {
		return fmt.Errorf("%s: %w", l.Name, l.Missing)
	}
	return nil
}

// NewCommunicatorID returns what the ranks of a new communicator need to find each other. One of them makes it.
func NewCommunicatorID() ([]byte, error) {
	if err := CheckNCCL(); err != nil {
		return nil, err
	}
	var id C.h5_nccl_id
	if err := status("make a communicator's ID", C.h5_nccl_id_make(&id), ncclText); err != nil {
		return nil, err
	}
	return C.GoBytes(unsafe.Pointer(&id), CommunicatorIDSize), nil
}

// NewCommunicator joins the ranks of id, and returns once all have. Close it.
func (d *Device) NewCommunicator(id []byte, rank, size int) (*Communicator, error) {
	if err := CheckNCCL(); err != nil {
		return nil, err
	}
	if len(id) != CommunicatorIDSize || rank < 0 || rank >= size {
		return nil, fmt.Errorf("join a communicator as rank %d of %d with an ID of %d bytes: %w", rank, size, len(id), storage.ErrState)
	}
	if err := d.ready(); err != nil {
		return nil, err
	}
	c := &Communicator{device: d, size: size}
	var theirs C.h5_nccl_id
	for i, b := range id {
		theirs.bytes[i] = C.char(b)
	}
	return c, status("join a communicator", C.h5_nccl_join(d.context, &c.handle, C.int(size), &theirs, C.int(rank)), ncclText)
}

// Exchange sends send[r] to each rank r, and receives receive[r] from it. Arrays are dense and on the communicator's device; one without storage,
// or empty, is not exchanged. Work that uses them may be issued at once.
func (c *Communicator) Exchange(send, receive []storage.Array) error {
	if len(send) != c.size || len(receive) != c.size {
		return fmt.Errorf("%v: exchange of %d and %d arrays with %d ranks: %w", c.device, len(send), len(receive), c.size, storage.ErrState)
	}
	if err := c.device.refuseDuringCapture("exchange"); err != nil {
		return err
	}
	addresses, bytes := make([]C.h5_address, 2*c.size), make([]C.size_t, 2*c.size)
	for i, a := range append(append([]storage.Array(nil), send...), receive...) {
		var err error
		if addresses[i], bytes[i], err = c.bytesOf(a); err != nil {
			return err
		}
	}
	code := C.h5_nccl_exchange(c.device.context, c.handle, c.device.stream.handle, C.int(c.size), &addresses[0], &bytes[0], &addresses[c.size], &bytes[c.size])
	runtime.KeepAlive(send)
	runtime.KeepAlive(receive)
	return status("exchange", code, ncclText)
}

// bytesOf returns where the elements of a are, and their bytes.
func (c *Communicator) bytesOf(a storage.Array) (C.h5_address, C.size_t, error) {
	if a.Data == nil || a.Len() == 0 {
		return 0, 0, nil
	}
	if !a.View.Contiguous() {
		return 0, 0, fmt.Errorf("exchange %v: the elements are not dense: %w", a.View, storage.ErrState)
	}
	size := a.Type.Size()
	m, err := c.device.memoryRange("exchange on", a.Data, a.Offset*size, a.Len()*size)
	if err != nil {
		return 0, 0, err
	}
	return C.h5_address(m.address + uint64(a.Offset*size)), C.size_t(a.Len() * size), nil
}

// Sum replaces a, of float32 or float64, by the sum over all ranks, in an order of NCCL's.
func (c *Communicator) Sum(a storage.Array) error {
	kind := C.int(C.H5_NCCL_FLOAT32)
	switch a.Type {
	case dtype.Float32:
	case dtype.Float64:
		kind = C.H5_NCCL_FLOAT64
	default:
		return fmt.Errorf("sum of %v over the ranks; want float32 or float64: %w", a.Type, dtype.ErrType)
	}
	if err := c.device.refuseDuringCapture("sum over the ranks"); err != nil {
		return err
	}
	at, bytes, err := c.bytesOf(a)
	if err != nil || bytes == 0 {
		return err
	}
	code := C.h5_nccl_sum(c.device.context, c.handle, c.device.stream.handle, at, bytes/C.size_t(a.Type.Size()), kind)
	runtime.KeepAlive(a)
	return status("sum over the ranks", code, ncclText)
}

// Wait returns once all work issued to the device is done, or an error of the communicator, such as a rank that has ended.
func (c *Communicator) Wait() error {
	e, err := c.device.NewEvent()
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Record(c.device.stream); err != nil {
		return err
	}
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		if done, err := e.Done(); done || err != nil {
			return err
		}
		if err := status("exchange", C.h5_nccl_error(c.device.context, c.handle), ncclText); err != nil {
			return err
		}
		time.Sleep(pause)
	}
}

// Close ends the communicator once its work is done, which other ranks have to do too.
func (c *Communicator) Close() error { return c.end("leave a communicator", 0) }

// Abort ends the communicator at once.
func (c *Communicator) Abort() error { return c.end("abort a communicator", 1) }

func (c *Communicator) end(act string, atOnce C.int) error {
	if c.handle == 0 {
		return nil
	}
	handle := c.handle
	c.handle = 0
	return status(act, C.h5_nccl_end(c.device.context, handle, atOnce), ncclText)
}

func ncclText(code C.h5_status) *C.char { return C.h5_nccl_text(code) }
