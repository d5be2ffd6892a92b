package tensor

import (
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
)

// TestFusion says which expressions are differentiated as one operation.
func TestFusion(t *testing.T) {
	x, w, b := Ones(dtype.Float32, 4, 3).RequireGrad(), Ones(dtype.Float32, 5, 3).RequireGrad(), Ones(dtype.Float32, 5).RequireGrad()
	images, kernel := Ones(dtype.Float32, 2, 3, 4, 4).RequireGrad(), Ones(dtype.Float32, 5, 3, 3, 3).RequireGrad()
	norm := BatchNormOptions{Training: true, RunningMean: Zeros(dtype.Float32, 5).array, RunningVar: Ones(dtype.Float32, 5).array}
	linear := func() *Tensor { return Linear(x, w, b, NoActivation) }
	conv := func() *Tensor { return Conv(images, kernel, b, ConvOptions{}) }
	drop := func(x *Tensor) *Tensor { return x.Dropout(0.5, Key{}) }
	for _, c := range []struct {
		name string
		y    *Tensor
		op   string
		want epilogue
	}{
		{"linear relu", linear().ReLU(), "linear", epilogue{act: ReLUActivation}},
		{"linear tanh", linear().Tanh(), "linear", epilogue{act: TanhActivation}},
		{"linear gelu", linear().GELU(), "linear", epilogue{act: GELUActivation}},
		{"linear with silu", Linear(x, w, b, SiLUActivation), "linear", epilogue{act: SiLUActivation, stores: true}},
		{"conv with gelu", Conv(images, kernel, b, ConvOptions{Act: GELUActivation}), "conv", epilogue{act: GELUActivation, stores: true}},
		{"linear relu dropout", drop(linear().ReLU()), "linear", epilogue{act: ReLUActivation, drop: 0.5}},
		{"linear with relu, dropout", drop(Linear(x, w, b, ReLUActivation)), "linear", epilogue{act: ReLUActivation, drop: 0.5}},
		{"conv relu", conv().ReLU(), "conv", epilogue{act: ReLUActivation}},
		{"conv gelu tanh", conv().GELUTanh(), "conv", epilogue{act: GELUTanhActivation}},
		{"batch norm relu", BatchNorm(conv(), b, b, norm).ReLU(), "batch norm", epilogue{act: ReLUActivation}},
		{"linear relu tanh", linear().ReLU().Tanh(), "tanh", epilogue{}},
		{"linear tanh dropout", drop(linear().Tanh()), "dropout", epilogue{}},
		{"linear gelu dropout", drop(linear().GELU()), "dropout", epilogue{}},
		{"linear exp", linear().Exp(), "exp", epilogue{}},
		{"relu of a leaf", x.ReLU(), "relu", epilogue{}},
	} {
		op, in, _ := (&pass{}).fused(c.y.node)
		var got epilogue
		if f, ok := op.(fusable); ok {
			got = f.epilogue()
		}
		if (got.operand != nil || got.stores) != got.act.OfInput() {
			t.Errorf("%s: operand %v of the activation %v, stored: %v", c.name, got.operand, got.act, got.stores)
		}
		got.operand = nil
		if op.Name() != c.op || got != c.want {
			t.Errorf("%s: %s with %+v, want %s with %+v", c.name, op.Name(), got, c.op, c.want)
		}
		if op.Name() == "linear" && in[0] != x {
			t.Errorf("%s: operand %v", c.name, in[0])
		}
	}
	h := linear()
	y, again := h.ReLU(), h.Tanh()
	if op, _, _ := (&pass{}).fused(y.node); op.Name() != "relu" {
		t.Errorf("%s is fused with what another operation uses, %v", op.Name(), again.array)
	}
	h = linear()
	if op, _, _ := (&pass{targets: []*Tensor{h}}).fused(h.ReLU().node); op.Name() != "relu" {
		t.Errorf("%s hides a result whose gradient is asked for", op.Name())
	}
}

// TestPoolsDifferentiateTheReLUBefore compares gradients through a maximum pool that is differentiated together with a
// ReLU with gradients through both, which a caller who asks for the gradient between them has.
func TestPoolsDifferentiateTheReLUBefore(t *testing.T) {
	normal := func(stream uint64, shape ...int) *Tensor {
		x := Zeros(dtype.Float32, shape...)
		FillNormal(x.array, 0, 1, Key{Seed: 1, Stream: stream})
		return x.RequireGrad()
	}
	images, kernel, b := normal(1, 2, 3, 7, 6), normal(2, 17, 3, 3, 3), normal(3, 17)
	norm := BatchNormOptions{Training: true, RunningMean: Zeros(dtype.Float32, 17).array, RunningVar: Ones(dtype.Float32, 17).array, Act: ReLUActivation}
	leaves := []*Tensor{images, kernel, b}
	for _, o := range []PoolOptions{{Kernel: [3]int{2, 2}}, {Kernel: [3]int{3, 2}, Stride: [3]int{2, 1}, Padding: Pad(1, 0)}} {
		for name, h := range map[string]*Tensor{
			"conv":       Conv(images, kernel, b, ConvOptions{Act: ReLUActivation}),
			"batch norm": BatchNorm(Conv(images, kernel, nil, ConvOptions{}), b, b, norm),
			"row-major":  Conv(images, kernel, b, ConvOptions{Act: ReLUActivation}),
		} {
			if name == "row-major" {
				h.PreferRowMajor()
			}
			p, y := &pass{grads: Grads{}}, h.MaxPool(o)
			dy := y.AddScalar(1).inBackward(p)
			op, ok := p.throughActivation(y.node.op, y.node.out, []*Tensor{dy}, y.node.operands()).(*maxPool)
			if !ok || !op.ofReLU || len(p.activated) != 1 {
				t.Errorf("%s: the ReLU before is not differentiated with the pool", name)
			}
			options := GradOptions{Incoming: []*Tensor{dy}, RetainGraph: true}
			together, apart := Grad([]*Tensor{y}, leaves, options), Grad([]*Tensor{y}, append(leaves, h), options)
			for i := range leaves {
				if d := together[i].Sub(apart[i]).Abs().Max().Item(); d > 2e-5*apart[i].Abs().Max().Item() {
					t.Errorf("%s, pool %v: gradient of leaf %d differs by %v", name, o, i, d)
				}
			}
		}
	}
}
