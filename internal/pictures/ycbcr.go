package pictures

import (
	"image"
	"image/color"
)

// writeYCbCr writes the pixels of a JPEG, or their luma if channels is 1.
func writeYCbCr(dst []byte, p *image.YCbCr, channels int) {
	w, h := p.Rect.Dx(), p.Rect.Dy()
	if channels == 1 {
		for y := range h {
			copy(dst[y*w:(y+1)*w], p.Y[y*p.YStride:])
		}
		return
	}
	cb, cr := make([]byte, w+1), make([]byte, w+1)
	sums := make([]int32, w/2+1)
	for y := range h {
		chroma(cb, p.Cb, p, y, w, h, sums)
		chroma(cr, p.Cr, p, y, w, h, sums)
		for x, luma := range p.Y[y*p.YStride:][:w] {
			dst[0], dst[1], dst[2] = color.YCbCrToRGB(luma, cb[x], cr[x])
			dst = dst[3:]
		}
	}
}

// chroma writes a row of a plane with a value for each pixel. Planes of half the width, and of half the width and
// height, are interpolated as libjpeg does by default (jdsample.c, "fancy upsampling"): three quarters of the nearest
// value and a quarter of the next, along each axis. Others are repeated.
func chroma(dst, plane []byte, p *image.YCbCr, y, w, h int, sums []int32) {
	sums = sums[:(w+1)/2]
	switch p.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		for x := range sums {
			sums[x] = int32(plane[y*p.CStride+x])
		}
		widen(dst, sums, 1, 2, 2)
	case image.YCbCrSubsampleRatio420:
		near := y / 2
		next := min(max(near-1+y%2*2, 0), (h+1)/2-1)
		for x := range sums {
			sums[x] = 3*int32(plane[near*p.CStride+x]) + int32(plane[next*p.CStride+x])
		}
		widen(dst, sums, 8, 7, 4)
	default:
		for x := range w {
			dst[x] = plane[p.COffset(p.Rect.Min.X+x, p.Rect.Min.Y+y)]
		}
	}
}

// widen writes two pixels for each of in, (3·value + neighbour + rounding) >> bits, where the neighbour of the first
// and of the last pixel is the value itself.
func widen(dst []byte, in []int32, left, right int32, bits uint) {
	last := len(in) - 1
	for x, v := range in {
		before, after := in[max(x-1, 0)], in[min(x+1, last)]
		dst[2*x] = byte((3*v + before + left) >> bits)
		dst[2*x+1] = byte((3*v + after + right) >> bits)
	}
}
