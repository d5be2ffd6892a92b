package kernels

// A Recorder is a GPU that can record the work of a step, for the driver to issue
// all of it at once, again and again.
type Recorder interface {
	GPU
	// Record calls work and returns what it issued to this device, kernels and
	// copies of pinned memory, none of which is done before the Replay runs. Then a
	// call of a kernel waits for those whose operands it shares, and may be done beside others.
	//
	// Settings and addresses are recorded as they are: what changes from run to
	// run has to lie in memory. Work must not allocate, wait, or copy from or to
	// memory that is not pinned: that is an error, of the call and of Record, and so is
	// any call that fails. So
	// call work once before, unrecorded: its pools then hold all that it needs.
	// Nothing else may use the device meanwhile.
	//
	// The Replay keeps every storage that the work has used, so that none is
	// freed. Whoever lends storages to several users (a storage.Pool) sees to it
	// that what is kept beyond one run lies in none of those.
	Record(work func() error) (Replay, error)
}

// A Replay is work that was recorded.
type Replay interface {
	// Run issues the work behind all that was issued before, and does not wait.
	Run() error
	// Close frees the Replay, once it has run for the last time.
	Close() error
}
