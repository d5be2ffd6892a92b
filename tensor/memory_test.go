package tensor

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// cifar is a network for images of 3x32x32: four 3x3 convolutions,
// each followed by a batch norm and a relu, with two pools, and a linear layer.
type cifar struct {
	device  storage.Device
	params  [][]*Tensor // weight, gamma, beta of each convolution
	stats   [][2]storage.Array
	out     *Tensor
	widths  []int
	convert func(block func(x ...*Tensor) *Tensor, x *Tensor) *Tensor // applies each block; nil to call it
}

func newCIFAR(d storage.Device, widths ...int) *cifar {
	make := func(shape ...int) storage.Array {
		a, err := storage.Make(d, dtype.Float32, shape...)
		if err != nil {
			panic(err)
		}
		if d != Meta {
			FillUniform(a, -0.1, 0.1, Key{Seed: 1})
		}
		return a
	}
	n := &cifar{device: d, widths: widths}
	channels := 3
	for _, width := range widths {
		n.params = append(n.params, []*Tensor{Leaf(make(width, channels, 3, 3)), Leaf(make(width)), Leaf(make(width))})
		n.stats = append(n.stats, [2]storage.Array{make(width), make(width)})
		channels = width
	}
	n.out = Leaf(make(10, channels*64))
	return n
}

// loss returns the loss of a batch.
func (n *cifar) loss(t *Tape, x, labels storage.Array) *Tensor {
	h := t.Input(x)
	for i := range n.widths {
		block := func(x ...*Tensor) *Tensor {
			p, s := n.params[i], n.stats[i]
			h := Conv(x[0], p[0], nil, ConvOptions{Padding: Pad(1, 1)})
			h = BatchNorm(h, p[1], p[2], BatchNormOptions{Momentum: 0.1, Training: true, RunningMean: s[0], RunningVar: s[1], Act: ReLUActivation})
			if i%2 == 1 {
				h = h.MaxPool(PoolOptions{Kernel: [3]int{2, 2}})
			}
			return h
		}
		if n.convert != nil {
			h = n.convert(block, h)
		} else {
			h = block(h)
		}
	}
	return CrossEntropy(Linear(h.Flatten(1), n.out, nil, NoActivation), t.Input(labels))
}

// TestBackwardReleasesMemory holds the peak of a training step to a part of what all its
// results and gradients take together. The meta device counts bytes and computes nothing.
func TestBackwardReleasesMemory(t *testing.T) {
	x, labels := NewMeta(dtype.Float32, 128, 3, 32, 32).array, NewMeta(dtype.Uint8, 128).array
	peak := func(retain bool) (bytes int) {
		n := newCIFAR(Meta, 64, 64, 128, 128)
		err := Step(func(tape *Tape) error {
			loss := n.loss(tape, x, labels)
			forward := tape.PeakMemory()
			Grad([]*Tensor{loss}, []*Tensor{n.params[0][0], n.out}, GradOptions{RetainGraph: retain})
			bytes = tape.PeakMemory()
			t.Logf("retain %v: %d MiB after the forward pass, at most %d MiB", retain, forward>>20, bytes>>20)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	if all, released := peak(true), peak(false); float64(released) > 0.6*float64(all) {
		t.Errorf("at most %d MiB with release, %d MiB without; want at most 0.6 of it", released>>20, all>>20)
	}
}

// TestCheckpointsSaveMemory compares the peaks of a deep network with and without
// one checkpoint for each four layers of 32.
func TestCheckpointsSaveMemory(t *testing.T) {
	w := Leaf(NewMeta(dtype.Float32, 1024, 1024).array)
	layers := func(xs ...*Tensor) *Tensor {
		h := xs[0]
		for range 4 {
			h = Linear(h, w, nil, ReLUActivation)
		}
		return h
	}
	peak := func(checkpointed bool) (bytes int) {
		err := Step(func(tape *Tape) error {
			h := tape.Input(NewMeta(dtype.Float32, 1024, 1024).array)
			for range 8 {
				if checkpointed {
					h = Checkpoint(layers, h)
				} else {
					h = layers(h)
				}
			}
			Gradients(h.Sum())
			bytes = tape.PeakMemory()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	all, saved := peak(false), peak(true)
	t.Logf("peak: %d MiB, with checkpoints %d MiB", all>>20, saved>>20)
	if float64(saved) > 0.7*float64(all) {
		t.Errorf("peak of %d MiB with checkpoints, %d MiB without; want at most 0.7 of it", saved>>20, all>>20)
	}
}

// TestCheckpointsComputeTheSame compares the gradients and the running statistics of a
// step with checkpoints with those of one without.
func TestCheckpointsComputeTheSame(t *testing.T) {
	run := func(d storage.Device, batch int, checkpointed bool, widths ...int) (grads [][]float64, stats []float64) {
		n := newCIFAR(d, widths...)
		if checkpointed {
			n.convert = func(block func(x ...*Tensor) *Tensor, x *Tensor) *Tensor { return Checkpoint(block, x) }
		}
		x, err := storage.Make(d, dtype.Float32, batch, 3, 32, 32)
		if err != nil {
			t.Fatal(err)
		}
		labels, _ := storage.Make(d, dtype.Uint8, batch)
		FillNormal(x, 0, 1, Key{Seed: 2})
		err = Step(func(tape *Tape) error {
			tape.Seed(1, 1)
			all := Gradients(n.loss(tape, x, labels))
			for _, ps := range n.params {
				for _, p := range ps {
					grads = append(grads, Values[float64](all[p]))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range n.stats {
			stats = append(stats, Values[float64](FromArray(s[0]))...)
		}
		return grads, stats
	}
	want, wantStats := run(storage.CPU, 3, false, 2, 3, 2, 3)
	got, gotStats := run(storage.CPU, 3, true, 2, 3, 2, 3)
	same(t, "running means", gotStats, wantStats)
	for i := range want {
		same(t, "gradient", got[i], want[i])
	}
}

// TestCheckpointsDrawTheSameNumbers wants the second computation to drop the elements
// that the first has dropped, and later draws to differ from both.
func TestCheckpointsDrawTheSameNumbers(t *testing.T) {
	for _, seeded := range []bool{true, false} {
		err := Step(func(tape *Tape) error {
			if seeded {
				tape.Seed(1, 2)
			}
			x := tape.Input(storage.From(make([]float64, 64), 64)).RequireGrad()
			drop := func(xs ...*Tensor) *Tensor {
				key, _ := xs[0].NextKey()
				return xs[0].AddScalar(1).Dropout(0.5, key)
			}
			y := Checkpoint(drop, x)
			key, _ := x.NextKey()
			later := Values[float64](x.AddScalar(1).Dropout(0.5, key))
			value := Values[float64](y)
			g := Values[float64](Gradients(y.Sum())[x])
			same(t, "gradient", g, value)
			if slices.Equal(later, value) {
				t.Errorf("seeded %v: the next draw drops the same elements", seeded)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnseededDropoutsDiffer: two dropouts without a seed, in a step or outside, draw
// different masks.
func TestUnseededDropoutsDiffer(t *testing.T) {
	ones := make([]float64, 64)
	for i := range ones {
		ones[i] = 1
	}
	var masks [][]float64
	draw := func(x *Tensor) {
		key, seeded := x.NextKey()
		if seeded {
			t.Error("a key that follows from no seed claims to")
		}
		masks = append(masks, Values[float64](x.Dropout(0.5, key)))
	}
	for range 2 {
		err := Step(func(tape *Tape) error {
			x := tape.Input(storage.From(ones, 64))
			draw(x)
			draw(x)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		draw(FromSlice(ones, 64))
	}
	for i := range masks {
		for k := range i {
			if slices.Equal(masks[i], masks[k]) {
				t.Errorf("draws %d and %d are the same", i, k)
			}
		}
	}
}

// TestValuesAreCopies collects results over several steps.
func TestValuesAreCopies(t *testing.T) {
	var all [][]float32
	for i := range 3 {
		err := Infer(func(tape *Tape) error {
			all = append(all, Values[float32](tape.Input(storage.From([]float32{float32(i)}, 1)).MulScalar(2)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range all {
		if v[0] != float32(2*i) {
			t.Errorf("result %d is now %v, want %d", i, v[0], 2*i)
		}
	}
}

// TestEndedStepsAreRefused reads a result after its step in every way that there is.
func TestEndedStepsAreRefused(t *testing.T) {
	var y *Tensor
	err := Step(func(tape *Tape) error {
		y = tape.Input(storage.From([]float32{1, 2}, 2)).MulScalar(2)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dst := storage.From(make([]float32, 2), 2)
	for name, read := range map[string]func() error{
		"To":                  func() error { return Try(func() { y.To(Meta) }) },
		"CopyTo":              func() error { return y.CopyTo(dst) },
		"storage.Read":        func() error { _, err := storage.Read[float32](y.array); return err },
		"CopyTo of the array": func() error { return y.array.CopyTo(dst) },
		"Values":              func() error { return Try(func() { Values[float32](y) }) },
		"an operation":        func() error { return Try(func() { y.Add(y) }) },
		"CloneDetached":       func() error { return Try(func() { y.CloneDetached() }) },
		"Assign to another":   func() error { return Try(func() { FromArray(dst).Assign(y) }) },
	} {
		if err := read(); !errors.Is(err, ErrState) {
			t.Errorf("%s: error %v, want one of kind %v", name, err, ErrState)
		}
	}
}

func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestSmallStepAllocatesLittle bounds the allocations of a step with a single product: headers grow
// with the number of operations.
func TestSmallStepAllocatesLittle(t *testing.T) {
	x := storage.From(make([]float32, 16), 4, 4)
	step := func() {
		if err := Infer(func(tape *Tape) error { tape.Input(x).MatMul(tape.Input(x)); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	const runs = 1000
	step()
	runtime.ReadMemStats(&before)
	for range runs {
		step()
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > 1536 { // 808 without the race detector
		t.Errorf("a step of one product allocates %d bytes", got)
	}
}
