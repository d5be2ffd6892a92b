package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An attentionCase is an attention whose blocks of 64 queries and 64 keys are whole or not.
type attentionCase struct {
	n, heads, keyHeads, t, s, d, e int
	AttentionOptions
	mask string // none, keeps or adds
}

var attentionCases = []attentionCase{
	{1, 1, 1, 1, 1, 1, 1, AttentionOptions{Scale: 1}, ""},
	{2, 3, 3, 64, 64, 16, 16, AttentionOptions{Scale: 0.25}, ""},
	{2, 4, 2, 65, 130, 20, 17, AttentionOptions{Scale: 0.2}, "keeps"},
	{1, 2, 1, 129, 129, 32, 33, AttentionOptions{Scale: 0.2, Causal: true}, ""},
	{1, 6, 2, 70, 64, 8, 16, AttentionOptions{Scale: 0.3, Causal: true}, "keeps"},
	{1, 2, 2, 63, 127, 16, 8, AttentionOptions{Scale: 0.3, Causal: true}, "adds"},
	{2, 2, 2, 66, 67, 16, 16, AttentionOptions{Scale: 0.3, P: 0.4, Seed: 3, Stream: 5}, "keeps"},
	{1, 4, 1, 5, 128, 16, 16, AttentionOptions{Scale: 0.3, P: 0.1, Seed: 3, Stream: 5, Causal: true}, ""},
}

// inputs returns q, k and v, which are parts of the rows of one array (N, T, …) where they can be, and a mask that leaves the first query without keys.
func (c attentionCase) inputs() []storage.Array {
	r := rand.New(rand.NewPCG(1, 2))
	heads := func(heads, rows, size int) storage.Array {
		wide := heads*size + 3
		x := make([]float32, c.n*rows*wide)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return storage.From(x, len(x)).With(views.View{Shape: []int{c.n, heads, rows, size}, Stride: []int{rows * wide, size, wide, 1}})
	}
	in := []storage.Array{heads(c.heads, c.t, c.d), heads(c.keyHeads, c.s, c.d), heads(c.keyHeads, c.s, c.e)}
	shape := []int{c.n, c.heads, c.t, c.s}
	switch c.mask {
	case "keeps":
		keeps := make([]bool, c.n*c.t*c.s)
		for i := range keeps {
			keeps[i] = i >= c.s && r.IntN(3) > 0
		}
		mask := storage.From(keeps, c.n, 1, c.t, c.s)
		in = append(in, broadcastTo(&mask, shape))
	case "adds":
		adds := make([]float32, c.s)
		for i := range adds {
			if adds[i] = float32(r.NormFloat64()); i%5 == 4 {
				adds[i] = float32(math.Inf(-1))
			}
		}
		mask := storage.From(adds, c.s)
		in = append(in, broadcastTo(&mask, shape))
	}
	return in
}

// run returns the results and gradients by the reference or by the optimized implementation.
func (c attentionCase) run(t *testing.T, reference bool) (results []storage.Array) {
	t.Helper()
	in := c.inputs()
	run := func(k *Kernel, out, in []storage.Array) {
		t.Helper()
		call := &Call{Out: out, In: in, Options: c.AttentionOptions}
		if reference {
			if err := k.Reference(call); err != nil {
				t.Fatal(err)
			}
		} else if done, err := k.Optimized(call); !done || err != nil {
			t.Fatal("not computed by blocks", err)
		}
	}
	zeros := func(shape ...int) storage.Array {
		return storage.From(make([]float32, views.Of(shape...).Len()), shape...)
	}
	y, lse, dy := zeros(c.n, c.heads, c.t, c.e), zeros(c.n, c.heads, c.t), zeros(c.n, c.heads, c.t, c.e)
	for i := range storage.Elements[float32](dy) {
		storage.Elements[float32](dy)[i] = float32(math.Sin(float64(i)))
	}
	run(Attention, []storage.Array{y, lse}, in)
	grads := []storage.Array{zeros(in[0].Shape...), zeros(in[1].Shape...), zeros(in[2].Shape...)}
	run(AttentionGrad, grads, append([]storage.Array{in[0], in[1], in[2], y, lse, dy}, in[3:]...))
	return append([]storage.Array{y, lse}, grads...)
}

// TestAttentionByBlocks compares blocks of keys with the reference, and the bits on 1, 2 and 4 threads.
func TestAttentionByBlocks(t *testing.T) {
	defer native.SetThreads(native.Threads())
	for _, c := range attentionCases {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			want := c.run(t, true)
			var first [][]float32
			for _, threads := range []int{1, 2, 4} {
				native.SetThreads(threads)
				for i, got := range c.run(t, false) {
					elems := storage.Elements[float32](got)
					if threads == 1 {
						first = append(first, elems)
						compareAttention(t, []string{"y", "lse", "dq", "dk", "dv"}[i], elems, storage.Elements[float32](want[i]))
					} else if !slices.Equal(dtype.Bytes(elems), dtype.Bytes(first[i])) {
						t.Errorf("result %d has other bits on %d threads", i, threads)
					}
				}
			}
		})
	}
}

func compareAttention(t *testing.T, name string, got, want []float32) {
	t.Helper()
	largest := 1.0
	for _, w := range want {
		if a := math.Abs(float64(w)); !math.IsInf(a, 0) {
			largest = max(largest, a)
		}
	}
	for i, w := range want {
		if got[i] != w && !(math.Abs(float64(got[i]-w)) <= 2e-6*largest) {
			t.Fatalf("%s, element %d: %v, want %v", name, i, got[i], w)
		}
	}
}
