package native

// #include "bf16.h"
// #cgo noescape h5k_bf16_pairs
// #cgo nocallback h5k_bf16_pairs
import "C"

import "sync"

// Pairs returns the convolution that g is of numbers of bfloat16: its elements are pairs of channels, dense and channels-last. Its weights are
// pairs, too. g is not depthwise, and the processor has [BF16].
func (g *Direct) Pairs() Direct {
	p := *g
	p.C, p.BF16 = (g.C+1)/2, 1
	p.X = [5]int64{1: 1, 4: p.C}
	p.X[3] = p.X[4] * g.XSize[2]
	p.X[2] = p.X[3] * g.XSize[1]
	p.X[0] = p.X[2] * g.XSize[0]
	return p
}

// pairBuffers are memory of pairs.
var pairBuffers sync.Pool

// RunPairs is Run of the convolution pairs, of g, by its weights: x is rounded to bfloat16.
func (g *Direct) RunPairs(pairs *Direct, y, x, packed, b []float32) error {
	n := int(pairs.N * pairs.X[0])
	buffer, _ := pairBuffers.Get().(*[]float32)
	if buffer == nil || len(*buffer) < n {
		made := aligned(n)
		buffer = &made
	}
	defer pairBuffers.Put(buffer)
	if err := packedStatus(C.h5k_bf16_pairs(g.c(), floats(*buffer), C.int64_t(n), floats(x), C.int64_t(len(x)))); err != nil {
		return err
	}
	return pairs.Run(y, (*buffer)[:n], packed, b)
}
