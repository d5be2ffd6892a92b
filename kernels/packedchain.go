package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// A PackedChain is a convolution of single pixels, one of single channels and one of single pixels, as MobileNet's blocks have them, in one: results between
// them are a few rows, which stay in the cache of the processor that computes them. Goroutines may share it.
type PackedChain struct {
	direct       native.DirectChain
	weight, bias [3][]float32
}

// ChainPacked joins convolutions that each take the dense results of the one before; expand may be nil. It returns nil where they are faster apart.
func ChainPacked(expand, depthwise, project *PackedConv) *PackedChain {
	const cached = 512 << 10 // bytes of weights that stay in a processor's own cache
	p := &PackedChain{}
	bytes := 0
	for i, c := range []*PackedConv{expand, depthwise, project} {
		if c == nil {
			continue
		}
		if c.weight8 != nil || c.pairs != nil || c.winograd != nil || c.act != NoActivation {
			return nil
		}
		p.direct[i], p.weight[i], p.bias[i] = c.direct, c.weight, c.bias
		bytes += c.Bytes()
	}
	d, last, one := &p.direct[1], &p.direct[2], [3]int64{1, 1, 1}
	fewRows := d.N*d.YSize[1] < 7*int64(native.Threads())
	if d.Depthwise == 0 || d.Sum != 0 || d.XSize[0] != 1 || d.Window[0] != 1 || bytes > cached || fewRows || !p.isDense(1) ||
		last.Depthwise != 0 || last.Window != one || last.Stride != one || last.Pad != [3]int64{} || expand == nil && last.Sum != 0 {
		return nil
	}
	if e := &p.direct[0]; expand != nil && (e.Depthwise != 0 || e.Sum != 0 || e.Window != one || e.Stride != one || e.Pad != [3]int64{} || !p.isDense(0)) {
		return nil
	}
	return p
}

// isDense reports whether x is dense and channels-last.
func (p *PackedChain) isDense(i int) bool {
	d := &p.direct[i]
	rows := d.X[1] == 1 && d.X[4] == d.C && d.X[3] == d.C*d.XSize[2]
	return rows && (d.N == 1 || d.X[0] == d.XSize[1]*d.X[3])
}

// Run sets y, the one output, or adds to it, from x, the one input.
func (p *PackedChain) Run(out, in []storage.Array) error {
	y, x := &out[0], &in[0]
	defer y.BumpVersion()
	return p.direct.Run(fromFirst[float32](y), fromFirst[float32](x), p.weight, p.bias)
}

// Bytes returns the size of the packed weights.
func (p *PackedChain) Bytes() (n int) {
	for i := range p.weight {
		n += 4 * (len(p.weight[i]) + len(p.bias[i]))
	}
	return n
}

// Narrow returns how many of how many convolutions have weights of fewer bits than float32.
func (p *PackedChain) Narrow() (count, of int) {
	for _, w := range p.weight {
		of += min(len(w), 1)
	}
	return 0, of
}
