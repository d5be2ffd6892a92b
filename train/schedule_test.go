package train_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/train"
)

// TestScheduleStateIsResumed interrupts runs whose learning rate follows the loss,
// around the ends of epochs.
func TestScheduleStateIsResumed(t *testing.T) {
	const following = settings + `
schedule: {plateau: {patience: 0, gamma: 0.5, threshold: 0.9}}
`
	whole, data := setUp(t, following)
	whole.Config.Epochs = 4
	if err := whole.Fit(context.Background(), data, train.Options{}); err != nil {
		t.Fatal(err)
	}
	want := state(t, whole)
	if rates := whole.History["lr"]; rates[3] >= rates[0] {
		t.Fatalf("learning rates %v; want them to decrease", rates)
	}
	for _, stop := range []int{9, 10, 11, 25, 30} {
		run, data := setUp(t, following)
		run.Config.Epochs = 4
		again := interrupted(t, run, data, stop)
		if err := again.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		sameState(t, fmt.Sprintf("stopped after step %d", stop), state(t, again), want)
	}
}
