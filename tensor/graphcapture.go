package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// A Graph is a captured step: Replay issues it once more, and does not wait.
type Graph = kernels.Graph

// A GraphOrder says which calls of a graph wait for which.
type GraphOrder = kernels.GraphOrder

// The orders of a graph's calls: see package kernels.
const (
	ByData       = kernels.ByData
	StraightLine = kernels.StraightLine
)

// A GraphCapturer captures steps on a device, to be replayed in memory that nothing else
// uses. Its steps share that memory, so they run one after another.
type GraphCapturer struct {
	device kernels.GraphCapturer
	pool   *storage.Pool
}

// NewGraphCapturer returns a capturer of steps on d, and false if d cannot capture.
func NewGraphCapturer(d storage.Device) (*GraphCapturer, bool) {
	device, ok := d.(kernels.GraphCapturer)
	return &GraphCapturer{device, storage.NewPool(d)}, ok
}

// Step is [Step] in the memory of the graphs. Running a step before its capture
// allocates that memory: a capture must not allocate.
func (c *GraphCapturer) Step(f func(t *Tape) error) error { return runStep(&Tape{pool: c.pool}, f) }

// Capture captures steps, one after another, in one graph. They do not run before its
// Replay. A graph fixes its kernel arguments, so values that change between replays are
// read from memory: see Tape.SeedAt and StepArgs. Steps must neither allocate other memory
// than that of steps before nor read values.
func (c *GraphCapturer) Capture(order GraphOrder, steps ...func(t *Tape) error) (Graph, error) {
	return c.device.Capture(order, func() error {
		for _, step := range steps {
			if err := c.Step(step); err != nil {
				return err
			}
		}
		return nil
	})
}
