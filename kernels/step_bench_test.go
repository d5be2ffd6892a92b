package kernels

import (
	"runtime"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A program is the kernel calls of a training step, in order: what a step costs
// when the engine costs nothing.
type program []func() error

func (p *program) add(k *Kernel, out, in []storage.Array, options any) {
	c := &Call{Out: out, In: in, Options: options}
	*p = append(*p, func() error { return CPU.Run(k, c) })
}

// linear appends y = act(x·wᵀ + b) and returns y and, for later, the backward calls
// from dy, which also update the parameters. dx may be absent.
func (p *program) linear(x storage.Array, out int, act Activation) (y storage.Array, back func(dy storage.Array, dx *storage.Array)) {
	n, in := x.Shape[0], x.Shape[1]
	y, w, b := dense(views.Of(n, out)), dense(views.Of(out, in)), dense(views.Of(out))
	p.add(Linear, []storage.Array{y}, []storage.Array{x, w, b}, LinearOptions{Act: act})
	return y, func(dy storage.Array, dx *storage.Array) {
		dz, dw, db := dense(views.Of(n, out)), dense(views.Of(out, in)), dense(views.Of(out))
		p.add(ActGradBias, []storage.Array{dz, db}, []storage.Array{y, dy}, ActOptions{Act: act})
		if dx != nil {
			p.add(MatMul, []storage.Array{*dx}, []storage.Array{dz, w}, nil)
		}
		dzT := views.View{Shape: []int{out, n}, Stride: []int{1, out}}
		p.add(MatMul, []storage.Array{dw}, []storage.Array{dz.With(dzT), x}, nil)
		p.add(SGD, []storage.Array{w}, []storage.Array{dw}, SGDOptions{Rate: 1e-6})
		p.add(SGD, []storage.Array{b}, []storage.Array{db}, SGDOptions{Rate: 1e-6})
	}
}

// loss appends the cross-entropy of logits and returns its gradient.
func (p *program) loss(logits storage.Array) storage.Array {
	labels, dz := make([]int64, logits.Shape[0]), dense(views.Of(logits.Shape...))
	for i := range labels {
		labels[i] = int64(i % logits.Shape[1])
	}
	p.add(CrossEntropy, []storage.Array{dense(views.Of()), dz}, []storage.Array{logits, storage.From(labels, len(labels))}, nil)
	return dz
}

// block appends a 3x3 convolution, relu and 2x2 maximum pool.
func (p *program) block(x storage.Array, out int) (y storage.Array, back func(dy storage.Array, dx *storage.Array)) {
	n, c, h := x.Shape[0], x.Shape[1], x.Shape[2]
	z, w, b := dense(views.ChannelsLast(n, out, h, h)), dense(views.Of(out, c, 3, 3)), dense(views.Of(out))
	y = dense(views.ChannelsLast(n, out, h/2, h/2))
	index := storage.Array{Data: storage.From(make([]int32, y.Len()), y.Len()).Data, Type: dtype.Int32, View: y.View}
	set, halve := ConvOptions{Padding: Pad(1, 1)}, PoolOptions{Kernel: [3]int{2, 2}}
	p.add(Conv, []storage.Array{z}, []storage.Array{x, w, b}, ConvOptions{Padding: set.Padding, Act: ReLUActivation})
	p.add(MaxPool, []storage.Array{y, index}, []storage.Array{z}, halve)
	return y, func(dy storage.Array, dx *storage.Array) {
		dz, dw, db := dense(z.View), dense(w.View), dense(b.View)
		p.add(MaxPoolGrad, []storage.Array{dz}, []storage.Array{dy, index, y}, halve)
		if dx != nil {
			p.add(ConvGradX, []storage.Array{*dx}, []storage.Array{dz, w}, set)
		}
		p.add(ConvGradW, []storage.Array{dw, db}, []storage.Array{x, dz}, set)
		p.add(SGD, []storage.Array{w}, []storage.Array{dw}, SGDOptions{Rate: 1e-6})
		p.add(SGD, []storage.Array{b}, []storage.Array{db}, SGDOptions{Rate: 1e-6})
	}
}

func (p program) bench(b *testing.B) {
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		for _, call := range p {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func mlp(batch int, sizes ...int) (p program) {
	x := dense(views.Of(batch, sizes[0]))
	var backs []func(dy storage.Array, dx *storage.Array)
	xs := []storage.Array{x}
	for i, out := range sizes[1:] {
		act := ReLUActivation
		if i == len(sizes)-2 {
			act = NoActivation
		}
		y, back := p.linear(xs[i], out, act)
		xs, backs = append(xs, y), append(backs, back)
	}
	dy := p.loss(xs[len(xs)-1])
	for i := len(backs) - 1; i >= 0; i-- {
		if i == 0 {
			backs[0](dy, nil)
			break
		}
		dx := dense(xs[i].View)
		backs[i](dy, &dx)
		dy = dx
	}
	return p
}

// cnn is conv32-pool-conv64-pool-fc128-fc10 on (batch,1,28,28); half of it, for inference.
func cnn(batch int, train bool) (p program) {
	x := dense(views.ChannelsLast(batch, 1, 28, 28))
	y1, back1 := p.block(x, 32)
	y2, back2 := p.block(y1, 64)
	flat := dense(views.Of(batch, 64*49))
	p.add(Copy, []storage.Array{flat.With(views.Of(batch, 64, 7, 7))}, []storage.Array{y2}, nil)
	h, back3 := p.linear(flat, 128, ReLUActivation)
	logits, back4 := p.linear(h, 10, NoActivation)
	if !train {
		return p
	}
	dh, dflat, dy2, dy1 := dense(h.View), dense(flat.View), dense(y2.View), dense(y1.View)
	back4(p.loss(logits), &dh)
	back3(dh, &dflat)
	p.add(Copy, []storage.Array{dy2}, []storage.Array{dflat.With(views.Of(batch, 64, 7, 7))}, nil)
	back2(dy2, &dy1)
	back1(dy1, nil)
	return p
}

func BenchmarkStep(b *testing.B) {
	b.Run("mlp_784-128-10_b64", func(b *testing.B) { mlp(64, 784, 128, 10).bench(b) })
	b.Run("mlp_784-1024-1024-10_b256", func(b *testing.B) { mlp(256, 784, 1024, 1024, 10).bench(b) })
	b.Run("cnn_b64", func(b *testing.B) { cnn(64, true).bench(b) })
}

func BenchmarkInference(b *testing.B) {
	b.Run("cnn_b1", func(b *testing.B) { cnn(1, false).bench(b) })
	b.Run("cnn_b16", func(b *testing.B) { cnn(16, false).bench(b) })
	b.Run("cnn_b64", func(b *testing.B) { cnn(64, false).bench(b) })
}
