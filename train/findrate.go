package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
)

// FindRateOptions are the settings of [FindRate].
type FindRateOptions struct {
	From, To float64 // the first and the last learning rate; 1e-7 and 10 if 0
	Steps    int     // from the first to the last; 100 if 0
}

// A RatePoint is a step of [FindRate].
type RatePoint struct {
	Rate float64
	Loss float64 // of the batch
	Mean float64 // of the losses so far: exponential, each weighs 0.9 of the next
}

// FindRate trains a new run of c with a learning rate that rises exponentially, until the mean of the losses is four times
// the least or is not finite (Smith, arXiv:1506.01186). The rate at which the mean falls fastest is a good learning rate: best, NaN
// if it never falls. The run is thrown away.
func FindRate(ctx context.Context, c Config, data *Data, d storage.Device, o FindRateOptions) (points []RatePoint, best float64, err error) {
	if o == (FindRateOptions{}) {
		o = FindRateOptions{1e-7, 10, 100}
	}
	if !(o.From > 0) || !(o.To > o.From) || math.IsInf(o.To, 1) || o.Steps < 2 {
		return nil, 0, fmt.Errorf("find the learning rate: from %v to %v in %d steps; want two positive numbers and at least 2 steps: %w", o.From, o.To, o.Steps, nn.ErrConfig)
	}
	if c.Shards > 1 {
		return nil, 0, fmt.Errorf("find the learning rate: %d shards; one process without shards finds it: %w", c.Shards, nn.ErrConfig)
	}
	c.Callbacks, c.Epochs = nil, o.Steps // each of at least one step
	r, err := New(ctx, c, data, d)
	if err != nil {
		return nil, 0, err
	}
	search := &rateSearch{FindRateOptions: o}
	err = r.Fit(ctx, &Data{Train: data.Train}, Options{Callbacks: []Callback{search}})
	if err != nil && (!errors.Is(err, errNotFinite) || len(search.points) == 0) {
		return nil, 0, fmt.Errorf("find the learning rate: %w", err)
	}
	return search.points, fastest(search.points), nil
}

// A rateSearch is the callback of FindRate.
type rateSearch struct {
	CallbackFuncs
	FindRateOptions
	points []RatePoint
	epoch  int     // of the last step
	before Metrics // of it
	sum    float64 // of weighted losses
	weight float64
	least  float64 // mean
}

// Rate returns the rate of the next step.
func (s *rateSearch) Rate(nn.Progress, float64) float64 {
	return s.From * math.Pow(s.To/s.From, float64(len(s.points))/float64(s.Steps-1))
}

func (s *rateSearch) looksAtMetrics(uint64) bool { return true }

// StepEnd notes the loss of the step.
func (s *rateSearch) StepEnd(p Progress) error {
	if p.Epoch != s.epoch {
		s.epoch, s.before = p.Epoch, Metrics{}
	}
	loss := (p.Loss - s.before.Loss) / float64(p.Metrics.Samples-s.before.Samples)
	s.before = p.Metrics
	s.sum, s.weight = 0.9*s.sum+loss, 0.9*s.weight+1
	mean := s.sum / s.weight
	s.points = append(s.points, RatePoint{s.Rate(nn.Progress{}, 0), loss, mean})
	if len(s.points) == 1 || mean < s.least {
		s.least = mean
	}
	if len(s.points) == s.Steps || mean > 4*s.least && s.least > 0 {
		return Stop("the learning rate has risen")
	}
	return nil
}

// fastest returns the rate at which the mean of the losses falls fastest from step to step, NaN if it does not. The first steps,
// whose mean has few losses, do not count.
func fastest(points []RatePoint) float64 {
	best, slope := math.NaN(), 0.0
	for i := min(10, len(points)/4) + 1; i+1 < len(points); i++ {
		if d := points[i+1].Mean - points[i-1].Mean; d < slope {
			best, slope = points[i].Rate, d
		}
	}
	return best
}
