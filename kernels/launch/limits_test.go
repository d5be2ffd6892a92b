package launch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/device"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A dummy is a GPU of endless memory that computes nothing, and holds launches to what a driver
// takes and what 32 bits count.
type dummy struct {
	launch.GPU
	t       *testing.T
	entries map[string]bool
	what    string
	lends   int // bytes at most
}

// endless is a storage of a dummy.
type endless struct{ d *dummy }

func (e *endless) Len() int               { return 1 << 62 }
func (e *endless) Device() storage.Device { return e.d }

func (d *dummy) String() string                 { return "dummy" }
func (d *dummy) Address(storage.Storage) uint64 { return 1 << 40 }
func (d *dummy) FaultAddress() uint64           { return 1 << 30 }
func (d *dummy) BlockCounters() uint64          { return 1 << 30 }

func (d *dummy) Workspace(bytes int, use func(address uint64) error) error {
	if bytes < 0 || bytes > d.lends {
		d.t.Errorf("%s: %d bytes of scratch memory, want at most %d", d.what, bytes, d.lends)
	}
	return use(1 << 20)
}

func (d *dummy) Launch(entry string, blocks [3]uint32, threads uint32, args []byte) error {
	if !d.entries[entry] {
		d.t.Errorf("%s: there is no entry %s", d.what, entry)
	}
	if slices.Contains(blocks[:], 0) || blocks[0] >= 1<<31 || max(blocks[1], blocks[2]) >= 1<<16 || threads < 1 || threads > 1024 || uint64(blocks[0])*uint64(threads) > 1<<32 {
		d.t.Errorf("%s: %s is launched in %v blocks of %d threads", d.what, entry, blocks, threads)
	}
	return nil
}

// TestNoSizeIsTooLarge gives every kernel more of everything than 32 bits count, in turn, and
// wants launches that a driver takes, and little memory beside. What they compute in parts, the
// other tests of parts see.
func TestNoSizeIsTooLarge(t *testing.T) {
	entries, err := device.Entries(80)
	if err != nil {
		t.Fatal(err)
	}
	d := &dummy{t: t, entries: map[string]bool{}}
	for _, name := range entries {
		d.entries[name] = true
	}
	tried := map[*kernels.Kernel]bool{kernels.UpdateScale: true, kernels.AddMetrics: true} // which take a few numbers
	for _, c := range vastCalls(d) {
		d.what = fmt.Sprintf("%s of %v to %v", c.k.Name, shapes(c.call.In), shapes(c.call.Out))
		tried[c.k] = true
		if d.lends = 1 << 30; c.k == kernels.CrossEntropy || c.k == kernels.Correct {
			d.lends = 16 * c.call.In[0].Shape[0] // two numbers for each row
		}
		if err := c.k.CUDA(d, &c.call); err != nil {
			t.Errorf("%s: %v", d.what, err)
		}
	}
	for _, k := range kernels.All() {
		if !tried[k] && !k.HostOnly {
			t.Errorf("%s was not tried", k.Name)
		}
	}
}

func shapes(arrays []storage.Array) (all [][]int) {
	for _, a := range arrays {
		all = append(all, a.Shape)
	}
	return all
}

// vast collects calls whose operands have more elements than launches take.
type vast struct {
	d   *dummy
	all []product
}

const (
	long  = 1<<33 + 5
	image = 1 << 30 // no axis of an image is longer
)

// vastCalls is calls of every kernel that has sizes.
func vastCalls(d *dummy) []product {
	v := &vast{d: d}
	v.elementwise()
	v.reducing()
	v.multiplying()
	v.pooling()
	return v.all
}

func (v *vast) of(shape ...int) storage.Array {
	return storage.Array{Type: dtype.Float32, View: views.Of(shape...)}
}

func (v *vast) as(t dtype.Type, shape ...int) storage.Array {
	a := v.of(shape...)
	a.Type = t
	return a
}

func (v *vast) add(k *kernels.Kernel, set any, outs int, arrays ...storage.Array) {
	for i := range arrays { // kernels refuse outputs that overlap inputs
		arrays[i].Data = &endless{v.d}
	}
	v.all = append(v.all, product{k: k, call: kernels.Call{Out: arrays[:outs], In: arrays[outs:], Options: set}})
}

func (v *vast) elementwise() {
	for _, x := range []storage.Array{v.of(long), v.of(3, long).With(views.View{Shape: []int{3, long}, Stride: []int{1, 3}}), v.of(long, 3).With(views.View{Shape: []int{long, 3}, Stride: []int{7, 2}})} {
		for _, k := range []*kernels.Kernel{kernels.Copy, kernels.ScaleOffset, kernels.Cast} {
			v.add(k, nil, 1, x, x)
		}
		v.add(kernels.ActGrad, nil, 1, x, x, x)
		truth := x
		truth.Type = dtype.Bool
		comparisons := []*kernels.Kernel{kernels.Less, kernels.LessEqual, kernels.Greater, kernels.GreaterEqual, kernels.Equal, kernels.NotEqual}
		bits := []*kernels.Kernel{kernels.BitAnd, kernels.BitOr, kernels.BitXor, kernels.ShiftLeft, kernels.ShiftRight}
		for _, k := range kernels.All() {
			if k.Elementwise() == 0 || k.HostOnly {
				continue
			}
			in, out := x, x
			switch {
			case slices.Contains(comparisons, k):
				out = truth
			case slices.Contains(bits, k):
				in.Type, out.Type = dtype.Int32, dtype.Int32
			}
			v.add(k, nil, 1, append([]storage.Array{out}, slices.Repeat([]storage.Array{in}, k.Elementwise())...)...)
		}
		v.add(kernels.Cast, kernels.CastOptions{Scale: 2}, 1, truth, x)
		v.add(kernels.Where, nil, 1, x, truth, x, x)
		v.add(kernels.Fill, nil, 1, x)
		v.add(kernels.Uniform, nil, 1, x)
		v.add(kernels.Normal, nil, 1, x)
		v.add(kernels.Dropout, kernels.DropoutOptions{P: 0.5}, 1, x, x)
		v.add(kernels.ELU, nil, 1, x, x)
		v.add(kernels.ELUGrad, nil, 1, x, x, x)
		v.add(kernels.MeanSquaredError, nil, 2, v.of(), x, x, x)
		v.add(kernels.SGD, kernels.SGDOptions{Momentum: 0.5}, 2, x, x, x)
		v.add(kernels.Adam, kernels.AdamOptions{Step: 1}, 3, x, x, x, x)
		for _, u := range []struct {
			k       *kernels.Kernel
			options any
			outputs int
		}{
			{kernels.NAdam, kernels.NAdamOptions{Step: 1}, 3}, {kernels.Adamax, kernels.AdamaxOptions{Step: 1}, 3}, {kernels.Adagrad, kernels.AdagradOptions{Step: 1}, 2},
			{kernels.Adadelta, kernels.AdadeltaOptions{}, 3}, {kernels.RMSProp, kernels.RMSPropOptions{Centered: true, Momentum: 0.5}, 4}, {kernels.Lion, kernels.LionOptions{}, 2},
		} {
			v.add(u.k, u.options, u.outputs, slices.Repeat([]storage.Array{x}, u.outputs+1)...)
		}
		v.add(kernels.FindInf, nil, 1, v.of(4), x)
		v.add(kernels.ClipFactor, kernels.ClipFactorOptions{Limit: 1}, 1, v.as(dtype.Float64), x)
		v.add(kernels.ClampAll, kernels.ClampAllOptions{Limit: 1}, 1, x, x)
		v.add(kernels.Scale, nil, 1, x, x, v.as(dtype.Float64))
	}
}

func (v *vast) reducing() {
	for _, s := range [][2][]int{{{long}, {1}}, {{long, 3}, {long, 1}}, {{long, 3}, {1, 3}}, {{3, long}, {3, 1}}, {{3, long}, {1, long}}, {{long, 2000}, {long, 1}}, {{1 << 17, 1 << 17}, {1, 1 << 17}}} {
		x, y := v.of(s[0]...), v.of(s[1]...)
		v.add(kernels.Sum, nil, 1, y, x)
		v.add(kernels.Mean, nil, 1, y, x)
		v.add(kernels.Max, nil, 1, y, x)
		v.add(kernels.Min, nil, 1, y, x)
		v.add(kernels.Squares, nil, 1, y, x, y)
		v.add(kernels.MaxGrad, nil, 1, x, x, y, y)
		v.add(kernels.ArgMax, nil, 1, v.as(dtype.Int64, s[1]...), x)
		v.add(kernels.MaxIndex, nil, 2, y, v.as(dtype.Int64, s[1]...), x)
		axis := len(s[0]) - 1
		v.add(kernels.Softmax, kernels.SoftmaxOptions{Axis: axis}, 1, x, x)
		v.add(kernels.LogSoftmax, kernels.SoftmaxOptions{Axis: axis}, 1, x, x)
		v.add(kernels.SoftmaxGrad, kernels.SoftmaxOptions{Axis: axis}, 1, x, x, x)
		v.add(kernels.LogSoftmaxGrad, kernels.SoftmaxOptions{Axis: axis}, 1, x, x, x)
	}
	for _, s := range [][2]int{{long, 3}, {3, long}} {
		x, labels, hits := v.of(s[0], s[1]), v.as(dtype.Uint8, s[0]), v.as(dtype.Int64)
		v.add(kernels.CrossEntropy, nil, 3, v.of(), x, hits, x, labels)
		v.add(kernels.Correct, nil, 1, hits, x, labels)
		v.add(kernels.LabelMask, nil, 1, v.of(s[0]), labels)
		rows, columns := v.of(s[0]), v.of(s[1])
		v.add(kernels.LayerNorm, nil, 3, x, rows, rows, x, columns, columns)
		v.add(kernels.LayerNormGrad, nil, 3, x, columns, columns, x, x, rows, rows, columns)
		ofRows := func(n int) storage.Array {
			return v.as(dtype.Int64, n).With(views.View{Shape: []int{n, s[1]}, Stride: []int{1, 0}})
		}
		v.add(kernels.Gather, nil, 1, x, v.of(50, s[1]), ofRows(s[0]))
		v.add(kernels.Gather, nil, 1, v.of(9, s[1]), x, ofRows(9))
		index := v.as(dtype.Int64, s[0], s[1])
		v.add(kernels.Gather, kernels.GatherOptions{Axis: 1}, 1, x, v.of(s[0], 50), index)
		v.add(kernels.Scatter, kernels.ScatterOptions{Axis: 1}, 1, v.of(s[0], 50), x, index)
		v.add(kernels.GatherCast, nil, 1, x, v.as(dtype.Uint8, 50, s[1]), v.as(dtype.Int64, s[0]))
	}
}

func (v *vast) multiplying() {
	for _, s := range [][4]int{{1, long, 3, 5}, {1, 3, long, 5}, {1, 3, 5, long}, {long, 3, 5, 2}, {3, 70000, 70000, long}} {
		batch, m, k, n := s[0], s[1], s[2], s[3]
		v.add(kernels.MatMul, nil, 1, v.of(batch, m, n), v.of(batch, m, k), v.of(batch, k, n))
		v.add(kernels.LinearGradW, nil, 2, v.of(m, n), v.of(m), v.of(k, n), v.of(k, m))
		v.add(kernels.LinearGradX, kernels.LinearGradXOptions{Act: kernels.ReLUActivation}, 1, v.of(m, n), v.of(m, k), v.of(k, n), v.of(m, n))
		v.add(kernels.Linear, kernels.LinearOptions{Act: kernels.ReLUActivation}, 1, v.of(m, n), v.of(m, k), v.of(n, k), v.of(n))
	}
	for _, s := range []struct{ x, w []int }{
		{[]int{long, 2, 4, 3}, []int{2, 2, 3, 2}},
		{[]int{1, long, 4, 3}, []int{2, long, 3, 2}},
		{[]int{1, 2, 4, 3}, []int{long, 2, 3, 2}},
		{[]int{2, 1, image - 2, 9}, []int{2, 1, 3, 2}},
		{[]int{1, 1, 1 << 20, 1 << 14}, []int{1, 1, 1 << 20, 1 << 14}},
		{[]int{1, 1, 1 << 20, 1 << 14}, []int{1, 1, 1 << 10, 1 << 13}},
	} {
		for _, lay := range []func(shape ...int) views.View{views.Of, lays["channels-last"]} {
			at := func(shape ...int) storage.Array { return v.of().With(lay(shape...)) }
			set := kernels.ConvOptions{Padding: kernels.Pad(1, 0)}
			x, w := at(s.x...), at(s.w...)
			y := at(s.x[0], s.w[0], s.x[2]+2-s.w[2]+1, s.x[3]-s.w[3]+1)
			v.add(kernels.Conv, set, 1, y, x, w, v.of(s.w[0]))
			v.add(kernels.ConvGradX, set, 1, x, y, w)
			v.add(kernels.ConvGradW, set, 2, w, v.of(s.w[0]), x, y)
		}
	}
}

func (v *vast) pooling() {
	for _, s := range [][]int{{long, 2, 4, 6}, {1, long, 4, 6}, {1, 3, image, 8}, {1, 3, 8, image}} {
		set := kernels.PoolOptions{Kernel: [3]int{2, 2}}
		x, y := v.of(s...), v.of(s[0], s[1], s[2]/2, s[3]/2)
		if s[2] < image && s[3] < image { // elements of an image are counted by an int32
			index := v.as(dtype.Int32, y.Shape...)
			v.add(kernels.MaxPool, set, 2, y, index, x)
			v.add(kernels.MaxPoolGrad, set, 1, x, y, index, y)
		}
		v.add(kernels.MaxPool, set, 1, y, x)
		v.add(kernels.AvgPool, set, 1, y, x)
		v.add(kernels.AvgPoolGrad, set, 1, x, y)
	}
	for _, s := range [][]int{{long, 3}, {2, long}, {2, 3, long}, {2, long, 1, 2}} {
		x, c := v.of(s...), v.of(s[1])
		v.add(kernels.BatchNorm, nil, 5, x, c, c, c, c, x, c, c)
		v.add(kernels.BatchNormEval, nil, 1, x, x, c, c, c, c)
		v.add(kernels.BatchNormGrad, nil, 3, x, c, c, x, c, x, c, c)
		v.add(kernels.BatchNormEvalGrad, nil, 3, x, c, c, x, c, x, c, c)
		v.add(kernels.ActGradBias, kernels.ActOptions{Act: kernels.TanhActivation}, 2, x, c, x, x)
		v.add(kernels.BiasAct, nil, 1, x, x, c)
	}
}
