package kernels

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// A packedCase is a convolution of two images by packed weights.
type packedCase struct{ in, out, size, window, stride, pad int }

var packedCases = []packedCase{{3, 7, 9, 3, 2, 1}, {16, 32, 6, 3, 1, 1}, {20, 33, 5, 1, 1, 0}, {64, 16, 4, 2, 2, 0}, {64, 40, 7, 3, 1, 1}, {128, 16, 9, 1, 1, 0}, {300, 17, 3, 3, 1, 1}}

func (c packedCase) x() []float32 { return make([]float32, 2*c.in*c.size*c.size) }
func (c packedCase) w() []float32 { return make([]float32, c.out*c.in*c.window*c.window) }

// result returns the convolution of x by w, whose images are channels-last if last is set.
func (c packedCase) result(t *testing.T, o PackOptions, x, w []float32, last bool) []float32 {
	t.Helper()
	o.ConvOptions = ConvOptions{Stride: [3]int{c.stride, c.stride}, Padding: Pad(c.pad, c.pad)}
	size := (c.size+2*c.pad-c.window)/c.stride + 1
	lay := func(elements []float32, n, channels, size int, last bool) storage.Array {
		if last {
			return storage.From(elements, len(elements)).With(channelsLastLayout.of(n, channels, size, size))
		}
		return storage.From(elements, n, channels, size, size)
	}
	from, y := lay(x, 2, c.in, c.size, last), lay(make([]float32, 2*c.out*size*size), 2, c.out, size, true)
	p, err := PackConv(o, y.View, from.View, storage.From(w, c.out, c.in, c.window, c.window), storage.Array{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run([]storage.Array{y}, []storage.Array{from}); err != nil {
		t.Fatal(err)
	}
	if count, _ := p.Narrow(); (count == 1) != (o.Int8 || o.BF16) {
		t.Errorf("%+v: %d narrow", c, count)
	}
	got, err := storage.Read[float32](y)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestPackedBF16ProductsAreRounded compares convolutions by weights of bfloat16 with convolutions of float32 of numbers that are rounded.
func TestPackedBF16ProductsAreRounded(t *testing.T) {
	if !native.BF16() {
		t.Skip("the processor does not multiply numbers of bfloat16")
	}
	random := rand.New(rand.NewPCG(1, 2))
	defer native.SetThreads(native.Threads())
	for _, c := range append(packedCases, packedCase{15, 40, 1, 1, 1, 0}) {
		for _, last := range []bool{false, true} {
			x, w, rx, rw := c.x(), c.w(), c.x(), c.w()
			for i := range x {
				x[i] = float32(random.NormFloat64())
				rx[i] = roundBF16(x[i])
			}
			for i := range w {
				w[i] = float32(random.NormFloat64())
				rw[i] = roundBF16(w[i])
			}
			want := c.result(t, PackOptions{}, rx, rw, last)
			for threads := 1; threads <= 3; threads++ {
				native.SetThreads(threads)
				for i, got := range c.result(t, PackOptions{BF16: true}, x, w, last) {
					if math.Abs(float64(got-want[i])) > 1e-4*math.Sqrt(float64(len(w)/c.out)) {
						t.Fatalf("%+v, channels last %v, %d threads, element %d: %v; want %v", c, last, threads, i, got, want[i])
					}
				}
			}
		}
	}
}

// TestQuantizedProductsAreExact compares convolutions by weights of 8 bits of integers with convolutions of float32 of the same numbers.
func TestQuantizedProductsAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range packedCases {
		const scale, zero = 0.05, 100
		x, rounded, w := c.x(), c.x(), c.w()
		for i := range x {
			x[i] = float32(random.NormFloat64() * 4)
			q := math.RoundToEven(float64(x[i]/scale)) + zero
			rounded[i] = float32(min(max(q, 0), 255)-zero) * scale
		}
		for i := range w {
			w[i] = float32(random.IntN(255)-127) * 0.01
			if i%(c.in*c.window*c.window) == 0 {
				w[i] = 1.27
			}
		}
		want := c.result(t, PackOptions{}, rounded, w, false)
		for i, got := range c.result(t, PackOptions{Int8: true, Quantized: Quantized{scale, zero}}, x, w, false) {
			if math.Abs(float64(got-want[i])) > 1e-5*float64(c.in*c.window*c.window) {
				t.Errorf("%+v, element %d: %v; want %v", c, i, got, want[i])
				break
			}
		}
	}
}

// TestPackedWithInstructionSets computes by packed weights as processors do that have less: without AMX, AVX-512 or AVX2.
func TestPackedWithInstructionSets(t *testing.T) {
	for _, isa := range []string{"avx512", "avx2", "baseline"} {
		cmd := exec.Command(os.Args[0], "-test.run=^(TestPackedBF16ProductsAreRounded|TestQuantizedProductsAreExact)$")
		cmd.Env = append(os.Environ(), "H5DNN_ISA="+isa)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%.2000s", isa, err, out)
		}
	}
}
