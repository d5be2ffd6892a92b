package augment

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// samplesOf are settings of each augmentation that configurations can name.
var samplesOf = map[string][]map[string]any{
	"flip":         {{"axes": []string{"width", "height"}}},
	"crop":         {{"padding": 4}, {"size": []int{9, 7}}, {"padding": 2, "border": "reflect"}, {"size": 8, "center": true}},
	"pad":          {{"padding": []int{2, 3}, "fill": 7}, {"padding": 3, "border": "edge"}},
	"affine":       {{"angle": 20, "scale": []float64{0.5, 1.5}, "shear_x": 0.2, "shift_x": 1, "translate_y": 0.2, "hflip": 0.5}, {"size": []int{5, 6}, "p": 1, "border": "edge"}, {"angle": 30, "p": 0.5, "interpolation": "nearest"}},
	"rotate":       {{"angle": 45, "border": "reflect"}},
	"resize":       {{"size": []int{20, 9}}, {"size": 5, "interpolation": "area"}, {"size": 21, "interpolation": "nearest"}},
	"color":        {{"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1, "max": 256}},
	"gamma":        {{"gamma": 0.5, "max": 256}},
	"lighting":     {{"contrast": 0.8, "gamma": 0.3, "channel_gamma": 0.2, "max": 256}, {"contrast": []float64{-1, 0}, "max": 256, "p": 0.5}},
	"box_blur":     {{"size": 5}, {"size": []float64{2, 4}, "p": 0.5}},
	"noise":        {{"std": 0.1}},
	"blur":         {{"sigma": []float64{0.5, 2}}},
	"erase":        {{"p": 0.8}, {"size": 5, "p": 1, "count": 2}},
	"mixup":        {{"alpha": 0.4}},
	"cutmix":       {{"alpha": 1, "p": 0.5}},
	"scale":        {{"factor": 0.3}},
	"jitter":       {{"std": 0.2}},
	"time_warp":    {{"strength": 0.5}},
	"channel_drop": {{"p": 0.5}},
	"time_shift":   {{"shift": 5}, {"shift": 5, "wrap": true}},
	"time_crop":    {{"length": 20}},
}

const samples, classes = 24, 5

// specimen is samples with every kind of field, of images or of signals.
type specimen struct {
	fields []dataset.NamedArray
	kinds  map[string]Kind
	last   bool
}

func noise[T uint8 | float32](seed int, shape ...int) storage.Array {
	n := 1
	for _, s := range shape {
		n *= s
	}
	elems, r := make([]T, n), newRandom(uint64(seed), 0, 0, 0)
	for i := range elems {
		elems[i] = T(r.Float64() * 256)
	}
	return storage.From(elems, shape...)
}

func specimens() []specimen {
	labels := make([]int64, samples)
	for i := range labels {
		labels[i] = int64(i % classes)
	}
	y := dataset.NamedArray{Name: "y", Role: dataset.Target, Array: storage.From(labels, samples)}
	x := func(a storage.Array) dataset.NamedArray { return dataset.NamedArray{Name: "x", Array: a} }
	target := func(name string, a storage.Array) dataset.NamedArray {
		return dataset.NamedArray{Name: name, Role: dataset.Target, Array: a}
	}
	return []specimen{
		{[]dataset.NamedArray{x(noise[uint8](1, samples, 3, 12, 14)), y}, nil, false},
		{[]dataset.NamedArray{x(noise[uint8](2, samples, 12, 14, 3)), y}, nil, true},
		{[]dataset.NamedArray{x(noise[float32](3, samples, 12, 14)), y}, nil, false},
		{[]dataset.NamedArray{x(noise[uint8](4, samples, 3, 12, 14)), target("m", noise[uint8](5, samples, 12, 14)),
			target("b", noise[float32](6, samples, 2, 4)), target("p", noise[float32](7, samples, 3, 2))},
			map[string]Kind{"m": Mask, "b": Boxes, "p": Points}, false},
		{[]dataset.NamedArray{x(noise[float32](8, samples, 3, 40)), y}, nil, false},
	}
}

// eachAugmentation calls f with the samples of every registered augmentation, and the specimens that it can change.
func eachAugmentation(t *testing.T, f func(t *testing.T, name string, settings map[string]any, s specimen)) {
	for _, r := range Registrations() {
		all, ok := samplesOf[r.Name]
		if !ok {
			t.Errorf("samplesOf has no settings of %s", r.Name)
		}
		for i, settings := range all {
			t.Run(fmt.Sprintf("%s/%d", r.Name, i), func(t *testing.T) {
				tried := 0
				for _, s := range specimens() {
					if _, err := newLoader(s, r.Name, settings, dataset.Options{BatchSize: 8}); err == nil {
						f(t, r.Name, settings, s)
						tried++
					}
				}
				if tried == 0 {
					t.Error("no specimen fits")
				}
			})
		}
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// newLoader returns a loader of a specimen with an augmentation; settings of nil are none.
func newLoader(s specimen, name string, settings map[string]any, o dataset.Options) (*dataset.Loader, error) {
	d, err := dataset.FromArrays(s.fields...)
	if err != nil {
		return nil, err
	}
	if name != "" {
		a, err := FromConfig(map[string]any{name: settings})
		if err != nil {
			return nil, err
		}
		o.Stage = NewChain([]Augmentation{a}, Options{Seed: 5, Fields: s.kinds, ChannelsLast: s.last, Classes: map[string]int{"y": classes}})
	}
	return dataset.NewLoader(d, o)
}

// load adds the fields of the samples of an epoch, from start on, to rows.
func load(t *testing.T, l *dataset.Loader, epoch, start int, rows map[int][][]byte) {
	t.Helper()
	for b, err := range l.Epoch(t.Context(), epoch, start) {
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range b.Fields {
			data, _ := a.Bytes()
			for i, row := range b.Rows {
				n := len(data) / len(b.Rows)
				rows[row] = append(rows[row], bytes.Clone(data[i*n:(i+1)*n]))
			}
		}
	}
}

func equalRows(a, b map[int][][]byte) bool {
	for row, fields := range a {
		if !slices.EqualFunc(fields, b[row], bytes.Equal) {
			return false
		}
	}
	return len(a) == len(b)
}

// TestSamplesDependOnSeedEpochAndRowOnly augments an epoch with other numbers of workers, resumed in the middle, and divided
// among processes.
func TestSamplesDependOnSeedEpochAndRowOnly(t *testing.T) {
	eachAugmentation(t, func(t *testing.T, name string, settings map[string]any, s specimen) {
		o := dataset.Options{BatchSize: 8, Seed: 3, Shards: 4}
		loader := func(o dataset.Options) *dataset.Loader {
			t.Helper()
			return must[*dataset.Loader](t)(newLoader(s, name, settings, o))
		}
		want := map[int][][]byte{}
		load(t, loader(o), 2, 0, want)
		for _, workers := range []int{1, 2, 4} {
			o := o
			o.Workers = workers
			got, l := map[int][][]byte{}, loader(o)
			for first := range want {
				delete(got, first)
			}
			load(t, l, 1, 0, map[int][][]byte{})
			load(t, l, 2, 0, got)
			if !equalRows(got, want) {
				t.Errorf("%d workers: other samples", workers)
			}
			resumed := map[int][][]byte{}
			load(t, l, 2, 16, resumed)
			for row, fields := range resumed {
				if !slices.EqualFunc(fields, want[row], bytes.Equal) {
					t.Errorf("%d workers: row %d differs in an epoch that begins after 16 samples", workers, row)
				}
			}
		}
		for _, world := range []int{2, 4} {
			got := map[int][][]byte{}
			for rank := range world {
				o := o
				o.Rank, o.WorldSize, o.BatchSize = rank, world, o.BatchSize/world
				load(t, loader(o), 2, 0, got)
			}
			if !equalRows(got, want) {
				t.Errorf("%d processes: other samples", world)
			}
		}
	})
}

// TestNothingChangesWithProbability0 sets p: 0, and ranges of one number.
func TestNothingChangesWithProbability0(t *testing.T) {
	eachAugmentation(t, func(t *testing.T, name string, settings map[string]any, s specimen) {
		never := map[string]any{"p": 0}
		for k, v := range settings {
			if k != "p" && k != "size" {
				never[k] = v
			}
		}
		switch name {
		case "crop", "pad", "resize", "time_crop":
			return // of another size, or without p
		}
		o := dataset.Options{BatchSize: 8}
		plain, got := map[int][][]byte{}, map[int][][]byte{}
		load(t, must[*dataset.Loader](t)(newLoader(s, "", nil, o)), 0, 0, plain)
		load(t, must[*dataset.Loader](t)(newLoader(s, name, never, o)), 0, 0, got)
		for row, fields := range plain {
			for k, data := range fields {
				if s.fields[k].Role == dataset.Target && (name == "mixup" || name == "cutmix") {
					continue // one-hot
				}
				if !bytes.Equal(data, got[row][k]) {
					t.Fatalf("row %d: %s changes", row, s.fields[k].Name)
				}
			}
		}
	})
}

func TestEveryEpochDiffers(t *testing.T) {
	eachAugmentation(t, func(t *testing.T, name string, settings map[string]any, s specimen) {
		a, b := map[int][][]byte{}, map[int][][]byte{}
		l := must[*dataset.Loader](t)(newLoader(s, name, settings, dataset.Options{BatchSize: 8}))
		load(t, l, 0, 0, a)
		load(t, l, 1, 0, b)
		switch random := !(name == "pad" || name == "resize" || settings["center"] == true || name == "affine" && settings["size"] != nil); {
		case random == equalRows(a, b):
			t.Errorf("epochs are equal: %v; want %v", !random, random)
		}
	})
}

// TestConfigurationsAreRead builds each augmentation of its own description.
func TestConfigurationsAreRead(t *testing.T) {
	eachAugmentation(t, func(t *testing.T, name string, settings map[string]any, s specimen) {
		made := must[Augmentation](t)(FromConfig(map[string]any{name: settings}))
		again := must[Augmentation](t)(FromConfig(must[any](t)(Describe(made))))
		if fmt.Sprintf("%+v", made) != fmt.Sprintf("%+v", again) {
			t.Errorf("%+v became %+v", made, again)
		}
	})
}

// TestPlacesMoveTogether marks a pixel of an image and of a mask and places a point and a box around it: after any
// move of whole pixels they are still together, and after others near each other.
func TestPlacesMoveTogether(t *testing.T) {
	const h, w, marked = 30, 40, 200
	for name, all := range samplesOf {
		for _, settings := range all {
			image, mask := make([]float32, marked*h*w), make([]int32, marked*h*w)
			points, boxes := make([]float32, marked*2), make([]float32, marked*4)
			r := newRandom(1, 0, 0, 0)
			for i := range marked {
				x, y := 10+r.Intn(w-20), 8+r.Intn(h-16)
				for dy := -2; dy <= 2; dy++ { // a block of 5 × 5, which nothing loses
					for dx := -2; dx <= 2; dx++ {
						at := (i*h+y+dy)*w + x + dx
						image[at], mask[at] = 100, 7
					}
				}
				copy(points[2*i:], []float32{float32(x) + 0.5, float32(y) + 0.5})
				copy(boxes[4*i:], []float32{float32(x) - 2, float32(y) - 2, float32(x) + 3, float32(y) + 3})
			}
			target := func(name string, a storage.Array) dataset.NamedArray {
				return dataset.NamedArray{Name: name, Role: dataset.Target, Array: a}
			}
			s := specimen{[]dataset.NamedArray{{Name: "x", Array: storage.From(image, marked, h, w)}, target("m", storage.From(mask, marked, h, w)),
				target("p", storage.From(points, marked, 1, 2)), target("b", storage.From(boxes, marked, 1, 4))}, map[string]Kind{"m": Mask, "p": Points, "b": Boxes}, false}
			made := must[Augmentation](t)(FromConfig(map[string]any{name: settings}))
			if !made.Changes(Points) {
				continue
			}
			l := must[*dataset.Loader](t)(newLoader(s, name, settings, dataset.Options{BatchSize: 50}))
			seen := 0
			for b, err := range l.Epoch(t.Context(), 0, 0) {
				if err != nil {
					t.Fatal(err)
				}
				outH, outW := b.Fields[0].Shape[1], b.Fields[0].Shape[2]
				image, mask := storage.Elements[float32](b.Fields[0]), storage.Elements[int32](b.Fields[1])
				points, boxes := storage.Elements[float32](b.Fields[2]), storage.Elements[float32](b.Fields[3])
				for i := range b.Rows {
					var n, sx, sy, bright float64
					x0, y0, x1, y1 := float64(outW), float64(outH), 0.0, 0.0
					for at, v := range mask[i*outH*outW : (i+1)*outH*outW] {
						if v == 7 {
							x, y := float64(at%outW), float64(at/outW)
							n, sx, sy = n+1, sx+x+0.5, sy+y+0.5
							bright += float64(image[i*outH*outW+at])
							x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x+1), max(y1, y+1)
						}
					}
					box := boxes[4*i : 4*i+4]
					if border := x0 <= 0 || y0 <= 0 || x1 >= float64(outW) || y1 >= float64(outH); n == 0 || border || settings["border"] == "reflect" {
						continue // partly outside, or seen twice
					}
					seen++
					if dx, dy := sx/n-float64(points[2*i]), sy/n-float64(points[2*i+1]); math.Hypot(dx, dy) > 1 {
						t.Fatalf("%s %v: the point is %v, %v from the center of the mask", name, settings, dx, dy)
					}
					if bright/n < 60 && settings["size"] == nil { // which may make it smaller
						t.Fatalf("%s %v: the image is %v where the mask is, want 100", name, settings, bright/n)
					}
					for k, v := range []float64{x0, y0, x1, y1} {
						if math.Abs(v-float64(box[k])) > 1.5 {
							t.Fatalf("%s %v: the mask fills %v, the box is %v", name, settings, []float64{x0, y0, x1, y1}, box)
						}
					}
				}
			}
			if seen < marked/4 && settings["border"] != "reflect" && settings["size"] == nil {
				t.Errorf("%s %v: %d of %d blocks are inside", name, settings, seen, marked)
			}
		}
	}
}

func TestUnsuitableFieldsAreRefused(t *testing.T) {
	one := specimens()[0]
	mask := specimens()[3]
	mask.kinds = nil
	wide := specimen{[]dataset.NamedArray{{Name: "x", Array: storage.From(make([]complex64, 4*3*8*8), 4, 3, 8, 8)}}, nil, false}
	for _, test := range []struct {
		s        specimen
		name     string
		settings map[string]any
	}{
		{mask, "flip", nil},                                      // a mask that is not named
		{wide, "flip", nil},                                      // complex
		{one, "crop", map[string]any{"size": 50}},                // larger than the image
		{one, "crop", map[string]any{"sizes": 50}},               // no setting
		{one, "affine", map[string]any{"size": 5, "p": 0.5}},     // not always the same size
		{one, "jitter", map[string]any{"std": 1}},                // of signals
		{one, "affine", map[string]any{"angle": []int{5, 1, 2}}}, // no range
		{one, "color", map[string]any{"hue": 0.7}},               // more than half the circle
	} {
		if _, err := newLoader(test.s, test.name, test.settings, dataset.Options{BatchSize: 2}); err == nil {
			t.Errorf("%s %v: no error", test.name, test.settings)
		} else {
			t.Log(err)
		}
	}
}

// TestOtherNumbersAreAugmentedAsFloat32: images and signals of integers and doubles, as cameras, detectors and amplifiers give
// them, become what their copies of float32 become.
func TestOtherNumbersAreAugmentedAsFloat32(t *testing.T) {
	whole := make([]uint16, 6*12*14)
	for i := range whole {
		whole[i] = uint16(i * 65)
	}
	for _, shape := range [][]int{{6, 1, 12, 14}, {6, 12, 14}} {
		for _, name := range []string{"rotate", "noise", "color", "scale", "time_shift"} {
			settings := samplesOf[name][0]
			if name == "color" {
				settings = map[string]any{"brightness": 0.5, "max": 65535}
			}
			rows := func(typ dtype.Type) map[int][][]byte {
				elems := make([]byte, len(whole)*typ.Size())
				if err := dtype.Convert(elems, typ, dtype.Bytes(whole), dtype.Uint16); err != nil {
					t.Fatal(err)
				}
				x := storage.Array{Data: storage.Wrap(elems), Type: typ, View: views.Of(shape...)}
				l, err := newLoader(specimen{[]dataset.NamedArray{{Name: "x", Array: x}}, nil, false}, name, settings, dataset.Options{BatchSize: 4, Workers: 1})
				if err != nil {
					return nil
				}
				got := map[int][][]byte{}
				load(t, l, 1, 0, got)
				return got
			}
			want := rows(dtype.Float32)
			for _, typ := range []dtype.Type{dtype.Uint16, dtype.Int32, dtype.Int64} {
				if got := rows(typ); !equalRows(want, got) {
					t.Errorf("%s: %v are not augmented as float32", name, typ)
				}
			}
		}
	}
}

// TestPixelsFarOutsideOfTheirRangeAreRefused: changes of colors would make all pixels of such an image alike.
func TestPixelsFarOutsideOfTheirRangeAreRefused(t *testing.T) {
	for _, name := range []string{"color", "gamma", "lighting"} {
		for largest, refused := range map[float64]bool{255: true, 4095: false} {
			x := storage.From(slices.Repeat([]float32{4000}, 2*8*8), 2, 8, 8)
			s := specimen{[]dataset.NamedArray{{Name: "x", Array: x}}, nil, false}
			l := must[*dataset.Loader](t)(newLoader(s, name, map[string]any{"max": largest}, dataset.Options{BatchSize: 2}))
			var failed error
			for _, err := range l.Epoch(t.Context(), 0, 0) {
				failed = err
			}
			if (failed != nil) != refused || refused && !strings.Contains(failed.Error(), "x has a pixel of 4000") {
				t.Errorf("%s, max %v: %v", name, largest, failed)
			}
		}
	}
}

// TestNumbersHaveTheirDistribution compares means and variances of 20,000 numbers with those of the distribution, within
// five standard errors.
func TestNumbersHaveTheirDistribution(t *testing.T) {
	const n = 20000
	for _, test := range []struct {
		name           string
		draw           func(r *Random) float64
		mean, variance float64
	}{
		{"uniform", func(r *Random) float64 { return Range{-3, 5}.draw(r, 0) }, 1, 64.0 / 12},
		{"around 1", func(r *Random) float64 { return Range{0.4}.draw(r, 1) }, 1, 0.64 / 12},
		{"normal", (*Random).Normal, 0, 1},
		{"beta 0.4", func(r *Random) float64 { return r.Beta(0.4) }, 0.5, 1 / (4 * 1.8)},
		{"beta 2", func(r *Random) float64 { return r.Beta(2) }, 0.5, 0.05},
		{"integers", func(r *Random) float64 { return float64(r.Intn(9)) }, 4, 80.0 / 12},
		{"noise", func(r *Random) float64 {
			x := []float32{1}
			addNormal(x, r, 2, 0, 0)
			return float64(x[0])
		}, 1, 4},
	} {
		sum, squares := 0.0, 0.0
		for row := range n {
			v := test.draw(newRandom(1, 2, row, 4))
			sum, squares = sum+v, squares+(v-test.mean)*(v-test.mean)
		}
		mean, variance := sum/n, squares/n
		if math.Abs(mean-test.mean) > 5*math.Sqrt(test.variance/n) || math.Abs(variance-test.variance) > 0.05*test.variance {
			t.Errorf("%s: mean %.4f, variance %.4f; want %.4f and %.4f", test.name, mean, variance, test.mean, test.variance)
		}
	}
}

// TestRangesOfOneNumber: a ratio of 0.5 stands for 0.5 to 1.5, as every range of factors does.
func TestRangesOfOneNumber(t *testing.T) {
	a, least, most := NewErase(EraseOptions{Area: Range{0.1, 0.1}, Ratio: Range{0.5}}), math.Inf(1), 0.0
	for i := range 200 {
		y0, y1, x0, x1 := a.rectangle(1000, 1000, newRandom(1, 0, i, 0))
		ratio := float64(y1-y0) / float64(x1-x0)
		least, most = min(least, ratio), max(most, ratio)
	}
	if math.Abs(least-0.5) > 0.02 || math.Abs(most-1.5) > 0.05 {
		t.Errorf("ratios of %v to %v; want 0.5 to 1.5", least, most)
	}
}

// TestLargestNumbersArePositive: images have no numbers from 0 to a negative one.
func TestLargestNumbersArePositive(t *testing.T) {
	for _, name := range []string{"color", "gamma", "lighting"} {
		if _, err := FromConfig(map[string]any{name: map[string]any{"max": -1}}); err == nil || !strings.Contains(err.Error(), "max: -1; want a positive number") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
