package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// A Replay is a step that was recorded: Run computes it once more, and does not wait.
type Replay = kernels.Graph

// A Recorder records steps on a device, to be run again and again in memory that
// nothing else uses. Its steps share that memory, so they run one after another.
type Recorder struct {
	device kernels.GraphCapturer
	pool   *storage.Pool
}

// NewRecorder returns a recorder of steps on d, and false if d cannot record.
func NewRecorder(d storage.Device) (*Recorder, bool) {
	device, ok := d.(kernels.GraphCapturer)
	return &Recorder{device, storage.NewPool(d)}, ok
}

// Step is Step in r's memory: of a step like those to be recorded, it takes all
// that they need, so that recording allocates nothing.
func (r *Recorder) Step(f func(t *Tape) error) error { return runStep(&Tape{pool: r.pool}, f) }

// Record records the step f, which is not computed before the Replay runs. What
// changes from run to run has to lie in memory: see Tape.SeedAt and StepArgs.
// f may neither allocate beside the step's memory nor look at values.
func (r *Recorder) Record(f func(t *Tape) error) (Replay, error) {
	return r.device.Capture(func() error { return r.Step(f) })
}
