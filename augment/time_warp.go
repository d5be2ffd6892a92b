package augment

import (
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TimeWarpOptions are the settings of a TimeWarp.
type TimeWarpOptions struct {
	Strength float64 `json:"strength"`        // largest change of the speed, as a part of it, below 1
	Knots    int     `json:"knots,omitempty"` // between which the speed changes linearly; 4 if 0
	P        float64 `json:"p"`               // probability; 1 if absent
}

// TimeWarp stretches parts of a signal and compresses others, all channels alike: its ends stay where they are, and values
// between samples are interpolated linearly.
type TimeWarp struct {
	only
	chance
	TimeWarpOptions
}

// NewTimeWarp returns a time warp.
func NewTimeWarp(o TimeWarpOptions) *TimeWarp {
	orDefault(&o.P, 1)
	return newTimeWarp(o)
}

func newTimeWarp(o TimeWarpOptions) *TimeWarp {
	if o.Knots == 0 {
		o.Knots = 4
	}
	if !(o.Strength >= 0 && o.Strength < 1) || o.Knots < 2 {
		tensor.Fail("time_warp", nn.ErrConfig, "strength %v, %d knots; want 0 to below 1, and 2 knots or more", o.Strength, o.Knots)
	}
	checkProbability("time_warp", o.P)
	return &TimeWarp{only(Signal), chance(o.P), o}
}

// Apply warps a sample.
func (a *TimeWarp) Apply(to, from Sample, r *Random) error {
	speeds := make([]float64, a.Knots)
	for i := range speeds {
		speeds[i] = 1 + a.Strength*r.Uniform(-1, 1)
	}
	var times []float64
	return eachChannel(to, from, func(_ int, dst, src signal) {
		if len(times) != src.len() {
			times = warpedTimes(speeds, src.len())
		}
		for i, t := range times {
			k := min(int(t), max(0, src.len()-2))
			v := src.at(k)
			if part := t - float64(k); part > 0 && k+1 < src.len() {
				v += part * (src.at(k+1) - v)
			}
			dst.set(i, v)
		}
	})
}

// warpedTimes returns times from 0 to n-1, whose distances follow speeds.
func warpedTimes(speeds []float64, n int) []float64 {
	times := make([]float64, n)
	for i := 1; i < n; i++ {
		at := (float64(i) - 0.5) / float64(n-1) * float64(len(speeds)-1)
		k := min(int(at), len(speeds)-2)
		times[i] = times[i-1] + speeds[k] + (at-float64(k))*(speeds[k+1]-speeds[k])
	}
	if n > 1 {
		all := times[n-1]
		for i := range times {
			times[i] *= float64(n-1) / all
		}
	}
	return times
}

var _ = Register("time_warp", newTimeWarp, TimeWarpOptions{P: 1})
