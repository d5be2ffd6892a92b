package augment

// BoxBlurOptions are the settings of a BoxBlur.
type BoxBlurOptions struct {
	Size Range   `json:"size"` // side of the square in pixels, the next odd number if it is even; a number v is 1 to v
	P    float64 `json:"p"`    // probability; 1 if absent
}

// BoxBlur replaces each pixel of an image by the mean of a square around it, as augpy's box blur does. Pixels outside are the nearest.
type BoxBlur struct {
	only
	chance
	BoxBlurOptions
}

// NewBoxBlur returns a box blur.
func NewBoxBlur(o BoxBlurOptions) *BoxBlur {
	orDefault(&o.P, 1)
	return newBoxBlur(o)
}

func newBoxBlur(o BoxBlurOptions) *BoxBlur {
	if len(o.Size) == 1 {
		o.Size = Range{1, o.Size[0]}
	}
	o.Size.check("box_blur", "size", 1, 1, 999)
	checkProbability("box_blur", o.P)
	return &BoxBlur{only(Image), chance(o.P), o}
}

// box returns size equal weights, whose sum is 2¹⁶; the middle has the rest.
func box(size int) []uint32 {
	k := make([]uint32, size)
	for i := range k {
		k[i] = uint32(1 << 16 / size)
	}
	k[size/2] += uint32(1 << 16 % size)
	return k
}

// Apply blurs a sample.
func (a *BoxBlur) Apply(to, from Sample, r *Random) error {
	if size := int(a.Size.draw(r, 1)) | 1; size > 1 {
		return convolve(to, from, box(size))
	}
	return convolve(to, from, nil)
}

var _ = Register("box_blur", newBoxBlur, BoxBlurOptions{P: 1})
