package kernels

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestReferenceIsPyTorch compares with what testdata/loops.py had from PyTorch.
func TestReferenceIsPyTorch(t *testing.T) {
	var file struct {
		Cases []struct {
			Kernel          string
			In, Out, Before []numbers
			Options         json.RawMessage
		}
	}
	must(json.Unmarshal(ok(os.ReadFile("testdata/loops.json")), &file))
	for i, want := range file.Cases {
		k, options := named(want.Kernel, want.Options)
		c := &Call{Options: options}
		for _, x := range want.In {
			c.In = append(c.In, x.array())
		}
		if k == CrossEntropy {
			labels := ok(storage.Make(storage.CPU, dtype.Int64, c.In[1].Shape...))
			must(Cast.Reference(&Call{Out: []storage.Array{labels}, In: c.In[1:]}))
			c.In[1] = labels
		}
		for j, x := range want.Out {
			if j < len(want.Before) {
				x = want.Before[j]
			}
			c.Out = append(c.Out, x.array())
		}
		if err := k.Reference(c); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		for j, x := range want.Out {
			near(t, fmt.Sprintf("case %d: %s %+v, output %d", i, k.Name, options, j), c.Out[j], x.array(), 1e-12)
		}
	}
}

// named returns the kernel of that name, and text as its options.
func named(name string, text []byte) (*Kernel, any) {
	for _, k := range All() {
		if k.Elementwise() > 0 && k.Name == name {
			return k, nil
		}
	}
	for _, k := range []*Kernel{CrossEntropy, MeanSquaredError, Max, MaxGrad, Mean, Sum} {
		if k.Name == name {
			return k, nil
		}
	}
	for _, k := range []*Kernel{Softmax, LogSoftmax, SoftmaxGrad, LogSoftmaxGrad} {
		if k.Name == name {
			return k, as[SoftmaxOptions](text)
		}
	}
	switch name {
	case "bias act":
		return BiasAct, as[ActOptions](text)
	case "act grad bias":
		return ActGradBias, as[ActOptions](text)
	case "sgd":
		return SGD, as[SGDOptions](text)
	case "adam":
		return Adam, as[AdamOptions](text)
	}
	panic("no kernel " + name)
}

func as[S any](text []byte) (options S) {
	must(json.Unmarshal(text, &options))
	return options
}

// TestPhiloxGivesKnownAnswers has the vectors of Random123's kat_vectors, philox4x32 10.
func TestPhiloxGivesKnownAnswers(t *testing.T) {
	for _, test := range []struct {
		seed, stream, index uint64
		want                [4]uint32
	}{
		{0, 0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{math.MaxUint64, math.MaxUint64, math.MaxUint64, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(test.seed, test.stream, test.index); got != test.want {
			t.Errorf("Philox(%x, %x, %x): got %x, want %x", test.seed, test.stream, test.index, got, test.want)
		}
	}
}

// TestRandomMoments allows five standard errors of 2²⁰ numbers.
func TestRandomMoments(t *testing.T) {
	const n = 1 << 20
	a := filled(1, n)
	for _, test := range []struct {
		k              *Kernel
		options        any
		in             []storage.Array
		mean, variance float64
	}{
		{Uniform, RandomOptions{3, 4, -1, 3}, nil, 1, 16. / 12},
		{Normal, RandomOptions{3, 4, 2, 0.5}, nil, 2, 0.25},
		{Dropout, DropoutOptions{0.2, 3, 4}, []storage.Array{filled(1, n)}, 1, 0.25}, // 0 or 1/0.8
	} {
		must(CPU.Run(test.k, &Call{Out: []storage.Array{a}, In: test.in, Options: test.options}))
		var sum, squares float64
		for _, x := range storage.Elements[float32](a) {
			sum += float64(x)
			squares += (float64(x) - test.mean) * (float64(x) - test.mean)
		}
		if off := math.Abs(sum/n - test.mean); off > 5*math.Sqrt(test.variance/n) {
			t.Errorf("%s: mean %v, want %v", test.k.Name, sum/n, test.mean)
		}
		if off := math.Abs(squares/n - test.variance); off > 5*test.variance*math.Sqrt(2./n) {
			t.Errorf("%s: variance %v, want %v", test.k.Name, squares/n, test.variance)
		}
	}
}

// TestDenormalsAreFlushedInKernelsOnly: in the caller's thread and the pool's, and
// in Go not, before and after.
func TestDenormalsAreFlushedInKernelsOnly(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("this machine's denormals are left as they are")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer native.SetThreads(native.Threads())
	native.SetThreads(3)
	x, y := filled(1e-30, 300_000), filled(7, 300_000)
	must(CPU.Run(Mul, &Call{Out: []storage.Array{y}, In: []storage.Array{x, filled(1e-10, 300_000)}}))
	for i, x := range storage.Elements[float32](y) {
		if x != 0 {
			t.Fatalf("element %d: got %v, want 0", i, x)
		}
	}
	small := storage.Elements[float32](x)[0]
	if small*1e-10 == 0 {
		t.Error("Go's own denormals are zero after a kernel")
	}
}

// An elsewhere is a storage of a device that is not the host.
type elsewhere struct{ storage.Storage }

func (elsewhere) Device() storage.Device { return storage.File("there.h5") }

func TestInvalidCallsAreErrors(t *testing.T) {
	x, ints := ramp(3, 4), storage.From(make([]int64, 12), 3, 4)
	far := x
	far.Data = elsewhere{x.Data}
	beyond := x.With(views.View{Offset: 1, Shape: []int{3, 4}, Stride: []int{4, 1}})
	wide := ok(storage.Make(storage.CPU, dtype.Float32, 4)).With(views.View{Shape: []int{3, 4}, Stride: []int{0, 1}})
	labels := func(l ...int8) storage.Array { return storage.From(l, len(l)) }
	type arrays = []storage.Array
	for _, test := range []struct {
		k    *Kernel
		c    Call
		kind error
		says string
	}{
		{Add, Call{Out: arrays{x}, In: arrays{x}}, views.ErrShape, "add: 1 outputs and 1 inputs; want 1 and 2"},
		{Add, Call{Out: arrays{x}, In: arrays{x, ramp(4, 3)}}, views.ErrShape, "add: shapes [3 4] and [4 3] differ; broadcast one first"},
		{Add, Call{Out: arrays{x}, In: arrays{x, ints}}, dtype.ErrType, "add: types float32 and int64 differ; cast one first"},
		{Add, Call{Out: arrays{x}, In: arrays{x, far}}, storage.ErrDevice, "add: input 1: float32[3 4] on file:there.h5 is not in host memory; move it first"},
		{Add, Call{Out: arrays{x}, In: arrays{x, {}}}, storage.ErrState, "add: input 1: no storage"},
		{Add, Call{Out: arrays{x}, In: arrays{x, beyond}}, views.ErrShape, "add: input 1: float32[3 4] on cpu reaches outside the 12 elements of its storage"},
		{Add, Call{Out: arrays{wide}, In: arrays{x, x}}, views.ErrShape, "add: output 0: elements of [3 4] share memory, as after broadcasting or in overlapping windows; it cannot be written"},
		{Less, Call{Out: arrays{x}, In: arrays{x, x}}, dtype.ErrType, "less: types bool and float32 differ"},
		{Exp, Call{Out: arrays{ints}, In: arrays{ints}}, dtype.ErrType, "exp: not defined on int64; cast it first"},
		{Div, Call{Out: arrays{ints}, In: arrays{ints, ints}}, dtype.ErrType, "div: not defined on int64"},
		{ScaleOffset, Call{Out: arrays{x}, In: arrays{x}, Options: 3}, storage.ErrState, "scale offset: options are a int; want a kernels.ScaleOffsetOptions"},
		{Sum, Call{Out: arrays{ramp(2, 4)}, In: arrays{x}}, views.ErrShape, "sum: [3 4] does not become [2 4]; reduced axes keep size 1"},
		{Max, Call{Out: arrays{ramp(3, 1)}, In: arrays{ramp(3, 0)}}, views.ErrShape, "max: [3 0] has no largest or smallest element"},
		{ArgMax, Call{Out: arrays{storage.From(make([]int64, 1), 1, 1)}, In: arrays{x}}, views.ErrShape, "argmax: [3 4] becomes [1 1] along 2 axes; want one"},
		{Softmax, Call{Out: arrays{x}, In: arrays{x}, Options: SoftmaxOptions{2}}, views.ErrShape, "softmax: [3 4] has no axis 2"},
		{Softmax, Call{Out: arrays{x}, In: arrays{x}, Options: SoftmaxOptions{-1}}, views.ErrShape, "softmax: [3 4] has no axis -1"},
		{CrossEntropy, Call{Out: arrays{ramp(1)}, In: arrays{x, labels(0, 4, 1)}}, views.ErrShape, "cross entropy: row 1 has label 4; want 0 to 3"},
		{CrossEntropy, Call{Out: arrays{ramp(1)}, In: arrays{x, labels(0, 1, -1)}}, views.ErrShape, "cross entropy: row 2 has label -1; want 0 to 3"},
		{CrossEntropy, Call{Out: arrays{ramp(1)}, In: arrays{x, storage.From([]uint64{0, 1 << 63, 0}, 3)}}, views.ErrShape, "cross entropy: row 1 has label -9223372036854775808"},
		{CrossEntropy, Call{Out: arrays{ramp(1)}, In: arrays{x, ramp(3)}}, dtype.ErrType, "cross entropy: labels are float32; want integers"},
		{LabelMask, Call{Out: arrays{ramp(3)}, In: arrays{labels(2, -5, 3)}, Options: LabelMaskOptions{Classes: 3, Ignore: -5, Ignores: true}}, views.ErrShape, "label mask: row 2 has label 3; want 0 to 2"},
		{LabelMask, Call{Out: arrays{ramp(3)}, In: arrays{labels(2, -5, 1)}, Options: LabelMaskOptions{Classes: 3}}, views.ErrShape, "label mask: row 1 has label -5; want 0 to 2"},
		{LabelMask, Call{Out: arrays{ramp(3)}, In: arrays{ramp(3)}}, dtype.ErrType, "label mask: labels are float32; want integers"},
		{LayerNorm, Call{Out: arrays{x, ramp(3), ramp(3)}, In: arrays{x, ramp(4)}}, views.ErrShape, "layer norm: 3 outputs and 2 inputs; want 3 and 3"},
		{LayerNorm, Call{Out: arrays{x, ramp(3), ramp(4)}, In: arrays{x}}, views.ErrShape, "layer norm: an operand is [4]; beside [3 4] it should be [3]"},
		{ClipFactor, Call{Out: arrays{storage.From(make([]float64, 1))}, In: arrays{x}}, storage.ErrState, "clip factor: limit 0; want a positive number"},
		{ClampAll, Call{Out: arrays{x}, In: arrays{x}}, storage.ErrState, "clamp all: limit 0; want a positive number"},
		{ClampAll, Call{Out: arrays{x}, In: arrays{x, ramp(2)}, Options: ClampAllOptions{Limit: 1}}, views.ErrShape, "clamp all: scale [2]; want one element"},
		{ClampAll, Call{Out: arrays{x}, In: arrays{ramp(3)}, Options: ClampAllOptions{Limit: 1}}, views.ErrShape, "clamp all: shapes [3 4] and [3] differ"},
		{Scale, Call{Out: arrays{x}, In: arrays{x, ramp(1)}}, dtype.ErrType, "scale all: types float64 and float32 differ"},
		{Correct, Call{Out: arrays{storage.From(make([]int64, 1), 1)}, In: arrays{x, labels(0, 1)}}, views.ErrShape, "correct: [3 4] with labels [2]; want (N, classes) and (N)"},
		{BiasAct, Call{Out: arrays{x}, In: arrays{x, ramp(3)}}, views.ErrShape, "bias act: [3 4] with bias [3]; want (N, C, …) and (C)"},
		{ActGrad, Call{Out: arrays{x}, In: arrays{x, x}, Options: ActOptions{Act: 9}}, storage.ErrState, "act grad: no activation 9"},
		{SGD, Call{Out: arrays{x}, In: arrays{x}, Options: SGDOptions{Momentum: 0.9}}, views.ErrShape, "sgd: 1 outputs and 1 inputs; want 2 outputs for each parameter, and its gradient"},
		{Adam, Call{Out: arrays{x, x, x}, In: arrays{x}}, storage.ErrState, "adam: step 0; steps count from 1"},
		{Dropout, Call{Out: arrays{x}, In: arrays{x}, Options: DropoutOptions{P: math.NaN()}}, storage.ErrState, "dropout: probability NaN; want 0 to 1"},
	} {
		for _, way := range []struct {
			name string
			run  func(c *Call) error
		}{
			{"run", func(c *Call) error { return CPU.Run(test.k, c) }},
			{"reference", test.k.Reference},
		} {
			err := way.run(&test.c)
			if !errors.Is(err, test.kind) || !strings.HasPrefix(err.Error(), test.says) {
				t.Errorf("%s: got %q, want %q of kind %q", way.name, err, test.says, test.kind)
			}
		}
	}
}

// TestKernelsRunConcurrently is for the race detector, and for pools that meet.
func TestKernelsRunConcurrently(t *testing.T) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			x, y := filled(float32(i), 100_000), ramp(100_000)
			for range 20 {
				must(CPU.Run(ScaleOffset, &Call{Out: []storage.Array{y}, In: []storage.Array{x}, Options: ScaleOffsetOptions{2, 1}}))
				sum := ramp(1)
				must(CPU.Run(Sum, &Call{Out: []storage.Array{sum}, In: []storage.Array{y}}))
				if got, want := storage.Elements[float32](sum)[0], float32(100_000*(2*i+1)); got != want {
					t.Errorf("sum of 2·%d + 1: got %v, want %v", i, got, want)
				}
			}
		})
	}
	all.Wait()
}

// TestOptimizedCallsDoNotAllocate: kernels of a training step allocate nothing, except for
// the views that some need.
func TestOptimizedCallsDoNotAllocate(t *testing.T) {
	x, y, z, b := ramp(64, 10), ramp(64, 10), ramp(64, 10), ramp(10)
	label, one, count := storage.From(make([]uint8, 64), 64), ramp(1), storage.From(make([]int64, 1), 1)
	across := x.With(ok(ramp(10, 64).Transpose()))
	type arrays = []storage.Array
	for _, test := range []struct {
		k     *Kernel
		c     *Call
		limit float64
	}{
		{Add, &Call{Out: arrays{z}, In: arrays{x, y}}, 0},
		{Add, &Call{Out: arrays{z}, In: arrays{x, across}}, 0},
		{Copy, &Call{Out: arrays{z}, In: arrays{across}}, 0},
		{Cast, &Call{Out: arrays{ramp(64)}, In: arrays{label}, Options: CastOptions{2, 1}}, 0},
		{Sum, &Call{Out: arrays{ramp(1, 10)}, In: arrays{x}}, 0},
		{Softmax, &Call{Out: arrays{z}, In: arrays{x}, Options: SoftmaxOptions{1}}, 0},
		{CrossEntropy, &Call{Out: arrays{one, z}, In: arrays{x, label}}, 0},
		{Correct, &Call{Out: arrays{count}, In: arrays{x, label}}, 0},
		{MeanSquaredError, &Call{Out: arrays{one, z}, In: arrays{x, y}}, 0},
		{ActGradBias, &Call{Out: arrays{z, b}, In: arrays{x, y}, Options: ActOptions{Act: ReLUActivation}}, 0},
		{BiasAct, &Call{Out: arrays{z}, In: arrays{x, b}, Options: ActOptions{Act: ReLUActivation}}, 1},
		{SGD, &Call{Out: arrays{z}, In: arrays{x}, Options: SGDOptions{Rate: 1e-3}}, 0},
		{Adam, &Call{Out: arrays{x, y, z}, In: arrays{x}, Options: AdamOptions{Step: 1}}, 0},
		{Dropout, &Call{Out: arrays{z}, In: arrays{x}, Options: DropoutOptions{P: 0.5}}, 1},
	} {
		if got := testing.AllocsPerRun(100, func() { must(CPU.Run(test.k, test.c)) }); got > test.limit {
			t.Errorf("%s: %v allocations, want at most %v", test.k.Name, got, test.limit)
		}
	}
}

// TestActivationsHaveNames, for messages.
func TestActivationsHaveNames(t *testing.T) {
	got := []string{Activation(-1).String(), Activation(7).String()}
	for _, a := range everyActivation {
		got = append(got, a.String())
	}
	if want := []string{"unknown", "unknown", "none", "relu", "tanh", "sigmoid", "gelu", "gelu tanh", "silu"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func Example() {
	x := storage.From([]float32{1, 2, 3, 4}, 2, 2)
	y := storage.From(make([]float32, 4), 2, 2)
	column, _ := x.Slice(1, 0, 1, 1)         // the first column,
	column, _ = column.Broadcast(2, 2)       // repeated:
	in := []storage.Array{x, x.With(column)} // kernels take views as they are
	err := CPU.Run(Sub, &Call{Out: []storage.Array{y}, In: in})
	fmt.Println(storage.Elements[float32](y), err)
	// Output: [0 1 0 1] <nil>
}

// TestSplitsAreNotEmpty has splits of every number of rows that end behind the end, but do not begin there.
func TestSplitsAreNotEmpty(t *testing.T) {
	for n := 1; n < 1<<18; n += 1 + n/100 {
		for most := 1; most <= launch.FullOccupancy; most++ {
			pieces := splits(n, most)
			if length := launch.Ceil(n, pieces); pieces > most || pieces*length < n || (pieces-1)*length >= n {
				t.Fatalf("%d in at most %d: %d of %d", n, most, pieces, length)
			}
		}
	}
}
