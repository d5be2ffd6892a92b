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

// roundBF16 is x rounded to bfloat16; denormals count as zero.
func roundBF16(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return 0
	}
	return dtype.BF16From(x).Float32()
}

// TestProductsRoundToBF16 multiplies a column by 1, which rounds it: a processor's instructions, or what stands for them.
func TestProductsRoundToBF16(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := []float32{0, 1, -1, 1.00390625, 1.01171875, -1.00390625, 1.00390637, 0x1.fefffep127, math.MaxFloat32, -math.MaxFloat32, inf, -inf, nan,
		0x1p-126, 0x1p-127, -0x1p-149, 0x1.01p-126, 3.14159274, 1e-30, 65504}
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		x = append(x, math.Float32frombits(r.Uint32()))
	}
	q := native.Problem{Op: native.ProductOp, Rank: 2, BF16: 1}
	n := int64(len(x))
	q.X, q.W, q.Y = [5]int64{n, 1}, [5]int64{1, 16}, [5]int64{n, 16}
	q.XStride, q.WStride, q.YStride = [5]int64{1, 1}, [5]int64{16, 1}, [5]int64{16, 1}
	one, y := make([]float32, 16), make([]float32, 16*n)
	for i := range one {
		one[i] = 1
	}
	if err := q.Run(x, one, nil, y); err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		want := roundBF16(v)
		for _, got := range y[16*i : 16*i+16] {
			if got != want && !(got != got && want != want) {
				t.Fatalf("%x: %x; want %x (bf16 by the processor: %v)", v, got, want, native.BF16())
			}
		}
	}
}

// roundedCalls are calls whose products gain by bfloat16, with layouts of their operands.
func roundedCalls() (all []sample) {
	half := ConvOptions{Padding: Pad(1, 1), Stride: [3]int{2, 2}}
	images, weights, made := of(3, 33, 9, 7), of(35, 33, 3, 3), of(3, 35, 5, 4)
	grouped := ConvOptions{Groups: 2, Act: ReLUActivation}
	return []sample{
		{k: MatMul, out: []operand{of(67, 45)}, in: []operand{of(67, 91), of(91, 45)}},
		{k: MatMul, out: []operand{of(3, 40, 33)}, in: []operand{of(3, 40, 32), of(32, 33)}},
		{k: Linear, options: LinearOptions{Act: GELUActivation}, out: []operand{of(70, 49)}, in: []operand{of(70, 37), of(49, 37), of(49)}},
		{k: Linear, options: LinearOptions{Act: ReLUActivation}, out: []operand{of(70, 49), of(70, 49)}, in: []operand{of(70, 37), of(49, 37), of(49)}},
		{k: Linear, options: LinearOptions{Act: TanhActivation}, out: []operand{of(2048, 512), of(2048, 512)}, in: []operand{of(2048, 40), of(512, 40), of(512)}},
		{k: LinearGradW, out: []operand{of(49, 37), of(49)}, in: []operand{of(70, 37), of(70, 49)}},
		{k: LinearGradX, options: LinearGradXOptions{Act: TanhActivation}, out: []operand{of(70, 37)}, in: []operand{of(70, 49), of(49, 37), of(70, 37)}},
		{k: Conv, options: half, out: []operand{made}, in: []operand{images, weights, of(35)}},
		{k: ConvGradX, options: half, out: []operand{images}, in: []operand{made, weights}},
		{k: ConvGradW, options: half, out: []operand{weights, of(35)}, in: []operand{images, made}},
		{k: Conv, options: grouped, out: []operand{of(2, 64, 4)}, in: []operand{of(2, 64, 6), of(64, 32, 3), of(64)}},
		{k: ConvGradW, options: ConvOptions{Groups: 2}, out: []operand{of(64, 32, 3)}, in: []operand{of(2, 64, 6), of(2, 64, 4)}},
	}
}

// TestBF16AgreesWithReference compares products with the reference on rounded operands, with 1 to 4 threads: products
// of matrices have the same bits.
func TestBF16AgreesWithReference(t *testing.T) {
	defer func(n float64) { leastRounded = n }(leastRounded)
	leastRounded = 1
	defer native.SetThreads(native.Threads())
	for i, s := range roundedCalls() {
		lays := []layout{rowMajorLayout, channelsLastLayout, transposedLayout, gappedLayout}
		if s.k == MatMul && len(s.out[0].shape) > 2 {
			lays = lays[:1] // in others it is no single product, and remains float32
		}
		for _, lay := range lays {
			r := rand.New(rand.NewPCG(uint64(i), 9))
			var outs, ins []views.View
			for _, o := range s.out {
				outs = append(outs, rowMajorLayout.of(o.shape...))
			}
			for _, o := range s.in {
				ins = append(ins, lay.of(o.shape...))
			}
			about := fmt.Sprintf("%s %+v, %s, shapes %v", s.k.Name, s.options, lay.name, shapes(ins))
			in := operandsOf(r, true, ins...)
			rounded := operandsOf(rand.New(rand.NewPCG(uint64(i), 9)), true, ins...)
			for k := range rounded.f64 { // the bias and the operand of the activation remain as they are
				if k < 2 {
					for j, v := range storage.Elements[float32](in.f32[k]) {
						storage.Elements[float64](rounded.f64[k])[j] = float64(roundBF16(v))
					}
				}
			}
			want, full := operandsOf(r, false, outs...), operandsOf(r, false, outs...)
			must(s.k.Reference(&Call{Out: want.f64, In: rounded.f64, Options: s.options}))
			if s.k == LinearGradW { // db is a sum, not a product
				must(s.k.Reference(&Call{Out: full.f64, In: in.f64, Options: s.options}))
				want.f64[1] = full.f64[1]
			}
			must(CPU.Run(s.k, &Call{Out: full.f32, In: in.f32, Options: s.options}))
			var first []float64
			for threads := 1; threads <= 4; threads++ {
				native.SetThreads(threads)
				got := operandsOf(r, false, outs...)
				must(CPU.Run(s.k, &Call{Out: got.f32, In: in.f32, Options: s.options, BF16: true}))
				for k := range outs {
					compare(t, fmt.Sprint(about, ", output ", k, ", threads ", threads), wide32(got.f32[k]), storage.Elements[float64](want.f64[k]), 2e-5)
				}
				bits := wide32(got.f32[0])
				if first == nil {
					first = slices.Clone(bits)
				}
				if s.k != ConvGradW && !slices.Equal(bits, first) {
					t.Errorf("%s: other bits with %d threads", about, threads)
				}
				if slices.Equal(bits, wide32(full.f32[0])) {
					t.Errorf("%s: the operands are not rounded", about)
				}
			}
		}
	}
}

// TestSmallProductsAreNotRounded compares their results with products of float32, bit by bit.
func TestSmallProductsAreNotRounded(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	in := operandsOf(r, true, views.Of(64, 100), views.Of(100, 128))
	a, b := operandsOf(r, false, views.Of(64, 128)), operandsOf(r, false, views.Of(64, 128))
	must(CPU.Run(MatMul, &Call{Out: a.f32, In: in.f32}))
	must(CPU.Run(MatMul, &Call{Out: b.f32, In: in.f32, BF16: true}))
	if !slices.Equal(wide32(a.f32[0]), wide32(b.f32[0])) {
		t.Error("other results")
	}
}
