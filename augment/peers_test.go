package augment

import (
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
)

// TestImagesAreThoseOfPeers compares images with those of torchvision, SciPy and PyTorch, which scripts/augment wrote. Bytes
// differ by at most 1 where both round, by 2 where torchvision truncates in between.
func TestImagesAreThoseOfPeers(t *testing.T) {
	f := must[serialize.File](t)(serialize.Open("testdata/peers.npz"))
	defer f.Close()
	all := map[string]storage.Array{}
	for e, err := range f.All() {
		if err == nil {
			all[e.Name], err = e.Array.To(storage.CPU)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fixed := func(v float64) Range { return Range{v, v} }
	shear := func(b Border) Augmentation {
		return NewAffine(AffineOptions{ShearX: fixed(0.2), ShearY: fixed(-0.1), Scale: fixed(1.1), Aspect: fixed(1.3), FlipX: 1, Angle: fixed(25), Border: b, MaxSuper: 1})
	}
	for _, test := range []struct {
		name  string
		made  Augmentation
		bytes float64
	}{
		{"flip", NewFlip(FlipOptions{P: 1}), 0},
		{"flip_height", NewFlip(FlipOptions{Axes: []string{"height"}, P: 1}), 0},
		{"pad_reflect", NewPad(PadOptions{Padding: []int{2, 3}, Border: "reflect"}), 0},
		{"pad_edge", NewPad(PadOptions{Padding: []int{2, 3}, Border: "edge"}), 0},
		{"affine", NewAffine(AffineOptions{Angle: fixed(17), Scale: fixed(1.2), TranslateX: fixed(2.0 / 14), TranslateY: fixed(-1.0 / 12), MaxSuper: 1}), 1},
		{"rotate", NewRotate(RotateOptions{Angle: fixed(33)}), 1},
		{"shear_constant", shear("constant"), 1},
		{"shear_edge", shear("edge"), 1},
		{"shear_reflect", shear("reflect"), 1},
		{"resize", NewResize(ResizeOptions{Size: []int{7, 20}}), 1},
		{"resize_nearest", NewResize(ResizeOptions{Size: []int{7, 20}, Interpolation: "nearest"}), 0},
		{"resize_area", NewResize(ResizeOptions{Size: []int{6, 7}, Interpolation: "area"}), 1},
		{"brightness", NewColor(ColorOptions{Brightness: fixed(1.3)}), 1},
		{"contrast", NewColor(ColorOptions{Contrast: fixed(0.6)}), 1},
		{"saturation", NewColor(ColorOptions{Saturation: fixed(1.7)}), 2},
		{"hue", NewColor(ColorOptions{Hue: fixed(0.15)}), 1},
		{"hue_back", NewColor(ColorOptions{Hue: fixed(-0.3)}), 1},
		{"gamma", NewGamma(GammaOptions{Gamma: fixed(0.7)}), 1},
		{"blur", NewBlur(BlurOptions{Sigma: fixed(1.4)}), 1},
	} {
		for _, kind := range []string{"byte", "float"} {
			x, want := all[kind], must[[]float64](t)(storage.Read[float64](all[kind+"_"+test.name]))
			d := must[dataset.Dataset](t)(dataset.FromArrays(dataset.NamedArray{Name: "x", Array: must[storage.Array](t)(unsqueezed(x))}))
			l := must[*dataset.Loader](t)(dataset.NewLoader(d, dataset.Options{BatchSize: 1, Stage: NewChain([]Augmentation{test.made}, Options{})}))
			for b, err := range l.Epoch(t.Context(), 0, 0) {
				if err != nil {
					t.Fatal(err)
				}
				got := must[[]float64](t)(storage.Read[float64](b.Fields[0]))
				if len(got) != len(want) {
					t.Fatalf("%s: %d elements, want %d", test.name, len(got), len(want))
				}
				worst, most := 0.0, test.bytes
				for i := range got {
					worst = max(worst, math.Abs(got[i]-want[i]))
				}
				if kind == "float" {
					most = 2e-4
				}
				if worst > most {
					t.Errorf("%s of %s differs by %v, want at most %v", test.name, kind, worst, most)
				}
			}
		}
	}
}

// unsqueezed returns a as the only sample of a dataset.
func unsqueezed(a storage.Array) (storage.Array, error) {
	v, err := a.View.Unsqueeze(0)
	return a.With(v), err
}
