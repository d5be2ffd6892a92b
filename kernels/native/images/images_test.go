package images_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native/images"
)

// pixel returns the pixel at (x, y) of a channel, as the border says.
func pixel(g *images.Image, in []byte, c, x, y, border int64, fill byte) int64 {
	fold := func(i, n int64) int64 {
		switch {
		case i >= 0 && i < n:
			return i
		case border == images.BorderConstant:
			return -1
		case border == images.BorderEdge || n == 1:
			return min(max(i, 0), n-1)
		}
		for i < 0 || i >= n {
			if i = -i; i < 0 {
				i += 2 * (n - 1)
			}
			if i >= n {
				i = 2*(n-1) - i
			}
		}
		return i
	}
	x, y = fold(x, g.W), fold(y, g.H)
	if x < 0 || y < 0 {
		return int64(fill)
	}
	return int64(in[c*g.Channel+y*g.Row+x*g.Pixel])
}

// warped is the definition of a warp of bytes, in images.h.
func warped(w *images.Warp, to *images.Image, from *images.Image, in []byte) []byte {
	out := make([]byte, len(in)*int(to.H*to.W)/int(from.H*from.W))
	s := w.Samples
	for c := range to.C {
		for y := range to.H {
			for x := range to.W {
				sum := int64(0)
				for k := range s * s {
					u, v := 2*(k%s)+1-s, 2*(k/s)+1-s
					px := w.M[2] + w.M[0]*x + w.M[1]*y + (w.M[0]*u+w.M[1]*v)/(2*s) + 1<<23
					py := w.M[5] + w.M[3]*x + w.M[4]*y + (w.M[3]*u+w.M[4]*v)/(2*s) + 1<<23
					fx, fy := px>>24&255, py>>24&255
					at := func(dx, dy int64) int64 { return pixel(from, in, c, px>>32+dx, py>>32+dy, w.Border, byte(w.Fill)) }
					sum += (at(0, 0)*(256-fx)+at(1, 0)*fx)*(256-fy) + (at(0, 1)*(256-fx)+at(1, 1)*fx)*fy
				}
				out[c*to.Channel+y*to.Row+x*to.Pixel] = byte((sum + 32768*s*s) / (65536 * s * s))
			}
		}
	}
	return out
}

// layout returns an image with the channels first or last.
func layout(c, h, w int64, last bool) *images.Image {
	if last {
		return &images.Image{C: c, H: h, W: w, Channel: 1, Row: w * c, Pixel: c}
	}
	return &images.Image{C: c, H: h, W: w, Channel: h * w, Row: w, Pixel: 1}
}

// TestWarpedBytesAreTheirDefinition compares the loops in C with integer arithmetic in Go, bit by bit.
func TestWarpedBytesAreTheirDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 300 {
		h, w := 1+r.Int64N(20), 1+r.Int64N(300)
		from, to := layout(1+r.Int64N(3), h, w, k%2 == 0), &images.Image{}
		*to = *layout(from.C, 1+r.Int64N(20), 1+r.Int64N(300), k%2 == 0)
		in := make([]byte, from.C*h*w)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		warp := &images.Warp{Samples: 1 + r.Int64N(3), Border: r.Int64N(3), Fill: float64(r.IntN(256))}
		for i := range warp.M {
			scale := 1.5
			if i%3 == 2 {
				scale = 40
			}
			warp.M[i] = int64((r.Float64() - 0.5) * scale * (1 << 32))
		}
		if k%60 == 50 {
			warp.Samples = 16
		}
		if k < 20 { // the image as it is
			warp.M = [6]int64{1 << 32, 0, 0, 0, 1 << 32, 0}
		}
		want := warped(warp, to, from, in)
		got := make([]byte, len(want))
		warp.Apply(images.Bytes, to, got, from, in)
		if !bytes.Equal(got, want) {
			t.Fatalf("%+v of %+v to %+v differs", *warp, *from, *to)
		}
	}
}

// turned is the definition of a turn of the hue, with divisions of integers.
func turned(p [3]int, a int) [3]int {
	hi, lo := max(p[0], p[1], p[2]), min(p[0], p[1], p[2])
	first := 0
	for p[first] != hi {
		first++
	}
	rise, span := p[(first+1)%3]-p[(first+2)%3], max(hi-lo, 1)
	steep := max(rise, -rise) * 4096 / span
	if rise < 0 {
		steep = -steep
	}
	hue := ((first*8192+steep+a)%24576 + 24576) % 24576
	part := ((hi-lo)*(hue%4096) + 2048) / 4096
	if hue/4096%2 == 1 {
		part = hi - lo - part
	}
	mid := lo + part
	return [][3]int{{hi, mid, lo}, {mid, hi, lo}, {lo, hi, mid}, {lo, mid, hi}, {mid, lo, hi}, {hi, lo, mid}}[hue/4096]
}

// TestColorsOfBytesAreTheirDefinition compares every change of colors with integer arithmetic in Go, bit by bit.
func TestColorsOfBytesAreTheirDefinition(t *testing.T) {
	const n = 700
	r := rand.New(rand.NewPCG(3, 4))
	clamp := func(v int) int { return min(max(v>>16, 0), 255) }
	for k := range 200 {
		g := images.Colors{C: 3, N: n, Channel: n, Pixel: 1, Max: 1}
		if k%2 == 1 {
			g.Channel, g.Pixel = 1, 3
		}
		x := make([]byte, 3*n)
		for i := range x {
			if x[i] = byte(r.Uint32()); k%5 == 0 {
				x[i] = byte(r.IntN(3) * 127) // grey and pure colors
			}
		}
		at := func(i, c int) int { return int(int64(i)*g.Pixel + int64(c)*g.Channel) }
		grey := func(i int) int {
			return (19595*int(x[at(i, 0)]) + 38470*int(x[at(i, 1)]) + 7471*int(x[at(i, 2)]) + 32768) >> 16
		}
		sum := 0
		for i := range n {
			sum += grey(i)
		}
		mean := (sum + n/2) / n
		factor := r.IntN(1 << 17)
		turn := r.IntN(24577) - 12288
		for _, change := range []struct {
			what   images.ColorChange
			amount int
			of     func(i, c int) int
		}{
			{images.Brightness, factor, func(i, c int) int { return clamp(int(x[at(i, c)])*factor + 32768) }},
			{images.Contrast, factor, func(i, c int) int { return clamp(int(x[at(i, c)])*factor + mean*(65536-factor) + 32768) }},
			{images.Saturation, factor, func(i, c int) int { return clamp(int(x[at(i, c)])*factor + grey(i)*(65536-factor) + 32768) }},
			{images.Hue, turn, func(i, c int) int {
				return turned([3]int{int(x[at(i, 0)]), int(x[at(i, 1)]), int(x[at(i, 2)])}, turn)[c]
			}},
			{images.Hue, 0, func(i, c int) int { return int(x[at(i, c)]) }},
		} {
			got := bytes.Clone(x)
			g.Change(images.Bytes, change.what, got, int64(change.amount))
			for i := range n {
				for c := range 3 {
					if want := change.of(i, c); int(got[at(i, c)]) != want {
						t.Fatalf("change %d by %d of %v, channel %d: got %d, want %d", change.what, change.amount, []byte{x[at(i, 0)], x[at(i, 1)], x[at(i, 2)]}, c, got[at(i, c)], want)
					}
				}
			}
		}
	}
}

// TestWarpedFloatsAreRoundedOnce compares bilinear samples of floats with float64 in Go, within one unit in the last place.
func TestWarpedFloatsAreRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		g := layout(1+r.Int64N(3), 4+r.Int64N(12), 4+r.Int64N(12), false)
		inBytes, gotBytes := make([]byte, 4*g.C*g.H*g.W), make([]byte, 4*g.C*g.H*g.W)
		in, got := dtype.Cast[float32](inBytes), dtype.Cast[float32](gotBytes)
		for i := range in {
			in[i] = r.Float32()
		}
		w := &images.Warp{Samples: 1, Border: images.BorderEdge}
		for i := range w.M {
			w.M[i] = int64(r.Float64() * (1 << 32))
		}
		w.Apply(images.Floats, g, gotBytes, g, inBytes)
		for c := range g.C {
			for y := range g.H {
				for x := range g.W {
					px, py := w.M[0]*x+w.M[1]*y+w.M[2], w.M[3]*x+w.M[4]*y+w.M[5]
					at := func(dx, dy int64) float64 {
						return float64(in[c*g.Channel+min(max(py>>32+dy, 0), g.H-1)*g.Row+min(max(px>>32+dx, 0), g.W-1)])
					}
					fx, fy := float64(px&(1<<32-1))*0x1p-32, float64(py&(1<<32-1))*0x1p-32
					want := float32((1-fy)*((1-fx)*at(0, 0)+fx*at(1, 0)) + fy*((1-fx)*at(0, 1)+fx*at(1, 1)))
					if have := got[c*g.Channel+y*g.Row+x]; have != want && have != math.Nextafter32(want, have) {
						t.Fatalf("(%d, %d) of %+v by %+v: got %v, want %v", x, y, *g, *w, have, want)
					}
				}
			}
		}
	}
}
