package train

import (
	"context"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
)

// OnlyAtTheEnd makes the host read running totals at the end of epochs only, during the
// test.
func OnlyAtTheEnd(t *testing.T) {
	old := maxAge
	maxAge = time.Hour
	t.Cleanup(func() { maxAge = old })
}

// ScaleOf returns the state of r's loss scaler.
func ScaleOf(r *Run) storage.Array { return r.scaler.Array }

// EvaluateBy is r.Evaluate with batches of the given number of samples.
func EvaluateBy(samples int, r *Run, d dataset.Dataset) (t Metrics, err error) {
	p, err := r.Predictor()
	if err != nil {
		return t, err
	}
	p.BatchSize = samples
	return r.evaluateBy(context.Background(), p, d, shardRange{all: 1, local: 1})
}

// GroupSteps makes trials short and lets graphs have as many steps as take so long, during
// the test.
func GroupSteps(t *testing.T, d time.Duration) {
	oldTime, oldReplays := groupTime, timedReplays
	groupTime, timedReplays = d, 1
	t.Cleanup(func() { groupTime, timedReplays = oldTime, oldReplays })
}

// LoseAverages removes the averages of r's parameters.
func LoseAverages(r *Run) error {
	return r.ema.Load(nn.Parameters(r.Model), func(func(string, storage.Array) bool) {})
}

// SetBucketBytes sets the size from which gradients are exchanged, until restore is called.
func SetBucketBytes(n int) (restore func()) {
	before := bucketBytes
	bucketBytes = n
	return func() { bucketBytes = before }
}

// CallbackState yields the states of the callbacks of r.
func CallbackState(r *Run) func(func(string, storage.Array) bool) { return r.callbackStates.arrays }
