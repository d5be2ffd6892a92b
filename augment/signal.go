package augment

import (
	"github.com/h5dnn/h5dnn/dtype"
)

// eachChannel calls change with the elements of each channel of the signals of a sample, after to was made a copy of from
// where both are as long.
func eachChannel(to, from Sample, change func(channel int, dst, src signal)) error {
	for i, f := range from.Fields {
		if f.Kind != Signal {
			continue
		}
		if len(to.Data[i]) == len(from.Data[i]) {
			copy(to.Data[i], from.Data[i])
		}
		channels := 1
		if len(f.Shape) == 2 {
			channels = f.Shape[0]
		}
		dst, src := signalOf(f.Type, to.Data[i]), signalOf(f.Type, from.Data[i])
		for c := range channels {
			change(c, dst.part(c, channels), src.part(c, channels))
		}
	}
	return nil
}

// A signal is elements of one of two types.
type signal struct {
	f32 []float32
	f64 []float64
}

func signalOf(t dtype.Type, data []byte) signal {
	if t == dtype.Float64 {
		return signal{f64: dtype.Cast[float64](data)}
	}
	return signal{f32: dtype.Cast[float32](data)}
}

func (s signal) len() int { return len(s.f32) + len(s.f64) }

func (s signal) part(i, of int) signal {
	n := s.len() / of
	if s.f64 != nil {
		return signal{f64: s.f64[i*n : (i+1)*n]}
	}
	return signal{f32: s.f32[i*n : (i+1)*n]}
}

func (s signal) at(i int) float64 {
	if s.f64 != nil {
		return s.f64[i]
	}
	return float64(s.f32[i])
}

func (s signal) set(i int, v float64) {
	if s.f64 != nil {
		s.f64[i] = v
	} else {
		s.f32[i] = float32(v)
	}
}
