package train_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// BenchmarkPredictor measures calls that predict one image, by 1 and by 8 goroutines: ns/op is the time between results, p50 and p99 of latency
// the time of a call.
func BenchmarkPredictor(b *testing.B) {
	for _, callers := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d callers", callers), func(b *testing.B) {
			model, err := nn.Preset("cnn", 10)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := nn.Build(model, []int{1, 28, 28}); err != nil {
				b.Fatal(err)
			}
			p, err := train.NewPredictor(model, storage.CPU, train.Feature{Shape: []int{1, 28, 28}})
			if err != nil {
				b.Fatal(err)
			}
			call := func(n int) (took []time.Duration) {
				x, err := storage.Make(storage.CPU, dtype.Float32, 1, 1, 28, 28)
				if err != nil {
					b.Error(err)
					return nil
				}
				for range n {
					began := time.Now()
					if _, err := p.Predict(x); err != nil {
						b.Error(err)
						return nil
					}
					took = append(took, time.Since(began))
				}
				return took
			}
			call(2) // plans the model
			b.ResetTimer()
			latencies := make([][]time.Duration, callers)
			var all sync.WaitGroup
			for i := range callers {
				all.Add(1)
				go func() {
					defer all.Done()
					latencies[i] = call((b.N + callers - 1) / callers)
				}()
			}
			all.Wait()
			took := slices.Concat(latencies...)
			slices.Sort(took)
			for _, percent := range []int{50, 99} {
				if len(took) > 0 {
					b.ReportMetric(float64(took[len(took)*percent/100].Nanoseconds())/1e3, fmt.Sprintf("µs-p%d", percent))
				}
			}
		})
	}
}

// TestGoroutinesShareAPredictor compares predictions of several goroutines, and after the weights have changed, with the model's.
func TestGoroutinesShareAPredictor(t *testing.T) {
	model := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 3, OutFeatures: 2, NoBias: true})}
	p, err := train.NewPredictor(model, storage.CPU, train.Feature{Shape: []int{3}})
	if err != nil {
		t.Fatal(err)
	}
	for round, weights := range [][]float32{{1, 2, 3, 4, 5, 6}, {0, 1, 0, 1, 0, 1}} {
		set := map[string]storage.Array{"0.weight": storage.From(weights, 2, 3)}
		if err := nn.LoadStateDict(model, func(yield func(string, storage.Array) bool) {
			for name, a := range set {
				if !yield(name, a) {
					return
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for g := range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				x := []float32{float32(g), 1, -1}
				for range 5 {
					y, err := p.Predict(storage.From(x, 1, 3))
					if err != nil {
						t.Error(err)
						return
					}
					for o, got := range storage.Elements[float32](y) {
						if want := weights[3*o]*x[0] + weights[3*o+1]*x[1] + weights[3*o+2]*x[2]; got != want {
							t.Errorf("round %d, output %d of %v: %v; want %v", round, o, x, got, want)
						}
					}
				}
			}()
		}
		all.Wait()
	}
}
