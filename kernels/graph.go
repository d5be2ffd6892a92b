package kernels

import "github.com/h5dnn/h5dnn/kernels/launch"

// A GraphCapturer is a GPU that can capture the work of a step as a graph, which the
// driver launches as a whole, any number of times.
type GraphCapturer interface {
	Runner
	launch.GPU
	// Capture calls work and returns a graph of what it issued to this device: kernels
	// and copies of pinned memory. None of it runs before the graph is replayed.
	//
	// Settings and addresses are captured by value: what changes from replay to replay
	// must be in memory. Work must not allocate, wait, or copy from or to memory that
	// is not pinned; such a call fails, and so does Capture, as it does after any other
	// call that fails. Run the work once before capturing it, so that its memory pools
	// already hold all that it needs. Nothing else may use the device meanwhile.
	//
	// The graph retains every storage that the work used. A storage.Pool must therefore
	// reuse memory of a captured step.
	Capture(order GraphOrder, work func() error) (Graph, error)
}

// A GraphOrder says which calls of a graph wait for which. Results do not depend on it.
type GraphOrder int

const (
	// ByData makes a kernel call wait only for the calls whose operands it shares, so
	// that independent calls may run concurrently. A device that cannot order calls so
	// uses StraightLine.
	ByData GraphOrder = iota
	// StraightLine makes each call wait for the one before it.
	StraightLine
)

// String describes the order.
func (o GraphOrder) String() string {
	if o == StraightLine {
		return "straight line"
	}
	return "concurrent branches"
}

// A Graph is captured work.
type Graph interface {
	// Replay issues the work after everything issued before, and does not wait. It raises
	// the versions of what its kernels write, as running them would.
	Replay() error
	// Depth returns the number of calls in the graph, and the length of its longest chain
	// of calls, each waiting for the one before.
	Depth() (calls, deep int)
	// Close frees the graph after its last replay.
	Close() error
}
