package cuda

// #include "program.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// A Program is user-written device code. It is compiled for each device on first use.
type Program struct {
	name   string
	text   func(capability int) (ptx string, err error)
	mu     sync.Mutex
	loaded map[*Device]*module
}

// CUDA returns a program of CUDA C++ source, compiled by NVRTC with the given options.
// The name is the file name in messages. Kernels are declared extern "C" __global__.
func CUDA(name, source string, options ...string) *Program {
	return &Program{name: name, text: func(capability int) (string, error) { return Compile(name, source, capability, options...) }}
}

// PTX returns a program of PTX, for GPUs no older than its target.
func PTX(name, text string) *Program {
	return &Program{name: name, text: func(int) (string, error) { return text, nil }}
}

// load returns the program compiled for d.
func (p *Program) load(d *Device) (*module, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.loaded[d]; m != nil {
		return m, nil
	}
	text, err := p.text(d.Capability)
	if err != nil {
		return nil, err
	}
	m := new(module)
	if err := m.load(d, text); err != nil {
		return nil, fmt.Errorf("%v: %s: %w", d, p.name, err)
	}
	if p.loaded == nil {
		p.loaded = map[*Device]*module{}
	}
	p.loaded[d] = m
	return m, nil
}

// A Function describes how an entry of a program is launched as a kernel.
type Function struct {
	Program *Program
	// Entry is its name; %v stands for the type of the first operand, as in
	// "softsign_%v", which selects softsign_float32 for float32.
	Entry string
	// Args returns the entry's arguments for a call: an array is passed as the address of
	// its first element, a number by value in its own size, up to 8 bytes. If Args is nil,
	// the arguments are all outputs, all inputs, and an int64, the number of elements of
	// the first output.
	Args func(c *kernels.Call) []any
	// Grid returns the launch configuration. If it is nil, there is one thread for each
	// element of the first output, up to 2^16 blocks of 256.
	Grid func(c *kernels.Call) Grid
	// Strided is whether the entry handles strided operands, whose strides Args passes
	// on. If it is false, operands that are not contiguous are an error.
	Strided bool
}

// A Grid is a launch configuration. Shared is the dynamic shared memory of a block, in bytes.
type Grid struct {
	Blocks, Threads [3]uint32
	Shared          uint32
}

// Kernel returns the function as a kernel of the given name. It does not run on the CPU
// unless its Plain is set.
func (f Function) Kernel(name string) *kernels.Kernel {
	return &kernels.Kernel{Name: name, CUDA: func(g launch.GPU, c *kernels.Call) error {
		s, ok := streamFor(g)
		if !ok {
			return fmt.Errorf("%s: %v is not a device of package cuda: %w", name, g, storage.ErrDevice)
		}
		if err := f.launch(s, c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}}
}

// streamFor returns the stream that g launches on.
func streamFor(g launch.GPU) (*Stream, bool) {
	switch g := g.(type) {
	case *Device:
		return g.stream, true
	case streamRunner:
		return g.stream, true
	}
	return nil, false
}

func (f Function) launch(s *Stream, c *kernels.Call) error {
	d := s.device
	if err := f.check(d, c); err != nil {
		return err
	}
	m, err := f.Program.load(d)
	if err != nil {
		return err
	}
	entry := strings.ReplaceAll(f.Entry, "%v", first(c).Type.String())
	if _, ok := m.params[entry]; !ok {
		return fmt.Errorf("%s has no entry %s; it has %s: %w", f.Program.name, entry, entryNames(m.params), storage.ErrState)
	}
	grid, args := f.gridOf(c), f.argsOf(c)
	if slices.Contains(grid.Blocks[:], 0) {
		return nil
	}
	packed, err := packArgs(d, args)
	if err != nil {
		return err
	}
	function, err := m.function(d, entry, packed.sizes...)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(args) // arrays that are not operands
	d.count("launch", entry, 0)
	timer := d.startTimer(s)
	code := packed.launch(s, function, grid)
	d.stopTimer(timer, s, entry)
	return d.check("launch "+entry, code)
}

func first(c *kernels.Call) storage.Array {
	if len(c.In) > 0 {
		return c.In[0]
	}
	return c.Out[0]
}

// check returns an error for operands that the function does not take.
func (f Function) check(d *Device, c *kernels.Call) error {
	if len(c.Out) == 0 {
		return fmt.Errorf("no outputs: %w", storage.ErrState)
	}
	if err := c.Check(d); err != nil || f.Strided {
		return err
	}
	for _, a := range slices.Concat(c.Out, c.In) {
		if !a.Contiguous() {
			return fmt.Errorf("%v has strides %v; the entry takes contiguous arrays, copy it first: %w", a, a.Stride, storage.ErrState)
		}
	}
	return nil
}

func (f Function) gridOf(c *kernels.Call) Grid {
	if f.Grid != nil {
		return f.Grid(c)
	}
	const threads = 256
	return Grid{Blocks: [3]uint32{uint32(min((c.Out[0].Len()+threads-1)/threads, 1<<16)), 1, 1}, Threads: [3]uint32{threads, 1, 1}}
}

func (f Function) argsOf(c *kernels.Call) (args []any) {
	if f.Args != nil {
		return f.Args(c)
	}
	for _, arrays := range [][]storage.Array{c.Out, c.In} {
		for _, a := range arrays {
			args = append(args, a)
		}
	}
	return append(args, int64(c.Out[0].Len()))
}

// kernelArgs are arguments as C takes them: each value in a slot of eight bytes.
type kernelArgs struct {
	slots []uint64
	sizes []int
}

func packArgs(d *Device, args []any) (p kernelArgs, err error) {
	for i, arg := range args {
		if a, ok := arg.(storage.Array); ok {
			m, ok := a.Data.(*memory)
			if !ok || m.device != d {
				return p, fmt.Errorf("argument %d: %v is not on %v: %w", i, a, d, storage.ErrDevice)
			}
			arg = d.Address(m) + uint64(a.Offset*a.Type.Size())
		}
		var slot [8]byte
		size, err := binary.Encode(slot[:], binary.NativeEndian, arg)
		if err != nil {
			return p, fmt.Errorf("argument %d is a %T; want an array, or a number such as an int64: %w", i, arg, storage.ErrState)
		}
		p.slots, p.sizes = append(p.slots, binary.NativeEndian.Uint64(slot[:])), append(p.sizes, size)
	}
	if len(p.slots) > C.H5_MAX_ARGUMENTS {
		return p, fmt.Errorf("%d arguments; want at most %d: %w", len(args), C.H5_MAX_ARGUMENTS, storage.ErrState)
	}
	return p, nil
}

func (p *kernelArgs) launch(s *Stream, function C.h5_handle, g Grid) C.h5_result {
	shape := [7]C.uint32_t{C.uint32_t(g.Blocks[0]), C.uint32_t(g.Blocks[1]), C.uint32_t(g.Blocks[2]), C.uint32_t(g.Threads[0]), C.uint32_t(g.Threads[1]), C.uint32_t(g.Threads[2]), C.uint32_t(g.Shared)}
	defer runtime.KeepAlive(p)
	return C.h5_launch_args(s.device.context, function, &shape[0], s.handle, (*C.uint64_t)(unsafe.SliceData(p.slots)), C.int(len(p.slots)))
}
