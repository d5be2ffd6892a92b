// Command make writes the signals of examples/ecg: electrocardiograms of a made heart, of 96 samples, in one of four rhythms.
//
//	go run ./examples/ecg/make [-n NUMBER] [FILE]
package main

import (
	"math"
	"math/rand/v2"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
)

const length = 96 // samples of a signal, 32 a second

// The rhythms.
const (
	normal     = iota
	fast       // beats that follow each other quickly
	irregular  // intervals of no order, without the wave before a beat
	earlyBeats // one beat early and wide
	rhythms
)

// bump adds a bell of a height and a width, in samples, around a time.
func bump(signal []float32, at, width, height float64) {
	for i := range signal {
		d := (float64(i) - at) / width
		signal[i] += float32(height * math.Exp(-d*d/2))
	}
}

// newSignal returns a signal of a rhythm: the waves P, QRS and T of each beat, a baseline that drifts, and noise.
func newSignal(r *rand.Rand, rhythm int) []float32 {
	signal := make([]float32, length)
	interval := 24 + 6*r.Float64()
	if rhythm == fast {
		interval = 13 + 5*r.Float64()
	}
	early := 1 + r.IntN(2)
	at := -interval * r.Float64()
	for beat := 0; at < length+interval; beat++ {
		next, width, p := interval*(1+0.04*r.NormFloat64()), 0.8, 0.15
		switch {
		case rhythm == irregular:
			next, p = interval*(0.6+0.9*r.Float64()), 0
		case rhythm == earlyBeats && beat == early:
			next, width, p = interval*1.3, 2.2, 0
		case rhythm == earlyBeats && beat == early-1:
			next = interval * 0.7
		}
		bump(signal, at-4, 1.2, p)
		bump(signal, at, width, 1)
		bump(signal, at+width+0.8, width, -0.25)
		bump(signal, at+7, 2, 0.3)
		at += next
	}
	phase, drift := 2*math.Pi*r.Float64(), 0.2*r.Float64()
	for i := range signal {
		signal[i] += float32(drift*math.Sin(phase+float64(i)/20) + 0.12*r.NormFloat64())
	}
	return signal
}

func main() {
	maker.Maker{File: "examples/ecg/signals.h5", Noun: "signals", N: 2400, Share: 4, Samples: makeSignals}.Main()
}

// makeSignals returns n signals.
func makeSignals(r *rand.Rand, n int) map[string]*tensor.Tensor {
	var signals []float32
	labels := make([]int8, n)
	for i := range labels {
		labels[i] = int8(r.IntN(rhythms))
		signals = append(signals, newSignal(r, int(labels[i]))...)
	}
	return map[string]*tensor.Tensor{"signals": tensor.FromSlice(signals, n, length, 1), "rhythms": tensor.FromSlice(labels, n)}
}
