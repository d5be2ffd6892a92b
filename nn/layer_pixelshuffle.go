package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// PixelShuffleOptions are the settings of PixelShuffle and PixelUnshuffle.
type PixelShuffleOptions struct {
	Factor int `json:"factor"` // between the sizes of the images; required
}

// PixelShuffle makes images (N, C, H·r, W·r) of x (N, C·r², H, W) (Shi et al., arXiv:1609.05158).
type PixelShuffle struct{ PixelShuffleOptions }

// PixelUnshuffle is the inverse of PixelShuffle.
type PixelUnshuffle struct{ PixelShuffleOptions }

// NewPixelShuffle returns a PixelShuffle. Factor is required.
func NewPixelShuffle(o PixelShuffleOptions) PixelShuffle {
	return PixelShuffle{o.checked("pixel_shuffle")}
}

// NewPixelUnshuffle returns a PixelUnshuffle. Factor is required.
func NewPixelUnshuffle(o PixelShuffleOptions) PixelUnshuffle {
	return PixelUnshuffle{o.checked("pixel_unshuffle")}
}

func (o PixelShuffleOptions) checked(layer string) PixelShuffleOptions {
	if o.Factor < 1 {
		tensor.Fail(layer, views.ErrShape, "factor %d; want at least 1", o.Factor)
	}
	return o
}

// Forward moves channels into the pixels of x.
func (p PixelShuffle) Forward(x *tensor.Tensor) *tensor.Tensor {
	r := p.checked("pixel_shuffle").Factor
	checkSpatial("pixel_shuffle", x, 2)
	n, c, h, w := x.Shape()[0], x.Shape()[1], x.Shape()[2], x.Shape()[3]
	if c%(r*r) != 0 {
		tensor.Fail("pixel_shuffle", views.ErrShape, "input %v; want a multiple of %d channels", x.Shape(), r*r)
	}
	return x.Contiguous().Reshape(n, c/(r*r), r, r, h, w).Permute(0, 1, 4, 2, 5, 3).Contiguous().Reshape(n, c/(r*r), h*r, w*r)
}

// Forward moves pixels of x into channels.
func (p PixelUnshuffle) Forward(x *tensor.Tensor) *tensor.Tensor {
	r := p.checked("pixel_unshuffle").Factor
	checkSpatial("pixel_unshuffle", x, 2)
	n, c, h, w := x.Shape()[0], x.Shape()[1], x.Shape()[2], x.Shape()[3]
	if h%r != 0 || w%r != 0 {
		tensor.Fail("pixel_unshuffle", views.ErrShape, "input %v; want a height and a width that are multiples of %d", x.Shape(), r)
	}
	return x.Contiguous().Reshape(n, c, h/r, r, w/r, r).Permute(0, 1, 3, 5, 2, 4).Contiguous().Reshape(n, c*r*r, h/r, w/r)
}

// InputSpec says that the inputs are images.
func (o PixelShuffleOptions) InputSpec() InputSpec { return InputSpec{Spatial: 2} }

var (
	_ = RegisterLayer("pixel_shuffle", NewPixelShuffle, PixelShuffleOptions{})
	_ = RegisterLayer("pixel_unshuffle", NewPixelUnshuffle, PixelShuffleOptions{})
)
