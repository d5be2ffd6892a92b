package cuda_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/cuda/ptx"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func testdata(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run returns the result of a function of x, in an array like x.
func run(t *testing.T, f cuda.Function, d *cuda.Device, x storage.Array) ([]float64, error) {
	t.Helper()
	y, err := storage.Make(d, x.Type, x.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(f.Kernel("own"), &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x}}); err != nil {
		return nil, err
	}
	return storage.Read[float64](y)
}

func TestProgramsRunInEveryType(t *testing.T) {
	softsign := cuda.Function{Program: cuda.PTX("softsign.ptx", testdata(t, "softsign.ptx")), Entry: "softsign_%v"}
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		for _, d := range gpus {
			for _, n := range []int{0, 1, 1000, 70000} {
				x := numbers(t, d, n)
				want, err := storage.Read[float32](x)
				if err != nil {
					t.Fatal(err)
				}
				got, err := run(t, softsign, d, x)
				if err != nil || len(got) != n {
					t.Fatalf("%d elements, %v; want %d", len(got), err, n)
				}
				for i, x := range want {
					if float32(got[i]) != x/(1+max(x, -x)) {
						t.Fatalf("element %d of %v is %v", i, x, got[i])
					}
				}
			}
			double, err := storage.From([]float64{9, -3, 0, 1}, 4).To(d)
			if err != nil {
				t.Fatal(err)
			}
			double = double.With(views.View{Offset: 1, Shape: []int{3}, Stride: []int{1}})
			if got, err := run(t, softsign, d, double); err != nil || !slices.Equal(got, []float64{-0.75, 0, 0.5}) {
				t.Errorf("%v, %v", got, err)
			}
		}
	})
}

// TestProgramsRunOnOtherStreams than the device's own.
func TestProgramsRunOnOtherStreams(t *testing.T) {
	softsign := cuda.Function{Program: cuda.PTX("softsign.ptx", testdata(t, "softsign.ptx")), Entry: "softsign_%v"}.Kernel("own")
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		x, y := ones(t, d, 100), numbers(t, d, 100)
		side, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		if n := launches("softsign_float32", func() {
			if err := errors.Join(d.Sync(), side.Run(softsign, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x}}), side.Sync(), side.Close()); err != nil {
				t.Fatal(err)
			}
		}); n != 1 && !cudatest.RealGPU() {
			t.Errorf("it ran %d times until the stream was waited for, want once", n)
		}
		if got := first(t, y); got != 0.5 {
			t.Errorf("%v, want 0.5", got)
		}
	})
}

// TestArgumentsAreCheckedAgainstTheEntry holds arguments to the sizes that the code declares,
// and passes those of one byte as well.
func TestArgumentsAreCheckedAgainstTheEntry(t *testing.T) {
	cudatest.TwoDevices(t)
	gpus := cudatest.Devices(t, cudatest.Deferred)
	d, there := gpus[0], gpus[1]
	program := cuda.PTX("softsign.ptx", testdata(t, "softsign.ptx"))
	x := numbers(t, d, 4)
	with := func(args ...any) cuda.Function {
		return cuda.Function{Program: program, Entry: "ramp", Args: func(c *kernels.Call) []any { return append([]any{c.Out[0]}, args...) },
			Grid: func(*kernels.Call) cuda.Grid {
				return cuda.Grid{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{4, 1, 1}}
			}}
	}
	if got, err := run(t, with(float32(0.5), int32(-2), uint8(3)), d, x); err != nil || !slices.Equal(got, []float64{-1, 0.5, 2, 3.5}) {
		t.Errorf("%v, %v", got, err)
	}
	for want, f := range map[string]cuda.Function{
		"entry ramp takes parameters of [8 4 4 1] bytes, not of [8 4 4]":                                                      with(float32(0.5), int32(-2)),
		"entry ramp takes parameters of [8 4 4 1] bytes, not of [8 8 4 1]":                                                    with(0.5, int32(-2), uint8(3)),
		"argument 2 is a int; want":                                                                                           with(float32(0.5), -2, uint8(3)),
		"softsign.ptx has no entry softsine_float32; it has ramp, softsign_float32, softsign_float64, softsign_slope_float32": {Program: program, Entry: "softsine_%v"},
		"argument 1: float32[4] on cuda:1 is not on cuda:0":                                                                   with(numbers(t, there, 4), int32(-2), uint8(3)),
		"argument 1: float32[4] on cpu is not on cuda:0":                                                                      with(numbers(t, storage.CPU, 4), int32(-2), uint8(3)),
		"argument 1: float32[4] nowhere is not on":                                                                            with(storage.Array{Type: x.Type, View: x.View}, int32(-2), uint8(3)),
		"bad.ptx: compile PTX":                                                                                                {Program: cuda.PTX("bad.ptx", "nonsense"), Entry: "ramp"},
		"launch softsign_float32: invalid": {Program: program, Entry: "softsign_%v", Grid: func(*kernels.Call) cuda.Grid {
			return cuda.Grid{Blocks: [3]uint32{1 << 16, 1 << 15, 2}, Threads: [3]uint32{4096, 1, 1}} // 2³² blocks, which are not none
		}},
	} {
		if _, err := run(t, f, d, x); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "own: ") {
			t.Errorf("error %v; want %q", err, want)
		}
		cudatest.Reset()
	}
}

// TestLaunchesSetDynamicSharedMemory: without the attribute a kernel has 48 KiB.
func TestLaunchesSetDynamicSharedMemory(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	x := numbers(t, d, 4)
	for _, shared := range []uint32{0, 48 << 10, 100 << 10, 300 << 10} {
		f := cuda.Function{Program: cuda.PTX("softsign.ptx", testdata(t, "softsign.ptx")), Entry: "softsign_%v", Grid: func(*kernels.Call) cuda.Grid {
			return cuda.Grid{Blocks: [3]uint32{1, 1, 1}, Threads: [3]uint32{4, 1, 1}, Shared: shared}
		}}
		if _, err := run(t, f, d, x); (err == nil) != (shared < 227<<10) {
			t.Errorf("%d bytes: %v", shared, err)
		}
	}
}

func TestProgramsRefuseOperands(t *testing.T) {
	cudatest.TwoDevices(t)
	gpus := cudatest.Devices(t, cudatest.Eager)
	softsign := cuda.Function{Program: cuda.PTX("softsign.ptx", testdata(t, "softsign.ptx")), Entry: "softsign_%v"}
	x, there := numbers(t, gpus[0], 6), numbers(t, gpus[1], 6)
	outside, step, repeated := x.With(views.Of(7)), x.With(views.View{Shape: []int{3}, Stride: []int{2}}), x.With(views.View{Shape: []int{6}, Stride: []int{0}})
	for want, c := range map[string]kernels.Call{
		"input 0: float32[6] on cuda:1 is not on cuda:0":                               {Out: []storage.Array{x}, In: []storage.Array{there}},
		"output 0: float32[7] on cuda:0 reaches outside the 6 elements of its storage": {Out: []storage.Array{outside}, In: []storage.Array{x}},
		"has strides [2]":                        {Out: []storage.Array{numbers(t, gpus[0], 3)}, In: []storage.Array{step}},
		"output 0: elements of [6] share memory": {Out: []storage.Array{repeated}, In: []storage.Array{x}},
		"input 1: no storage":                    {Out: []storage.Array{x}, In: []storage.Array{x, {Type: x.Type, View: x.View}}},
		"no outputs":                             {In: []storage.Array{x}},
	} {
		if err := gpus[0].Run(softsign.Kernel("own"), &c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	host := numbers(t, storage.CPU, 6)
	if err := kernels.CPU.Run(softsign.Kernel("own"), &kernels.Call{Out: []storage.Array{host}, In: []storage.Array{host}}); !errors.Is(err, storage.ErrDevice) {
		t.Errorf("on the cpu: %v; want one that says that it has no side there", err)
	}
}

// compiled skips the test where NVRTC is missing.
func compiled(t *testing.T) {
	t.Helper()
	l := cuda.Libraries()[2]
	if l.Missing != nil && strings.HasPrefix(l.Missing.Error(), "not found") {
		t.Skipf("%s is not installed: its Python wheel would do, in the environment that VIRTUAL_ENV names", l.Name)
	}
	if l.Missing != nil {
		t.Fatal(l.Missing)
	}
}

// TestSourcesAreCompiled by NVRTC, and run by the interpreter.
func TestSourcesAreCompiled(t *testing.T) {
	compiled(t)
	gpus := cudatest.Devices(t, cudatest.Deferred)
	source := cuda.CUDA("softsign.cu", testdata(t, "softsign.cu"), "--fmad=false")
	for _, d := range gpus {
		x := numbers(t, d, 1000)
		want, err := run(t, cuda.Function{Program: cuda.PTX("softsign.ptx", testdata(t, "softsign.ptx")), Entry: "softsign_%v"}, d, x)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run(t, cuda.Function{Program: source, Entry: "softsign_%v"}, d, x); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got[:3], err, want[:3])
		}
	}
	text, err := cuda.Compile("softsign.cu", testdata(t, "softsign.cu"), 80)
	if err != nil || !strings.Contains(text, ".target sm_80") {
		t.Errorf("%v in %.100s", err, text)
	}
}

var nvrtc = flag.Bool("nvrtc", false, "have NVRTC compile all kernels, which takes a minute")

// TestNVRTCCompilesAllKernels to PTX that the interpreter understands. NVRTC 12 takes generic lambdas for
// functions of the host unless it is told otherwise.
func TestNVRTCCompilesAllKernels(t *testing.T) {
	if !*nvrtc {
		t.Skip("takes a minute; make nvrtc does it")
	}
	compiled(t)
	folder, err := filepath.Abs("../kernels/device")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(folder + "/*.cu")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := cuda.Compile(filepath.Base(file), string(source), 80, "--std=c++17", "--fmad=false", "--device-as-default-execution-space", "-I"+folder, "-I"+filepath.Join(filepath.Dir(folder), "native"))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := ptx.Parse(text); err != nil {
			t.Errorf("%s by NVRTC: %v", filepath.Base(file), err)
		}
	}
}

// TestSourcesMayUseWarpShuffles, and halves of them.
func TestSourcesMayUseWarpShuffles(t *testing.T) {
	compiled(t)
	const source = `extern "C" __global__ void halves(double *y, const double *x, long long n) {
	float sum = threadIdx.x < n ? (float)x[threadIdx.x] : 0.f;
	for (int by = 8; by > 0; by /= 2)
		sum += __shfl_down_sync(~0u, sum, by, 16);
	sum = __shfl_sync(~0u, sum, 0, 16) + __shfl_up_sync(~0u, threadIdx.x, 1, 16);
	if (threadIdx.x < n)
		y[threadIdx.x] = sum;
}
`
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		f := cuda.Function{Program: cuda.CUDA("halves.cu", source), Entry: "halves"}
		in, want := make([]float64, 64), make([]float64, 64)
		for i := range in {
			first := i / 16 * 16
			in[i], want[i] = float64(i), float64(16*first+120+max(first, i-1)) // 120 = 0 + … + 15
		}
		x, err := storage.From(in, 64).To(gpus[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run(t, f, gpus[0], x); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	})
}

func TestCompilerMessagesAreReturned(t *testing.T) {
	compiled(t)
	d := cudatest.Devices(t, cudatest.Eager)[0]
	bad := cuda.Function{Program: cuda.CUDA("bad.cu", "extern \"C\" __global__ void f(float *y) {\n\ty[0] = frobnicate(1);\n}\n"), Entry: "f"}
	if _, err := run(t, bad, d, numbers(t, d, 1)); err == nil || !strings.Contains(err.Error(), `bad.cu(2): error: identifier "frobnicate" is undefined`) {
		t.Errorf("error %v; want one with the file, the line and what the compiler says", err)
	}
	if _, err := cuda.Compile("old.cu", "", 10); err == nil || !strings.Contains(err.Error(), "compile old.cu: ") {
		t.Errorf("error %v; want one about the architecture", err)
	}
}
