package train_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestFindRate: the rate that is found trains to a smaller loss than rates a thousand times smaller or larger, and nothing is
// left of the search.
func TestFindRate(t *testing.T) {
	run, data := setUp(t, strings.Replace(plain, "seed", "batch: 8\nseed", 1))
	c := run.Config
	points, best, err := train.FindRate(context.Background(), c, data, storage.CPU, train.FindRateOptions{})
	if err != nil || !(best > 0) {
		t.Fatalf("rate %v after %d steps: %v", best, len(points), err)
	}
	for i, p := range points[1:] {
		if p.Rate <= points[i].Rate {
			t.Errorf("step %d: rate %v after %v", i+2, p.Rate, points[i].Rate)
		}
	}
	if again, same, err := train.FindRate(context.Background(), c, data, storage.CPU, train.FindRateOptions{}); err != nil || same != best || len(again) != len(points) {
		t.Errorf("again: rate %v after %d steps: %v; want %v after %d", same, len(again), err, best, len(points))
	}
	lossAt := func(rate float64) float64 {
		c := c
		c.Optimizer = map[string]any{"sgd": map[string]any{"lr": rate, "momentum": 0.9}}
		r, err := train.New(context.Background(), c, data, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Fit(context.Background(), data, train.Options{}); err != nil {
			return math.Inf(1)
		}
		loss, _ := r.History.Last("loss")
		return loss
	}
	if found := lossAt(best); !(found < lossAt(best/1000)) || !(found < lossAt(best*1000)) {
		t.Errorf("rate %v trains to the loss %v; a thousandth to %v, thousand times to %v", best, found, lossAt(best/1000), lossAt(best*1000))
	}
	c.Shards = 2
	for _, o := range []train.FindRateOptions{{}, {From: 1, To: 0.1, Steps: 10}} {
		if _, _, err := train.FindRate(context.Background(), c, data, storage.CPU, o); !errors.Is(err, nn.ErrConfig) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
