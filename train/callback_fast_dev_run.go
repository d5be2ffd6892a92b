package train

// FastDevRunOptions are the settings of [FastDevRun].
type FastDevRunOptions struct {
	Batches int `json:"batches"` // number of batches to train and to validate on; 1 if 0
}

// FastDevRun makes one epoch of a few batches, validates on as many and completes the run, which tries each part of it in short time.
type FastDevRun struct {
	OnlyProgress
	FastDevRunOptions
}

// NewFastDevRun returns a callback that makes a run short.
func NewFastDevRun(o FastDevRunOptions) *FastDevRun {
	o.Batches = batchesOf("fast_dev_run", o.Batches)
	return &FastDevRun{FastDevRunOptions: o}
}

// Select returns the samples of the first batches.
func (f *FastDevRun) Select(r *Run, d *Data) (*Data, error) {
	few := &Data{}
	var err error
	if few.Train, err = firstBatches(d.Train, r, f.Batches); err == nil && d.Val != nil {
		few.Val, err = firstBatches(d.Val, r, f.Batches)
	}
	return few, err
}

// EpochEnd completes the run.
func (f *FastDevRun) EpochEnd(Epoch) error { return Stop("fast_dev_run: one epoch") }

var _ = RegisterCallback("fast_dev_run", NewFastDevRun, FastDevRunOptions{Batches: 1})
