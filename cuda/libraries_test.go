package cuda_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// byLibraries tries f on GPUs that compute by libraries, whenever work may be done.
func byLibraries(t *testing.T, f func(t *testing.T, gpus [2]*cuda.Device)) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		cudatest.UseLibraries(t, gpus[:]...)
		f(t, gpus)
	})
}

// launches returns how often use launches an entry, or calls a library's function.
func launches(name string, use func()) int {
	before := cudatest.LaunchCounts()[name]
	use()
	return cudatest.LaunchCounts()[name] - before
}

// TestLibrariesMatchReference runs the trials of products and convolutions again, with
// the libraries.
func TestLibrariesMatchReference(t *testing.T) {
	byLibraries(t, func(t *testing.T, gpus [2]*cuda.Device) {
		before := cudatest.LaunchCounts()
		for i, c := range multiplying() {
			t.Run(c.String(), func(t *testing.T) {
				defer cudatest.Reset()
				c.agrees(t, gpus[i%2])
			})
		}
		if cudatest.RealGPU() {
			return // memory handed to a GPU is not counted
		}
		after := cudatest.LaunchCounts()
		for _, name := range []string{"cublasLtMatmul", "cudnnConvolutionForward", "cudnnConvolutionBiasActivationForward", "cudnnConvolutionBackwardData", "cudnnConvolutionBackwardFilter"} {
			if after[name] == before[name] {
				t.Errorf("nothing was computed by %s", name)
			}
		}
	})
}

// TestLibrarySearchPath: where the linker knows of, then in the toolkit that is named,
// Python's wheels and conda's environment; only there where folders are named.
func TestLibrarySearchPath(t *testing.T) {
	cudatest.FakeOnly(t)
	root := t.TempDir()
	var made []string
	for _, folder := range []string{"cuda/lib64", "venv/lib/python3.13/site-packages/nvidia/cu13/lib", "venv/lib/python3.13/site-packages/nvidia/cublas/lib", "conda/lib", "own"} {
		path := filepath.Join(root, folder, "libcublasLt.so.12")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
		made = append(made, path)
	}
	for name, value := range map[string]string{"CUDA_PATH": root + "/cuda", "CUDA_HOME": "", "VIRTUAL_ENV": root + "/venv", "CONDA_PREFIX": root + "/conda", "H5DNN_CUDA_LIBS": ""} {
		t.Setenv(name, value)
	}
	paths, versions := cuda.Candidates("12.4")
	if !slices.Equal(paths[:2], []string{"libcublasLt.so.13", "libcublasLt.so.12"}) {
		t.Errorf("sought in %q; want the linker's places first", paths)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return !strings.HasPrefix(path, root) }) // this machine's
	if !slices.Equal(paths, made[:4]) {
		t.Errorf("sought in %q, want %q", paths, made[:4])
	}
	if !slices.Equal(versions, []string{"12"}) {
		t.Errorf("CUDA 12.4 has versions %q", versions)
	}
	if _, versions := cuda.Candidates("13.0"); !slices.Equal(versions, []string{"13", "12"}) {
		t.Errorf("CUDA 13.0 has versions %q", versions)
	}
	if _, versions := cuda.Candidates("9.2"); len(versions) > 0 {
		t.Errorf("CUDA 9.2 has versions %q", versions)
	}
	t.Setenv("H5DNN_CUDA_LIBS", root+"/own")
	if paths, _ := cuda.Candidates("12.4"); !slices.Equal(paths, made[4:]) {
		t.Errorf("sought in %q, want %q", paths, made[4:])
	}
}

// A lie is a layout of a (rows, columns) matrix.
type lie struct {
	name         string
	down, across func(rows, columns int) int
}

var lies = []lie{
	{"by rows", func(_, n int) int { return n }, func(_, _ int) int { return 1 }},
	{"by columns", func(_, _ int) int { return 1 }, func(m, _ int) int { return m }},
	{"by rows with gaps", func(_, n int) int { return n + 3 }, func(_, _ int) int { return 1 }},
	{"by columns with gaps", func(_, _ int) int { return 1 }, func(m, _ int) int { return m + 2 }},
	{"repeated", func(_, _ int) int { return 0 }, func(_, _ int) int { return 1 }},
	{"scattered", func(_, n int) int { return 2 * n }, func(_, _ int) int { return 2 }},
}

// seen returns a (2, rows, columns) array of that layout, from the given element of its
// memory on.
func (l lie) seen(t *testing.T, d storage.Device, e dtype.Type, r *rand.Rand, first, rows, columns int) (host, there storage.Array) {
	down, across := l.down(rows, columns), l.across(rows, columns)
	each := (rows-1)*down + (columns-1)*across + 1
	v := views.View{Offset: first, Shape: []int{2, rows, columns}, Stride: []int{each, down, across}}
	memory := of(first + 2*each).as(e).drawn(r)
	moved, err := memory.To(d)
	if err != nil {
		t.Fatal(err)
	}
	return memory.With(v), moved.With(v)
}

// TestMatricesOfEveryLayoutAreMultiplied tries Multiply with all types that it
// takes, transposes, gaps, batches, epilogues and places. Scattered matrices, matrices with repeated rows, and a
// bias for the columns of a column-major matrix must be left to kernels.
func TestMatricesOfEveryLayoutAreMultiplied(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Deferred)
	cudatest.UseLibraries(t, gpus[:]...)
	for _, e := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
		for _, x := range lies {
			for _, y := range lies {
				for _, z := range slices.DeleteFunc(slices.Clone(lies), func(l lie) bool { return l.name == "repeated" }) {
					for way := range 12 {
						t.Run(fmt.Sprintf("%v %s, %s, %s, %d", e, x.name, y.name, z.name, way), func(t *testing.T) {
							defer cudatest.Reset()
							multiplies(t, gpus[way%3%2], e, [3]lie{x, y, z}, way%3, 3-way/3)
						})
					}
				}
			}
		}
	}
}

func multiplies(t *testing.T, d *cuda.Device, e dtype.Type, lies [3]lie, epilogue, moved int) {
	var first [4]int
	first[moved] = 2 // which leaves that one matrix, of x, y and z, less aligned; or none
	const m, n, k = 5, 4, 3
	r := rand.New(rand.NewPCG(7, 8))
	hx, x := lies[0].seen(t, d, e, r, first[0], m, k)
	hy, y := lies[1].seen(t, d, e, r, first[1], k, n)
	hz, z := lies[2].seen(t, d, e, r, first[2], m, n)
	bias := of(n).as(e).drawn(r)
	there, err := bias.To(d)
	if err != nil {
		t.Fatal(err)
	}
	p := launch.Product{Type: e, M: m, N: n, K: k, Batches: 2, X: matrix(d, x), Y: matrix(d, y), Z: matrix(d, z), Relu: epilogue == 2}
	if epilogue > 0 {
		p.Bias = d.Address(there.Data)
	}
	done, err := d.Multiply(p)
	left := slices.ContainsFunc(lies[:], func(l lie) bool { return l.name == "scattered" || l.name == "repeated" }) || epilogue > 0 && (lies[2].down(m, n) == 1 || e == dtype.Float64)
	if cudatest.RealGPU() && err == nil && !done {
		t.Skip("the library leaves it to kernels")
	}
	if err != nil || done == left {
		t.Fatalf("done %v, %v; want it %v", done, err, !left)
	}
	if left {
		return
	}
	same(t, "product", z, product(t, hx, hy, hz, bias, epilogue), map[dtype.Type]float64{dtype.Float32: 1e-6, dtype.Float64: 1e-14, dtype.Float16: 2e-3, dtype.BFloat16: 2e-2}[e])
}

func matrix(d *cuda.Device, a storage.Array) launch.Matrix {
	return launch.Matrix{Address: d.Address(a.Data) + uint64(a.Offset*a.Type.Size()), Batch: a.Stride[0], Down: a.Stride[1], Across: a.Stride[2]}
}

// product returns x·y, with a bias unless epilogue is 0, and relu if it is 2, of z's type.
func product(t *testing.T, x, y, z, bias storage.Array, epilogue int) storage.Array {
	var all [3][]float64
	for i, a := range []storage.Array{x, y, bias} {
		var err error
		if all[i], err = storage.Read[float64](a); err != nil {
			t.Fatal(err)
		}
	}
	sums := make([]float64, z.Len())
	m, n, k := z.Shape[1], z.Shape[2], x.Shape[2]
	for i := range sums {
		batch, row, column := i/(m*n), i/n%m, i%n
		for j := range k {
			sums[i] += all[0][(batch*m+row)*k+j] * all[1][(batch*k+j)*n+column]
		}
		if epilogue > 0 {
			sums[i] += all[2][column]
		}
		if epilogue == 2 {
			sums[i] = max(sums[i], 0)
		}
	}
	return storage.From(sums, z.Shape...)
}

// TestTF32OnlyWhenAllowed holds float32 products to float32, and to
// the 10 bits of TF32 once that is allowed.
func TestTF32OnlyWhenAllowed(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	cudatest.UseLibraries(t, d)
	x, err := storage.From([]float32{1 + 1.0/2048 + 1.0/4096}, 1, 1).To(d)
	if err != nil {
		t.Fatal(err)
	}
	one, err := storage.From([]float32{1}, 1, 1).To(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		allow bool
		want  float32
	}{{false, 1 + 1.0/2048 + 1.0/4096}, {true, 1 + 1.0/1024}, {false, 1 + 1.0/2048 + 1.0/4096}} {
		d.AllowTF32(c.allow)
		z := numbers(t, d, 1).With(views.Of(1, 1))
		if err := d.Run(kernels.MatMul, &kernels.Call{Out: []storage.Array{z}, In: []storage.Array{x, one}}); err != nil {
			t.Fatal(err)
		}
		if got, err := storage.Read[float32](z); err != nil || got[0] != c.want {
			t.Errorf("allowed %v: %v, %v; want %v", c.allow, got, err, c.want)
		}
	}
}

// TestKernelsReplaceUnsupportedLibraryCalls tries problems that the fakes have no algorithm
// for, or one that fails, twice, because the choice is cached, and libraries turned off.
func TestKernelsReplaceUnsupportedLibraryCalls(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	cudatest.UseLibraries(t, d)
	for _, c := range []struct {
		entry, asked string
		trial        trial
	}{
		{"product_thin_f32", "cublasLtMatmulAlgoGetHeuristic", trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 13), of(13, 6)), 1e-4}},
		{"product_thin_f32", "cublasLtMatmulAlgoGetHeuristic", trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 17), of(17, 6)), 1e-4}},
		{"conv_thin_f32", "cudnnGetConvolutionAlgorithm", trial{kernels.Conv, kernels.ConvOptions{}, list(of(2, 3, 4, 4)), list(of(2, 2, 8, 6), of(3, 2, 5, 3)), 1e-4}},
		{"conv_thin_f32", "cudnnGetConvolutionAlgorithm", trial{kernels.Conv, kernels.ConvOptions{}, list(of(2, 3, 2, 4)), list(of(2, 2, 8, 6), of(3, 2, 7, 3)), 1e-4}},
	} {
		for range 2 {
			if n := launches(c.entry, func() { c.trial.agrees(t, d) }); n != 1 {
				t.Errorf("%v: %d launches of %s, want 1", c.trial, n, c.entry)
			}
		}
		if n := launches(c.asked, func() { c.trial.agrees(t, d) }); n != 0 {
			t.Errorf("%v: the library is asked %d times for what it does not do, want once", c.trial, n)
		}
	}
	empty := trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 0), of(0, 6)), 0}
	empty.agrees(t, d)
	d.UseLibraries(false)
	off := trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 5), of(5, 6)), 1e-4}
	if n := launches("cublasLtMatmul", func() { off.agrees(t, d) }); n != 0 {
		t.Errorf("%d calls of a library that is turned off", n)
	}
}

// TestImagesTooLargeForLibraries to kernels: cuDNN's tensors, filters among
// them, have less than 2^31 elements.
func TestImagesTooLargeForLibraries(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	cudatest.UseLibraries(t, d)
	image := func(size ...int) launch.Image {
		i := launch.Image{Rank: 4}
		copy(i.Size[:], size)
		copy(i.Stride[:], views.Of(size...).Stride)
		return i
	}
	const wide = 1 << 16
	for _, c := range []launch.Convolution{
		{X: image(1, wide, 1, 1), W: image(wide, wide, 1, 1), Y: image(1, wide, 1, 1)},
		{X: image(wide, 1, 1, wide), W: image(1, 1, 1, 1), Y: image(wide, 1, 1, wide)},
	} {
		c.Type, c.Groups, c.Stride, c.Dilation = dtype.Float32, 1, [3]int{1, 1}, [3]int{1, 1}
		if done, err := d.Convolve(c); done || err != nil {
			t.Errorf("%v by %v: done %v, %v", c.X.Size, c.W.Size, done, err)
		}
	}
}

// TestConvolveImagesOfBothLayouts tries Convolve with all types that it takes, for each
// operand, and expects images of different layouts to be left to kernels.
func TestConvolveImagesOfBothLayouts(t *testing.T) {
	byLibraries(t, func(t *testing.T, gpus [2]*cuda.Device) {
		for _, e := range []dtype.Type{dtype.Float32, dtype.Float16, dtype.BFloat16} {
			tolerance := map[dtype.Type]float64{dtype.Float32: 1e-4, dtype.Float16: 1e-2, dtype.BFloat16: 1e-1}[e]
			for _, order := range []struct {
				name string
				x, y func(spec) spec
			}{{"row-major", spec.rowMajor, spec.rowMajor}, {"channels-last", spec.channelsLast, spec.channelsLast}, {"mixed", spec.rowMajor, spec.channelsLast}} {
				for _, g := range []struct {
					x, w, y spec
					set     kernels.ConvOptions
				}{
					{of(2, 3, 6, 5), of(4, 3, 3, 2), of(2, 4, 3, 4), kernels.ConvOptions{Stride: [3]int{2, 1}, Padding: kernels.Pad(1, 0)}},
					{of(2, 4, 9), of(6, 2, 3), of(2, 6, 5), kernels.ConvOptions{Groups: 2, Dilation: [3]int{2}}},
					{of(1, 2, 4, 5, 3), of(4, 2, 2, 3, 2), of(1, 4, 2, 3, 4), kernels.ConvOptions{Stride: [3]int{2, 1, 1}, Padding: kernels.Pad(0, 0, 1)}},
				} {
					set, b := g.set, of(g.w.shape[0]).as(e)
					x, w, y := order.x(g.x.as(e)), g.w.as(e), order.y(g.y.as(e))
					relu := set
					relu.Act = kernels.ReLUActivation
					want := 1
					if order.name == "mixed" {
						want = 0
					}
					for name, c := range map[string]trial{
						"cudnnConvolutionForward":               {kernels.Conv, set, list(y), list(x, w, b), tolerance},
						"cudnnConvolutionBiasActivationForward": {kernels.Conv, relu, list(y), list(x, w, b), tolerance},
						"cudnnConvolutionBackwardData":          {kernels.ConvGradX, set, list(x), list(y, w), tolerance},
						"cudnnConvolutionBackwardFilter":        {kernels.ConvGradW, set, list(w, b), list(x, y), tolerance},
					} {
						t.Run(fmt.Sprintf("%v %s %s %v", e, order.name, name, g.x.shape), func(t *testing.T) {
							defer cudatest.Reset()
							if n := launches(name, func() { c.agrees(t, gpus[0]) }); n != want && !cudatest.RealGPU() {
								t.Errorf("%d calls, want %d", n, want)
							}
						})
					}
				}
			}
		}
	})
}

// TestLibraryCallsAreCaptured captures a product and a convolution with copied weights,
// after running them once, and expects each replay to compute again.
func TestLibraryCallsAreCaptured(t *testing.T) {
	byLibraries(t, func(t *testing.T, gpus [2]*cuda.Device) {
		for _, c := range []trial{
			{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 5), of(5, 6)), 1e-4},
			{kernels.Conv, kernels.ConvOptions{}, list(of(2, 3, 4, 4).channelsLast()), list(of(2, 2, 6, 6).channelsLast(), of(3, 2, 3, 3)), 1e-4},
		} {
			d := gpus[0]
			host, there := c.call(t, d)
			if err := c.k.Reference(&host); err != nil {
				t.Fatal(err)
			}
			work := func() error { return d.Run(c.k, &there) }
			if err := work(); err != nil {
				t.Fatal(err)
			}
			replay, err := d.Capture(kernels.ByData, work)
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			for range 2 {
				if err := d.Run(kernels.Fill, &kernels.Call{Out: there.Out, Options: kernels.FillOptions{Value: 7}}); err != nil {
					t.Fatal(err)
				}
				if err := replay.Replay(); err != nil {
					t.Fatal(err)
				}
				same(t, c.String(), there.Out[0], host.Out[0], c.tolerance)
			}
			if err := replay.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLaunchConfigurationsDoNotReachLibraries, which have their own.
func TestLaunchConfigurationsDoNotReachLibraries(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	cudatest.UseLibraries(t, d)
	c := trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 5), of(5, 6)), 1e-4}
	_, there := c.call(t, d)
	there.Geometry = launch.Geometry{Threads: 64}
	if n := launches("cublasLtMatmul", func() {
		if err := errors.Join(d.Run(c.k, &there), d.Sync()); err != nil {
			t.Error(err)
		}
	}); n != 1 {
		t.Errorf("%d calls of the library, want 1", n)
	}
}

// TestProfilesCountLibrariesOnce counts a product and a convolution, and not what a
// library did not do.
func TestProfilesCountLibrariesOnce(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	cudatest.UseLibraries(t, d)
	p := d.Profile()
	trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 5), of(5, 6)), 1e-4}.agrees(t, d)
	trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 13), of(13, 6)), 1e-4}.agrees(t, d)
	trial{kernels.Conv, kernels.ConvOptions{}, list(of(2, 3, 4, 4)), list(of(2, 2, 6, 6), of(3, 2, 3, 3)), 1e-4}.agrees(t, d)
	p.Stop()
	got := map[string]int{}
	for _, r := range p.Rows() {
		if r.Activity == "launch" {
			got[r.Name] = r.Count
		}
	}
	if want := map[string]int{"cuBLASLt": 1, "cuDNN": 1, "product_thin_f32": 1}; !maps.Equal(got, want) {
		t.Errorf("launches %v; want %v", got, want)
	}
}

// TestLibrariesInitializeAfterOutOfMemory: that there was none once is no reason to fail ever after.
func TestLibrariesInitializeAfterOutOfMemory(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Eager)[1]
	cudatest.UseLibraries(t, d)
	c := trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 5), of(5, 6)), 1e-4}
	_, there := c.call(t, d)
	cuda.Unstart(d)
	if _, err := d.Capture(kernels.ByData, func() error { return d.Run(c.k, &there) }); err == nil || !strings.Contains(err.Error(), "cuBLASLt") {
		t.Errorf("error %v; want one about cuBLASLt's workspace", err)
	}
	if n := launches("cublasLtMatmul", func() { c.agrees(t, d) }); n != 1 {
		t.Errorf("%d products by the library, want 1", n)
	}
}

// TestBiasGradientsAreEpilogues has cuBLASLt add up a bias's gradient with the product that is the weights', whichever
// of its factors the gradient of the output is, and own kernels where it has no algorithm.
func TestBiasGradientsAreEpilogues(t *testing.T) {
	byLibraries(t, func(t *testing.T, gpus [2]*cuda.Device) {
		x, dy, dw, db := of(12, 8), of(12, 6), of(6, 8), of(6)
		for _, c := range []struct {
			trial
			sums int // launches of own reductions
		}{
			{trial{kernels.LinearGradW, nil, list(dw, db), list(x, dy), 1e-4}, 0},
			{trial{kernels.LinearGradW, nil, list(dw.transposed(), db), list(x, dy), 1e-4}, 0},
			{trial{kernels.LinearGradW, nil, list(dw, db), list(x, dy.transposed()), 1e-4}, 0},
			{trial{kernels.LinearGradW, nil, list(dw.as(dtype.BFloat16), db.as(dtype.BFloat16)), list(x.as(dtype.BFloat16), dy.as(dtype.BFloat16)), 3e-2}, 0},
			{trial{kernels.LinearGradW, nil, list(dw, db), list(of(13, 8), of(13, 6)), 1e-4}, 1}, // this fake has no algorithm for 13
		} {
			var products, sums int
			before := cudatest.LaunchCounts()
			products = launches("cublasLtMatmul", func() { c.agrees(t, gpus[0]) })
			for entry, n := range cudatest.LaunchCounts() {
				if strings.HasPrefix(entry, "sum") {
					sums += n - before[entry]
				}
			}
			if want := 1 - c.sums; !cudatest.RealGPU() && (products != want || sums != c.sums) {
				t.Errorf("%v: %d products by cuBLASLt, %d own sums; want %d and %d", c, products, sums, want, c.sums)
			}
		}
	})
}

// TestReLUMasksAreEpilogues has cuBLASLt write the mask of a product and a ReLU, and apply it to the product that is the
// gradient of its result, in one launch each. For inner dimension 19 the fake supports no masks: the product of that
// dimension is computed without one, and the gradient of the ReLU by an own kernel.
func TestReLUMasksAreEpilogues(t *testing.T) {
	byLibraries(t, func(t *testing.T, gpus [2]*cuda.Device) {
		for _, e := range []dtype.Type{dtype.Float32, dtype.Float16, dtype.BFloat16} {
			tolerance := map[dtype.Type]float64{dtype.Float32: 1e-4, dtype.Float16: 1e-2, dtype.BFloat16: 1e-1}[e]
			for _, c := range []struct {
				in, hidden, out int
				bias            bool
				masked          [2]bool // the product, and the gradient
			}{
				{5, 6, 3, true, [2]bool{true, true}},
				{5, 6, 3, false, [2]bool{true, true}},
				{8, 130, 7, true, [2]bool{true, true}},
				{3, 1, 2, true, [2]bool{true, true}},
				{19, 6, 3, true, [2]bool{false, false}},
				{5, 6, 19, true, [2]bool{true, false}},
			} {
				t.Run(fmt.Sprintf("%v %d to %d to %d, bias %v", e, c.in, c.hidden, c.out, c.bias), func(t *testing.T) {
					defer cudatest.Reset()
					forward := trial{kernels.Linear, nil, list(of(9, c.hidden).as(e)), list(of(9, c.in).as(e), of(c.hidden, c.in).as(e), of(c.hidden).as(e)), tolerance}
					if !c.bias {
						forward.in = forward.in[:2]
					}
					d := gpus[0]
					mask := newMask(t, d, 9, c.hidden, e)
					hostY, y := agreesMasked(t, d, forward, kernels.LinearOptions{Act: kernels.ReLUActivation, Mask: mask}, nil, "relu", c.masked[0])
					if mask.Written != c.masked[0] && !cudatest.RealGPU() {
						t.Errorf("mask written %v, want %v", mask.Written, c.masked[0])
					}
					backward := trial{kernels.LinearGradX, nil, list(of(9, c.hidden).as(e)), list(of(9, c.out).as(e), of(c.out, c.hidden).as(e), of(9, c.hidden).as(e)), tolerance}
					options := kernels.LinearGradXOptions{Act: kernels.ReLUActivation, Mask: mask}
					agreesMasked(t, d, backward, options, []storage.Array{hostY, y}, "relu_grad", c.masked[1])
					if !c.masked[1] || cudatest.RealGPU() && !mask.Written {
						return
					}
					zero := kernels.Call{Out: []storage.Array{mask.Bits}, Options: kernels.FillOptions{}}
					if err := d.Run(kernels.Fill, &zero); err != nil {
						t.Fatal(err)
					}
					_, there := backward.call(t, d)
					there.In[2], there.Options = y, options
					if err := d.Run(kernels.LinearGradX, &there); err != nil {
						t.Fatal(err)
					}
					same(t, "gradient by a mask of zeros", there.Out[0], storage.From(make([]float32, 9*c.hidden), 9, c.hidden), 1e-9)
				})
			}
		}
		declined := slices.ContainsFunc(gpus[0].LibraryChoices(), func(c cuda.LibraryChoice) bool {
			return strings.Contains(c.Problem, "gradient of relu by its mask") && c.Declined != ""
		})
		if !declined && !cudatest.RealGPU() {
			t.Errorf("choices %+v do not say that masks were declined", gpus[0].LibraryChoices())
		}
	})
}

// newMask allocates the mask of a (rows, columns) result.
func newMask(t *testing.T, d *cuda.Device, rows, columns int, e dtype.Type) *kernels.ReLUMask {
	t.Helper()
	v, ok := kernels.ReLUMaskView(d, e, views.Of(rows, columns))
	if !ok {
		t.Fatalf("%v writes no masks", d)
	}
	data, err := d.Alloc(v.Len())
	if err != nil {
		t.Fatal(err)
	}
	return &kernels.ReLUMask{Bits: storage.Array{Data: data, Type: dtype.Uint8, View: v}}
}

// agreesMasked runs a trial by cuBLASLt, with the given last input on the host and on d unless it is nil, and compares its result
// with the reference. It expects no launch of an own entry if the library takes the mask, and else one of a gradient only.
func agreesMasked(t *testing.T, d *cuda.Device, c trial, options any, last []storage.Array, entry string, takes bool) (host, there storage.Array) {
	t.Helper()
	c.set = options
	reference, call := c.call(t, d)
	if last != nil {
		n := len(call.In) - 1
		reference.In[n], call.In[n] = last[0], last[1]
	}
	reference.Options = withoutMask(options)
	before := cudatest.LaunchCounts()
	if err := errors.Join(c.k.Reference(&reference), d.Run(c.k, &call), d.Sync()); err != nil {
		t.Fatal(err)
	}
	own, products := 0, 0
	for name, n := range cudatest.LaunchCounts() {
		switch n -= before[name]; {
		case name == "cublasLtMatmul":
			products += n
		case strings.HasPrefix(name, entry):
			own += n
		}
	}
	want := 0
	if !takes && entry == "relu_grad" {
		want = 1
	}
	if (products != 1 || own != want) && !cudatest.RealGPU() {
		t.Errorf("%v: %d products by cuBLASLt and %d launches of %s; want 1 and %d", c, products, own, entry, want)
	}
	same(t, c.String(), call.Out[0], reference.Out[0], c.tolerance)
	return reference.Out[0], call.Out[0]
}

// withoutMask returns options as they are on the CPU.
func withoutMask(options any) any {
	switch o := options.(type) {
	case kernels.LinearOptions:
		o.Mask = nil
		return o
	case kernels.LinearGradXOptions:
		o.Mask = nil
		return o
	}
	return options
}
