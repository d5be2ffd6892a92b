package augment

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
)

// BenchmarkPipeline loads and augments uint8 images: a random crop with padding, a flip, changes of colors and an affine map, beside
// bench/augment.go.
func BenchmarkPipeline(b *testing.B) {
	for _, side := range []int{32, 224} {
		b.Run(fmt.Sprintf("3x%dx%d", side, side), func(b *testing.B) {
			n := 1 << 23 / (3 * side * side)
			pixels := make([]uint8, n*3*side*side)
			r := newRandom(1, 0, 0, 0)
			for i := range pixels {
				pixels[i] = uint8(r.Uint32())
			}
			d, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: storage.From(pixels, n, 3, side, side)})
			if err != nil {
				b.Fatal(err)
			}
			list := []Augmentation{
				NewCrop(CropOptions{Padding: []int{4}}), NewFlip(FlipOptions{}),
				NewColor(ColorOptions{Brightness: Range{0.4}, Contrast: Range{0.4}, Saturation: Range{0.4}, Hue: Range{0.1}}),
				NewAffine(AffineOptions{Angle: Range{15}, TranslateX: Range{0.1}, TranslateY: Range{0.1}, Scale: Range{0.9, 1.1}, MaxSuper: 1}),
			}
			l, err := dataset.NewLoader(d, dataset.Options{BatchSize: 32, Stage: NewChain(list, Options{}), Workers: runtime.GOMAXPROCS(0)})
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				for _, err := range l.Epoch(b.Context(), i, 0) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/image")
		})
	}
}
