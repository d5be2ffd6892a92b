package cuda_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/cuda/ptx"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
)

// A cost is what 32 multiplications and additions of a product take at most, one of a
// warp: instructions that its warps issue, sectors of memory, and passes over shared memory.
type cost struct{ issued, sectors, wavefronts float64 }

// TestInstructionCountsOfProducts compares the instruction counts of tiled products with
// those measured with loads of 16 bytes and without divisions to address elements.
func TestInstructionCountsOfProducts(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Eager)[0]
	defer d.AllowTF32(false)
	w := of(64, 32, 3, 3)
	x, y := of(2, 32, 26, 26), of(2, 64, 24, 24)
	last := spec.channelsLast
	for _, c := range []struct {
		name               string
		trial              trial
		sums               int // multiplications and additions
		single, tf32, bf16 cost
	}{
		{"256³", trial{k: kernels.MatMul, out: list(of(256, 256)), in: list(of(256, 256), of(256, 256))}, 256 * 256 * 256, cost{1.5, 0.15, 0.49}, cost{0.45, 0.16, 0.18}, cost{0.36, 0.13, 0.12}},
		{"convolution", trial{k: kernels.Conv, out: list(last(y)), in: list(last(x), w)}, y.len() * 32 * 9, cost{1.7, 0.21, 0.48}, cost{0.63, 0.22, 0.17}, cost{0.51, 0.13, 0.14}},
		{"its gradient for x", trial{k: kernels.ConvGradX, out: list(last(x)), in: list(last(y), w)}, x.len() * 64 * 9, cost{1.82, 0.21, 0.51}, cost{0.74, 0.22, 0.19}, cost{0.54, 0.14, 0.13}},
		{"its gradient for w", trial{k: kernels.ConvGradW, out: list(w), in: list(last(x), last(y))}, y.len() * 32 * 9, cost{1.67, 0.2, 0.51}, cost{0.61, 0.21, 0.2}, cost{0.48, 0.21, 0.11}},
	} {
		half, _ := c.trial.narrowed(dtype.BFloat16, 0)
		for _, p := range []struct {
			name  string
			trial trial
			tf32  bool
			most  cost
		}{{"float32", c.trial, false, c.single}, {"TF32", c.trial, true, c.tf32}, {"bfloat16", half, false, c.bf16}} {
			d.AllowTF32(p.tf32)
			n := cudatest.CountInstructions(func() {
				_, there := p.trial.call(t, d)
				if err := d.Run(p.trial.k, &there); err != nil {
					t.Fatal(err)
				}
			})
			per := func(n uint64) float64 { return float64(n) / (float64(c.sums) / 32) }
			got := cost{per(n.Issued), per(n.Sectors), per(n.Wavefronts)}
			if got.issued > p.most.issued || got.sectors > p.most.sectors || got.wavefronts > p.most.wavefronts {
				t.Errorf("%s in %s: %.3f instructions, %.3f sectors and %.3f wavefronts for 32 sums, want at most %v", c.name, p.name, got.issued, got.sectors, got.wavefronts, p.most)
			}
			if onTensorCores := n.Kinds[ptx.Matrix] > 0; onTensorCores != (p.name != "float32") {
				t.Errorf("%s in %s: by tensor cores %v", c.name, p.name, onTensorCores)
			}
		}
	}
}

// len is how many elements an operand has.
func (s spec) len() int {
	n := 1
	for _, size := range s.shape {
		n *= size
	}
	return n
}
