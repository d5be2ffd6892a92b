package native_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/native"
)

// A winograd is a convolution of channels-last images of h x w pixels, with its operands.
type winograd struct {
	native.Winograd
	x, w, b, y, dy, dx, dw, db []float32
}

func newWinograd(n, c, o, h, w int, padding [2][2]int) *winograd {
	return newWindow(n, c, o, h, w, [2]int{3, 3}, padding)
}

// newLine has windows of r pixels along the second axis.
func newLine(n, c, o, h, w, r int, padding [2][2]int) *winograd {
	return newWindow(n, c, o, h, w, [2]int{1, r}, padding)
}

func newWindow(n, c, o, h, w int, window [2]int, padding [2][2]int) *winograd {
	oh, ow := h+padding[0][0]+padding[0][1]-window[0]+1, w+padding[1][0]+padding[1][1]-window[1]+1
	g := &winograd{Winograd: native.Winograd{N: int64(n), C: int64(c), O: int64(o),
		Window: [2]int64{int64(window[0]), int64(window[1])},
		XSize:  [2]int64{int64(h), int64(w)}, YSize: [2]int64{int64(oh), int64(ow)},
		Pad: [2]int64{int64(padding[0][0]), int64(padding[1][0])},
		X:   [3]int64{int64(h * w * c), int64(w * c), int64(c)}, Y: [3]int64{int64(oh * ow * o), int64(ow * o), int64(o)}}}
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range []*[]float32{&g.x, &g.dx} {
		*s = normal(random, n*h*w*c)
	}
	for _, s := range []*[]float32{&g.y, &g.dy} {
		*s = normal(random, n*oh*ow*o)
	}
	weights := o * c * window[0] * window[1]
	g.w, g.dw, g.b, g.db = normal(random, weights), normal(random, weights), normal(random, o), normal(random, o)
	return g
}

func (g *winograd) String() string {
	return fmt.Sprintf("%dx%dx%dx%d to %d by %d", g.N, g.C, g.XSize[0], g.XSize[1], g.O, g.Window)
}

func normal(random *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	return x
}

// run computes the result and both gradients.
func (g *winograd) run(t *testing.T) {
	t.Helper()
	for _, err := range []error{g.Conv(g.y, g.x, g.w, g.b, native.NoOp, nil), g.GradX(g.dx, g.dy, g.w), g.GradW(g.dw, g.db, g.x, g.dy)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// direct computes the same by oneDNN's sums of products.
func (g *winograd) direct(t *testing.T) *winograd {
	t.Helper()
	d := *g
	d.y, d.dx, d.dw, d.db = make([]float32, len(g.y)), make([]float32, len(g.dx)), make([]float32, len(g.dw)), make([]float32, len(g.db))
	taps := g.Window[0] * g.Window[1]
	q := native.Problem{Rank: 4, Groups: 1, Reordered: native.ReordersW, Bias: 1,
		X: [5]int64{g.N, g.C, g.XSize[0], g.XSize[1]}, W: [5]int64{g.O, g.C, g.Window[0], g.Window[1]}, Y: [5]int64{g.N, g.O, g.YSize[0], g.YSize[1]},
		XStride: [5]int64{g.Winograd.X[0], 1, g.Winograd.X[1], g.Winograd.X[2]}, WStride: [5]int64{taps * g.C, taps, g.Window[1], 1}, YStride: [5]int64{g.Winograd.Y[0], 1, g.Winograd.Y[1], g.Winograd.Y[2]},
		Stride: [3]int64{1, 1}, Dilation: [3]int64{1, 1}, Pad: [3]int64{g.Pad[0], g.Pad[1]}}
	forward, gradX, gradW := q, q, q
	forward.Op, gradX.Op, gradW.Op, gradX.Bias = native.ConvOp, native.ConvGradXOp, native.ConvGradWOp, 0
	for _, err := range []error{forward.Run(g.x, g.w, g.b, d.y), gradX.Run(d.dx, g.w, nil, g.dy), gradW.Run(g.x, d.dw, d.db, g.dy)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &d
}

// sums are sums of products in float64, and the sums of the squares of both factors.
type sums struct{ ab, aa, bb []float64 }

func newSums(n int) sums { return sums{make([]float64, n), make([]float64, n), make([]float64, n)} }

func (s sums) add(i int, a, b float32) {
	s.ab[i] += float64(a) * float64(b)
	s.aa[i] += float64(a) * float64(a)
	s.bb[i] += float64(b) * float64(b)
}

// error returns the largest error of results, divided by the largest product of the l2 norms of the
// elements that one of them sums.
func (s sums) error(got []float32) float64 {
	var largest, norms float64
	for i, y := range got {
		largest = max(largest, math.Abs(float64(y)-s.ab[i])) // NaN if one is
		norms = max(norms, math.Sqrt(s.aa[i]*s.bb[i]))
	}
	return largest / norms
}

// reference computes y, dx, dw and db.
func (g *winograd) reference() (y, dx, dw, db sums) {
	y, dx, dw, db = newSums(len(g.y)), newSums(len(g.dx)), newSums(len(g.dw)), newSums(len(g.db))
	c, o, rows, columns := int(g.C), int(g.O), int(g.Window[0]), int(g.Window[1])
	for i := range int(g.N) {
		for r := range int(g.YSize[0]) {
			for s := range int(g.YSize[1]) {
				at := ((i*int(g.YSize[0])+r)*int(g.YSize[1]) + s) * o
				for k := range o {
					y.add(at+k, g.b[k], 1)
					db.add(k, g.dy[at+k], 1)
				}
				for p := range rows * columns {
					h, w := r+p/columns-int(g.Pad[0]), s+p%columns-int(g.Pad[1])
					if h < 0 || w < 0 || h >= int(g.XSize[0]) || w >= int(g.XSize[1]) {
						continue
					}
					from := ((i*int(g.XSize[0])+h)*int(g.XSize[1]) + w) * c
					for k := range o {
						for l := range c {
							weight := (k*c+l)*rows*columns + p
							y.add(at+k, g.x[from+l], g.w[weight])
							dx.add(from+l, g.dy[at+k], g.w[weight])
							dw.add(weight, g.dy[at+k], g.x[from+l])
						}
					}
				}
			}
		}
	}
	return y, dx, dw, db
}

// TestWinogradErrors compares with sums in float64. Errors are relative to the product of the l2
// norms of the elements summed. They are at most 16 units of rounding (6e-8); a sum of products has 3;
// both are logged.
func TestWinogradErrors(t *testing.T) {
	defer native.SetThreads(native.Threads())
	const bound = 16 * 0x1p-24
	for i, g := range []*winograd{
		newWinograd(1, 16, 16, 3, 3, [2][2]int{}),
		newWinograd(2, 32, 48, 9, 7, [2][2]int{{1, 1}, {1, 1}}),
		newWinograd(5, 48, 16, 5, 6, [2][2]int{{0, 2}, {2, 3}}),
		newWinograd(3, 16, 32, 4, 5, [2][2]int{{4, 1}, {3, 0}}),
		newWinograd(9, 16, 64, 14, 14, [2][2]int{{1, 1}, {1, 1}}),
		newWinograd(6, 96, 80, 8, 8, [2][2]int{{1, 1}, {1, 1}}), // few tiles, many weights
		newWinograd(2, 512, 16, 4, 4, [2][2]int{{1, 1}, {1, 1}}),
		newLine(1, 16, 16, 1, 8, 3, [2][2]int{}),
		newLine(3, 48, 32, 1, 50, 3, [2][2]int{{0, 0}, {1, 1}}),
		newLine(2, 16, 48, 3, 21, 4, [2][2]int{{0, 1}, {2, 1}}),
		newLine(3, 128, 64, 1, 62, 5, [2][2]int{{0, 0}, {2, 2}}),
		newLine(5, 32, 32, 2, 9, 5, [2][2]int{{1, 0}, {0, 6}}),
		newLine(2, 64, 16, 1, 40, 6, [2][2]int{{0, 0}, {5, 0}}),
		newLine(4, 32, 32, 1, 63, 7, [2][2]int{{0, 0}, {3, 3}}),
		newLine(2, 400, 80, 1, 5, 5, [2][2]int{{0, 0}, {2, 2}}), // few tiles, many weights
		newLine(1, 16, 16, 1, 4, 7, [2][2]int{{0, 0}, {9, 0}}),  // windows of padding only
	} {
		native.SetThreads(1 + i%3)
		y, dx, dw, db := g.reference()
		g.run(t)
		d := g.direct(t)
		for _, r := range []struct {
			name        string
			want        sums
			got, direct []float32
		}{{"y", y, g.y, d.y}, {"dx", dx, g.dx, d.dx}, {"dw", dw, g.dw, d.dw}, {"db", db, g.db, d.db}} {
			got := r.want.error(r.got)
			t.Logf("%v, %s: error %.1e, of a sum of products %.1e", g, r.name, got, r.want.error(r.direct))
			if !(got <= bound) {
				t.Errorf("%v, %d threads, %s: error %.1e of the operands' norms; want at most %.1e", g, 1+i%3, r.name, got, bound)
			}
		}
	}
}

// TestWinogradOfManyTiles compares the ways in which work is shared out with sums of products by
// oneDNN, and wants the same bits from each of two runs.
func TestWinogradOfManyTiles(t *testing.T) {
	defer native.SetThreads(native.Threads())
	for _, g := range []*winograd{
		newWinograd(3, 32, 32, 32, 32, [2][2]int{{1, 1}, {1, 1}}),    // threads share the tiles
		newWinograd(40, 144, 144, 12, 12, [2][2]int{{1, 1}, {1, 1}}), // three threads share the channels of dw
		newWinograd(10, 256, 144, 7, 7, [2][2]int{{1, 1}, {1, 1}}),   // weights are transformed as they are needed
		newLine(20, 48, 64, 1, 300, 5, [2][2]int{{0, 0}, {2, 2}}),    // threads share the tiles
		newLine(40, 400, 400, 1, 50, 3, [2][2]int{{0, 0}, {1, 1}}),   // three threads share the channels of dw
		newLine(10, 256, 144, 1, 40, 5, [2][2]int{{0, 0}, {2, 2}}),   // weights are transformed as they are needed
	} {
		want := g.direct(t)
		for _, threads := range []int{1, 2, 3, 16} {
			t.Run(fmt.Sprintf("%v, %d threads", g, threads), func(t *testing.T) {
				native.SetThreads(threads)
				g.run(t)
				again := *g
				again.y, again.dx, again.dw, again.db = make([]float32, len(g.y)), make([]float32, len(g.dx)), make([]float32, len(g.dw)), make([]float32, len(g.db))
				again.run(t)
				for _, r := range []struct {
					name             string
					got, again, want []float32
				}{{"y", g.y, again.y, want.y}, {"dx", g.dx, again.dx, want.dx}, {"dw", g.dw, again.dw, want.dw}, {"db", g.db, again.db, want.db}} {
					if !slices.Equal(r.got, r.again) {
						t.Errorf("%s is not the same bits in two runs", r.name)
					}
					if e := difference(r.got, r.want); !(e < 2e-6) {
						t.Errorf("%s differs by %.1e of its norm", r.name, e)
					}
				}
			})
		}
	}
}

// difference returns the l2 norm of a-b divided by the norm of b.
func difference(a, b []float32) float64 {
	var d, n float64
	for i := range a {
		d += float64(a[i]-b[i]) * float64(a[i]-b[i])
		n += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(d / n)
}

// TestWinogradReLU wants relu after the bias, and NaN to stay.
func TestWinogradReLU(t *testing.T) {
	for _, g := range []*winograd{newWinograd(2, 16, 32, 8, 8, [2][2]int{{1, 1}, {1, 1}}), newLine(2, 16, 32, 1, 30, 5, [2][2]int{{0, 0}, {2, 2}})} {
		g.run(t)
		want := slices.Clone(g.y)
		g.ReLU = 1
		g.run(t)
		for i, y := range g.y {
			if y != max(want[i], 0) {
				t.Fatalf("%v: element %d is %v, relu of %v", g, i, y, want[i])
			}
		}
		g.x[0] = float32(math.NaN())
		g.run(t)
		if y := g.y[0]; y == y {
			t.Errorf("%v: relu of NaN is %v", g, y)
		}
	}
}

// TestWinogradIsChosenByShape wants it where it is a gain, and nowhere else.
func TestWinogradIsChosenByShape(t *testing.T) {
	same := [2][2]int{{1, 1}, {1, 1}}
	for _, c := range []struct {
		n, c, o, size int
		want          bool
	}{{32, 64, 64, 32, true}, {32, 512, 512, 4, true}, {64, 32, 64, 14, true}, {128, 16, 16, 28, true}, {32, 3, 64, 32, false}, {32, 24, 64, 32, false}, {1, 64, 64, 4, false}, {32, 64, 64, 1, false}, {32, 64, 64, 2, false}} {
		if got := newWinograd(c.n, c.c, c.o, c.size, c.size, same).Faster(); got != c.want {
			t.Errorf("%d images of %d channels and %dx%d pixels to %d: %v; want %v", c.n, c.c, c.size, c.size, c.o, got, c.want)
		}
	}
	for _, c := range []struct {
		n, c, o, size, window int
		want                  bool
	}{{64, 32, 64, 500, 5, true}, {64, 128, 128, 125, 3, true}, {1, 32, 32, 250, 4, true}, {64, 64, 64, 250, 7, true}, {64, 6, 32, 1000, 7, false}, {64, 16, 16, 250, 5, false}, {64, 16, 32, 250, 7, false}, {64, 64, 64, 250, 2, false}, {64, 64, 64, 250, 9, false}, {1, 64, 64, 16, 3, false}} {
		if got := newLine(c.n, c.c, c.o, 1, c.size, c.window, [2][2]int{{0, 0}, {c.window / 2, c.window / 2}}).Faster(); got != c.want {
			t.Errorf("%d sequences of %d channels and %d elements to %d by windows of %d: %v; want %v", c.n, c.c, c.size, c.o, c.window, got, c.want)
		}
	}
}
