package launch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestWhatIsTooLargeForALaunchIsComputedInParts has a GPU take few elements at
// once, and wants the bits of a GPU that takes them all.
func TestWhatIsTooLargeForALaunchIsComputedInParts(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Eager)[0]
	on := maker{t, gpu, rand.New(rand.NewPCG(1, 2)), dtype.Float32}
	of, turned, image, index := on.of, on.turned, on.image, on.index
	list := func(arrays ...storage.Array) []storage.Array { return arrays }
	window, overlapping := kernels.PoolOptions{Kernel: [3]int{2, 2}}, kernels.PoolOptions{Kernel: [3]int{2, 2}, Stride: [3]int{1, 1}}
	for _, c := range []struct {
		k       *kernels.Kernel
		set     any
		out, in []storage.Array
	}{
		{kernels.Add, nil, list(turned(30, 70)), list(of(30, 70), turned(30, 70))},
		{kernels.Uniform, kernels.RandomOptions{Seed: 3, B: 1}, list(turned(30, 70)), nil},
		{kernels.MatMul, nil, list(turned(500, 7)), list(of(500, 3), of(3, 7))},
		{kernels.MatMul, nil, list(of(2, 7, 500)), list(of(2, 7, 3), of(3, 500))},
		{kernels.Linear, nil, list(of(5, 500)), list(of(5, 3), of(500, 3), of(500))},
		{kernels.Conv, nil, list(image(7, 2, 6, 6)), list(of(7, 3, 8, 8), of(2, 3, 3, 3), of(2))},
		{kernels.ConvGradX, nil, list(of(7, 3, 8, 8)), list(image(7, 2, 6, 6), of(2, 3, 3, 3))},
		{kernels.MaxPool, window, list(image(15, 1, 4, 4), index(15, 1, 4, 4)), list(of(15, 1, 8, 8))},
		{kernels.MaxPoolGrad, window, list(of(15, 1, 8, 8)), list(image(15, 1, 4, 4), index(15, 1, 4, 4))},
		{kernels.MaxPool, overlapping, list(of(1, 1, 34, 34), index(1, 1, 34, 34)), list(of(1, 1, 35, 35))},
		{kernels.MaxPoolGrad, overlapping, list(image(3, 8, 11, 13)), list(image(3, 8, 10, 12), index(3, 8, 10, 12))},
		{kernels.Dropout, kernels.DropoutOptions{P: 0.3, Seed: 4}, list(image(3, 8, 12, 16)), list(image(3, 8, 12, 16))},
		{kernels.AvgPool, window, list(image(15, 1, 4, 4)), list(of(15, 1, 8, 8))},
	} {
		call := &kernels.Call{Out: c.out, In: c.in, Options: c.set}
		whole, once := computed(t, gpu, c.k, call)
		undo := launch.SetLimit(200)
		parts, often := computed(t, gpu, c.k, call)
		undo()
		if often <= once {
			t.Errorf("%s: %d launches, and %d of small parts", c.k.Name, once, often)
		}
		for i := range whole {
			for k, want := range whole[i] {
				if got := parts[i][k]; got != want {
					t.Fatalf("%s: output %d, element %d is %v in parts, %v at once", c.k.Name, i, k, got, want)
				}
			}
		}
	}
}

// TestSumsOfAnyLengthAreAddedUp has a GPU take so few elements at once that the sums of
// products are added up from parts, of every type and however the operands lie, and wants
// what a GPU makes that takes them all, and the same bits once more.
func TestSumsOfAnyLengthAreAddedUp(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Eager)[0]
	for _, c := range []struct {
		float     dtype.Type
		lay       string
		tolerance float64
	}{
		{dtype.Float32, "row-major", 1e-5}, {dtype.Float32, "channels-last", 1e-5},
		{dtype.Float64, "apart", 1e-13}, {dtype.Float16, "channels-last", 0x1p-9}, {dtype.BFloat16, "row-major", 0x1p-6},
	} {
		on := maker{t, gpu, rand.New(rand.NewPCG(1, 2)), c.float}
		for _, p := range on.products(lays[c.lay]) {
			whole, once := computed(t, gpu, p.k, &p.call)
			undo := launch.SetLimit(p.most)
			parts, often := computed(t, gpu, p.k, &p.call)
			again := parts
			if c.lay == "apart" {
				again, _ = computed(t, gpu, p.k, &p.call)
			}
			undo()
			what := fmt.Sprintf("%s of %v%v, %s", p.k.Name, c.float, p.call.In[0].Shape, c.lay)
			if often <= once {
				t.Errorf("%s: %d launches, and %d of small parts", what, once, often)
			}
			near(t, what, parts, whole, c.tolerance)
			near(t, what+", once more", again, parts, 0)
		}
	}
}

// near wants results to be as near to others as tolerance says.
func near(t *testing.T, what string, got, want [][]float64, tolerance float64) {
	t.Helper()
	for i := range want {
		for k, w := range want[i] {
			if g := got[i][k]; !(math.Abs(g-w) <= tolerance*(4+math.Abs(w))) {
				t.Fatalf("%s: output %d, element %d is %v, want %v", what, i, k, g, w)
			}
		}
	}
}

// lays are layouts of arrays by name.
var lays = map[string]func(shape ...int) views.View{
	"row-major": views.Of,
	"channels-last": func(s ...int) views.View {
		if len(s) != 4 {
			return backwards(s...)
		}
		return views.ChannelsLast(s[0], s[1], s[2], s[3])
	},
	"apart": func(s ...int) views.View {
		v := views.Of(s...)
		for axis := range v.Stride {
			v.Stride[axis] *= 5 - min(axis, 3)
		}
		return v
	},
}

// backwards is the view of an array whose first axis is the closest, and flipped.
func backwards(shape ...int) views.View {
	v := views.View{Shape: shape, Stride: make([]int, len(shape))}
	step := 1
	for axis, n := range shape {
		v.Stride[axis] = step
		step *= n
	}
	v.Stride[0], v.Offset = -1, shape[0]-1
	return v
}

type product struct {
	k    *kernels.Kernel
	most int64 // fewer elements are taken at once
	call kernels.Call
}

// products are calls that multiply or go by channels, of operands that lie so.
func (m maker) products(lay func(shape ...int) views.View) (all []product) {
	of := func(shape ...int) storage.Array { return m.array(lay(shape...)) }
	add := func(k *kernels.Kernel, set any, outs int, arrays ...storage.Array) {
		all = append(all, product{k, 12, kernels.Call{Out: arrays[:outs], In: arrays[outs:], Options: set}})
	}
	add(kernels.MatMul, nil, 1, of(6, 4), of(6, 25), of(25, 4))
	add(kernels.MatMul, nil, 1, of(2, 2, 3, 4), of(2, 3, 26), of(2, 1, 26, 4))
	add(kernels.MatMul, nil, 1, of(5, 3), of(5, 1700), of(1700, 3))
	all[len(all)-1].most = 1000 // parts so long that they are split themselves
	for act := kernels.NoActivation; act <= kernels.TanhActivation; act++ {
		add(kernels.Linear, kernels.LinearOptions{Act: act}, 1, of(4, 5), of(4, 48), of(5, 48), of(5))
	}
	for _, s := range []struct {
		x, w, y []int
		kernels.ConvOptions
	}{
		{[]int{2, 3, 5, 4}, []int{3, 3, 3, 2}, []int{2, 3, 3, 3}, kernels.ConvOptions{Act: kernels.ReLUActivation}},
		{[]int{2, 3, 5, 4}, []int{1, 3, 3, 2}, []int{2, 1, 3, 3}, kernels.ConvOptions{}}, // rows of pixels are added up together, where they can be
		{[]int{2, 1, 3, 3}, []int{13, 1, 2, 2}, []int{2, 13, 2, 2}, kernels.ConvOptions{}},
		{[]int{1, 16, 3, 3}, []int{4, 16, 1, 2}, []int{1, 4, 3, 6}, kernels.ConvOptions{Stride: [3]int{2, 1}, Padding: kernels.Pad(1, 2)}},
		{[]int{1, 1, 7, 6}, []int{2, 1, 5, 4}, []int{1, 2, 3, 3}, kernels.ConvOptions{Stride: [3]int{3, 2}, Padding: kernels.Pad(2, 1), Act: kernels.SigmoidActivation}},
		{[]int{2, 2, 8, 6}, []int{3, 2, 3, 2}, []int{2, 3, 2, 4}, kernels.ConvOptions{Dilation: [3]int{3, 2}}},
	} {
		bare := s.ConvOptions
		bare.Act = kernels.NoActivation
		x, w, y, b := of(s.x...), of(s.w...), of(s.y...), of(s.w[0])
		add(kernels.Conv, s.ConvOptions, 1, of(s.y...), x, w, b)
		add(kernels.ConvGradX, bare, 1, of(s.x...), y, w)
		add(kernels.ConvGradW, bare, 2, of(s.w...), of(s.w[0]), x, y)
	}
	x, dx, dy, c, above := of(3, 26, 2, 2), of(3, 26, 2, 2), of(3, 26, 2, 2), of(26), m.drawn(lay(26), func() float64 { return 0.1 + m.r.Float64() })
	set := kernels.BatchNormOptions{Epsilon: 1e-3, Momentum: 1}
	add(kernels.BatchNorm, set, 5, dx, of(26), of(26), of(26), of(26), x, c, c)
	add(kernels.BatchNormEval, set, 1, dx, x, c, c, c, above)
	add(kernels.BatchNormGrad, set, 3, dx, of(26), of(26), x, c, dy, c, above)
	add(kernels.BatchNormEvalGrad, set, 3, dx, of(26), of(26), x, c, dy, c, above)
	add(kernels.ActGradBias, kernels.ActOptions{Act: kernels.TanhActivation}, 2, dx, of(26), x, dy)
	return all
}

// A maker makes arrays of random floats of a type on a device.
type maker struct {
	t     *testing.T
	d     storage.Device
	r     *rand.Rand
	float dtype.Type
}

func (m maker) array(v views.View) storage.Array { return m.drawn(v, m.r.NormFloat64) }

func (m maker) drawn(v views.View, draw func() float64) storage.Array {
	_, last := v.Bounds()
	floats := make([]float64, last+1)
	for i := range floats {
		floats[i] = draw()
	}
	a, err := storage.Make(storage.CPU, m.float, len(floats))
	if err != nil {
		m.t.Fatal(err)
	}
	if err := dtype.Convert(a.Data.(storage.Host).Bytes(), m.float, dtype.Bytes(floats), dtype.Float64); err != nil {
		m.t.Fatal(err)
	}
	return m.moved(a).With(v)
}

func (m maker) moved(a storage.Array) storage.Array {
	a, err := a.To(m.d)
	if err != nil {
		m.t.Fatal(err)
	}
	return a
}

func (m maker) of(shape ...int) storage.Array { return m.array(views.Of(shape...)) }

func (m maker) turned(rows, cols int) storage.Array {
	return m.array(views.View{Shape: []int{rows, cols}, Stride: []int{1, rows}})
}

func (m maker) image(n, c, h, w int) storage.Array { return m.array(views.ChannelsLast(n, c, h, w)) }

// index returns zeros, as MaxPool's second output has them.
func (m maker) index(n, c, h, w int) storage.Array {
	return m.moved(storage.From(make([]int32, n*c*h*w), n, c, h, w))
}

// computed returns the results of a call, whose outputs are filled with 77 before, and the number of launches.
func computed(t *testing.T, gpu kernels.Runner, k *kernels.Kernel, c *kernels.Call) (results [][]float64, launches int) {
	for _, a := range c.Out {
		if err := gpu.Run(kernels.Fill, &kernels.Call{Out: []storage.Array{a}, Options: kernels.FillOptions{Value: 77}}); err != nil {
			t.Fatal(err)
		}
	}
	before := launched()
	if err := gpu.Run(k, c); err != nil {
		t.Fatal(err)
	}
	for _, a := range c.Out {
		floats, err := storage.Read[float64](a)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, floats)
	}
	return results, launched() - before
}

func launched() (n int) {
	for _, times := range cudatest.LaunchCounts() {
		n += times
	}
	return n
}
