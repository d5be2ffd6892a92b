package augment

import (
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// one returns the image that an augmentation makes of a.
func one(t *testing.T, made Augmentation, a storage.Array) []float64 {
	t.Helper()
	d := must[dataset.Dataset](t)(dataset.FromArrays(dataset.NamedArray{Name: "x", Array: a}))
	l := must[*dataset.Loader](t)(dataset.NewLoader(d, dataset.Options{BatchSize: 1, Stage: NewChain([]Augmentation{made}, Options{})}))
	for b, err := range l.Epoch(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		return must[[]float64](t)(storage.Read[float64](b.Fields[0]))
	}
	t.Fatal("no batch")
	return nil
}

// TestLightingIsAugpys compares images with augpy's formulas, whose curves keep 0, 1/2 and 1, and holds bytes to the same numbers, rounded.
func TestLightingIsAugpys(t *testing.T) {
	const n, gamma, channelGamma = 256, 1.3, 0.8
	bytes, floats := make([]uint8, 3*n), make([]float32, 3*n)
	for i := range bytes {
		bytes[i], floats[i] = uint8(i%n), float32(i%n)/255
	}
	for _, contrast := range []float64{-1, -0.4, 0, 0.4, 1} {
		for _, v := range []float64{0, 0.5, 1} {
			if got := contrasted(v, contrast); math.Abs(got-v) > 1e-6 {
				t.Errorf("contrast %v: %v becomes %v", contrast, v, got)
			}
		}
		if low := contrasted(0.25, contrast); contrast != 0 && (low < 0.25) != (contrast > 0) {
			t.Errorf("contrast %v: 0.25 becomes %v", contrast, low)
		}
		a := NewLighting(LightingOptions{Contrast: Range{contrast, contrast}, Gamma: Range{gamma, gamma}, ChannelGamma: Range{channelGamma, channelGamma}})
		fromBytes, fromFloats := one(t, a, storage.From(bytes, 1, 3, 16, 16)), one(t, a, storage.From(floats, 1, 3, 16, 16))
		for i := range fromFloats {
			v := float64(floats[i])
			f := 1.0037575963899724/(1+math.Exp(6.279-v*12.558)) - 0.0018787981949862
			if contrast < 0 {
				f = 0.1755606108304832*math.Atanh(v*1.986608-0.993304) + 0.5
			}
			c := math.Abs(contrast)
			want := math.Pow(min(max((1-c)*v+c*f, 0), 1), gamma*channelGamma)
			if math.Abs(fromFloats[i]-want) > 1e-6 || math.Abs(fromBytes[i]-255*want) > 0.5001 {
				t.Fatalf("contrast %v: %v becomes %v, and %v of 255; want %v", contrast, v, fromFloats[i], fromBytes[i], want)
			}
		}
	}
	colored := one(t, NewLighting(LightingOptions{ChannelGamma: Range{0.5, 2}}), storage.From(bytes, 1, 3, 16, 16))
	if colored[100] == colored[100+n] || colored[100+n] == colored[100+2*n] {
		t.Error("all channels have the same gamma")
	}
}

// TestBoxBlurIsTheMean compares pixels with the means of the squares around them.
func TestBoxBlurIsTheMean(t *testing.T) {
	const h, w, size = 9, 7, 5
	x := noise[float32](3, 1, 1, h, w)
	in, got := must[[]float64](t)(storage.Read[float64](x)), one(t, NewBoxBlur(BoxBlurOptions{Size: Range{size - 1, size - 1}}), x)
	for i := range got {
		mean := 0.0
		for dy := -size / 2; dy <= size/2; dy++ {
			for dx := -size / 2; dx <= size/2; dx++ {
				mean += in[min(max(i/w+dy, 0), h-1)*w+min(max(i%w+dx, 0), w-1)] / size / size
			}
		}
		if math.Abs(got[i]-mean) > 0.02 { // of 256: weights have 16 bits
			t.Fatalf("pixel %d: %v; want %v", i, got[i], mean)
		}
	}
}
