package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

// TestQuantizedProductsAreExact compares convolutions by weights of 8 bits of integers with convolutions of float32 of the same numbers.
func TestQuantizedProductsAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ in, out, size, window, stride, pad int }{
		{3, 7, 9, 3, 2, 1}, {16, 32, 6, 3, 1, 1}, {20, 33, 5, 1, 1, 0}, {64, 16, 4, 2, 2, 0},
	} {
		const scale, zero = 0.05, 100
		x, rounded := make([]float32, 2*c.in*c.size*c.size), make([]float32, 2*c.in*c.size*c.size)
		for i := range x {
			x[i] = float32(random.NormFloat64() * 4)
			q := math.RoundToEven(float64(x[i]/scale)) + zero
			rounded[i] = float32(min(max(q, 0), 255)-zero) * scale
		}
		w := make([]float32, c.out*c.in*c.window*c.window)
		for i := range w {
			w[i] = float32(random.IntN(255)-127) * 0.01
			if i%(c.in*c.window*c.window) == 0 {
				w[i] = 1.27
			}
		}
		o := PackOptions{ConvOptions: ConvOptions{Stride: [3]int{c.stride, c.stride}, Padding: [3][2]int{{c.pad, c.pad}, {c.pad, c.pad}}}}
		outs := (c.size+2*c.pad-c.window)/c.stride + 1
		result := func(o PackOptions, x []float32) []float32 {
			from := storage.From(x, 2, c.in, c.size, c.size)
			weights := storage.From(w, c.out, c.in, c.window, c.window)
			y := storage.From(make([]float32, 2*c.out*outs*outs), 2, outs, outs, c.out)
			channels, err := y.View.Transpose(0, 3, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			y.View = channels
			p, err := PackConv(o, y.View, from.View, weights, storage.Array{})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run([]storage.Array{y}, []storage.Array{from}); err != nil {
				t.Fatal(err)
			}
			got, err := storage.Read[float32](y)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		want := result(o, rounded)
		o.Int8, o.Quantized = true, Quantized{scale, zero}
		for i, got := range result(o, x) {
			if math.Abs(float64(got-want[i])) > 1e-5*float64(c.in*c.window*c.window) {
				t.Errorf("%+v, element %d: %v; want %v", c, i, got, want[i])
				break
			}
		}
	}
}
