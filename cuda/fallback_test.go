package cuda_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// withFaults runs tests of this package in a process with faults, and returns what it prints.
func withFaults(t *testing.T, faults, tests string) (said string, err error) {
	t.Helper()
	cudatest.FakeOnly(t)
	c := exec.Command(os.Args[0], "-test.v", "-test.run", tests)
	c.Env = append(os.Environ(), "H5DNN_TEST_FAULTS="+faults)
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestFeaturesMayBeRefused runs other tests with drivers that lack or refuse features, and
// expects a sentence about each.
func TestFeaturesMayBeRefused(t *testing.T) {
	cudatest.FakeOnly(t)
	const (
		memory = "TestKernelsRunInOrder|TestGraphsReplay|TestUploadsOfAnySize|TestStreamsWaitForTheWorkspace|TestMemoryIsReused"
		graphs = "TestGraphsReplay|TestGraphsForkAndJoin|TestCapturedCallsKeepDataDependencies|TestGraphsRetainWhatTheyUse"
	)
	for _, c := range []struct{ faults, tests, want string }{
		{"cuMemPoolCreate=801", memory, "memory pools are refused: create a memory pool: operation not supported (CUDA_ERROR_NOT_SUPPORTED, 801)"},
		{"cuMemAllocFromPoolAsync=missing", memory, "memory pools are refused: the driver has no cuMemAllocFromPoolAsync"},
		{"cuStreamGetCaptureInfo_v2=801", graphs, "one after another, because its dependencies cannot be edited: query a capture: operation not supported"},
		{"cuStreamUpdateCaptureDependencies=missing", graphs, "edited: the driver has no cuStreamUpdateCaptureDependencies"},
	} {
		t.Run(c.faults, func(t *testing.T) {
			t.Parallel()
			said, err := withFaults(t, c.faults, "^("+c.tests+"|TestFallbacks)$")
			if err != nil || !strings.Contains(said, c.want) || !strings.Contains(said, "--- PASS: TestGraphsReplay") {
				t.Errorf("%v; want %q in\n%s", err, c.want, said)
			}
		})
	}
}

// TestFallbacks logs the sentences; without faults, there are none.
func TestFallbacks(t *testing.T) {
	all := cudatest.Devices(t, cudatest.Deferred)[0].Fallbacks()
	t.Log(strings.Join(all, "\n"))
	if len(all) > 0 && os.Getenv("H5DNN_TEST_FAULTS") == "" && !cudatest.RealGPU() {
		t.Errorf("%q; want none", all)
	}
}

// TestMemoryIsReused allocates more memory than the device has, in parts that become garbage.
func TestMemoryIsReused(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	held, _ := d.Allocated()
	cudatest.LimitMemory(t, d, held+8<<20)
	for i := range 20 {
		x, err := storage.Make(d, dtype.Uint8, 1<<20)
		if err != nil {
			t.Fatalf("array %d: %v", i, err)
		}
		if err := d.Run(kernels.Fill, &kernels.Call{Out: []storage.Array{x}, Options: kernels.FillOptions{Value: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Sync(); err != nil {
		t.Error(err)
	}
}

// TestGraphsNeedTheDriver: a driver without graphs says so.
func TestGraphsNeedTheDriver(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	cudatest.InjectFault(t, "cuGraphLaunch", "missing")
	if _, err := d.Capture(kernels.ByData, func() error { return nil }); err == nil || !strings.Contains(err.Error(), "the driver has no cuGraphLaunch") {
		t.Errorf("error %v; want one that names cuGraphLaunch", err)
	}
}

// TestBranchesMayBeRefused during a capture, by drivers that allowed them at first: the next
// graph is a straight line, and it is said why. Work that fails is not the driver's refusal.
func TestBranchesMayBeRefused(t *testing.T) {
	cudatest.FakeOnly(t)
	for function, want := range map[string]string{
		"cuStreamGetCaptureInfo_v2":         "query a capture: operation not supported",
		"cuStreamUpdateCaptureDependencies": "set the dependencies of a capture: operation not supported",
		"cuGraphInstantiateWithFlags":       "instantiate a graph: operation not supported",
	} {
		t.Run(function, func(t *testing.T) {
			d := cudatest.Devices(t, cudatest.Deferred)[1]
			x, y, one := ones(t, d, 1), ones(t, d, 1), ones(t, d, 1)
			beside := func() error { return errors.Join(add(d, x, one), add(d, y, one)) }
			if _, err := d.Capture(kernels.ByData, func() error { return errors.Join(d.Sync(), beside()) }); err == nil || len(d.Fallbacks()) > 0 {
				t.Fatalf("error %v, without %q; want an error only", err, d.Fallbacks())
			}
			t.Cleanup(func() { cuda.AllowBranches(d); cuda.ClearFallbacks(d) })
			t.Run("refused", func(t *testing.T) {
				cudatest.InjectFault(t, function, "801")
				if _, err := d.Capture(kernels.ByData, beside); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v; want %q", err, want)
				}
			})
			if all := d.Fallbacks(); len(all) != 1 || !strings.HasPrefix(all[0], "the kernels of a graph run one after another, because the driver refuses concurrent ones: ") || !strings.Contains(all[0], want) {
				t.Errorf("%q; want that branches are refused: %s", all, want)
			}
			g, err := d.Capture(kernels.ByData, beside)
			if err != nil {
				t.Fatal(err)
			}
			if calls, deep := g.Depth(); calls != 2 || deep != 2 {
				t.Errorf("%d calls, %d one after another; want 2 and 2", calls, deep)
			}
			if err := errors.Join(g.Replay(), g.Close()); err != nil {
				t.Error(err)
			}
			if got := first(t, x); got != 2 {
				t.Errorf("got %v; want 2", got)
			}
		})
	}
}

// TestLibrariesMayFail plants faults in libraries, and expects own kernels to compute and a
// sentence that says why.
func TestLibrariesMayFail(t *testing.T) {
	product := trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, 5), of(5, 6)), 1e-4}
	convolution := trial{kernels.Conv, kernels.ConvOptions{}, list(of(2, 3, 4, 4)), list(of(2, 2, 6, 6), of(3, 2, 3, 3)), 1e-4}
	for _, c := range []struct {
		function, entry, want string
		trial                 trial
	}{
		{"cublasLtCreate", "product_thin_f32", "products of matrices are computed by own kernels, because cuBLASLt 12.3.4 cannot be used: override: start: CUBLAS_STATUS_INVALID_VALUE (7)", product},
		{"cudnnCreate", "conv_thin_f32", "convolutions are computed by own kernels, because cuDNN 9.2.3 cannot be used: override: start:", convolution},
		{"cublasLtMatmul", "product_thin_f32", "some products of matrices are computed by own kernels, because cuBLASLt 12.3.4 failed: multiply: CUBLAS_STATUS_INVALID_VALUE (7)", product},
		{"cudnnConvolutionForward", "conv_thin_f32", "some convolutions are computed by own kernels, because cuDNN 9.2.3 failed: convolve:", convolution},
	} {
		t.Run(c.function, func(t *testing.T) {
			d := cudatest.Devices(t, cudatest.Deferred)[1]
			cudatest.UseLibraries(t, d)
			cuda.Unstart(d)
			t.Cleanup(func() { cuda.Unstart(d); cuda.ClearFallbacks(d) })
			cuda.Libraries() // loads them
			cudatest.InjectFault(t, c.function, "7")
			for range 2 {
				if n := launches(c.entry, func() { c.trial.agrees(t, d) }); n != 1 {
					t.Errorf("%d launches of %s, want 1", n, c.entry)
				}
			}
			if all := d.Fallbacks(); len(all) != 1 || !strings.HasPrefix(all[0], c.want) {
				t.Errorf("%q; want %q", all, c.want)
			}
		})
	}
}

// TestUnusableLibrariesAreNamed: a library that lacks a function is not used.
func TestUnusableLibrariesAreNamed(t *testing.T) {
	cudatest.FakeOnly(t)
	said, err := withFaults(t, "cudnnSetStream=missing", "^TestConvolutionsWithoutTheLibrary$")
	if want := "because cuDNN cannot be used: override: has no cudnnSetStream"; err != nil || !strings.Contains(said, want) {
		t.Errorf("%v; want %q in\n%s", err, want, said)
	}
}

// TestConvolutionsWithoutTheLibrary runs in a process of TestUnusableLibrariesAreNamed.
func TestConvolutionsWithoutTheLibrary(t *testing.T) {
	if os.Getenv("H5DNN_TEST_FAULTS") == "" {
		t.Skip("runs in a process of TestUnusableLibrariesAreNamed")
	}
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	cudatest.UseLibraries(t, d)
	trial{kernels.Conv, kernels.ConvOptions{}, list(of(2, 3, 4, 4)), list(of(2, 2, 6, 6), of(3, 2, 3, 3)), 1e-4}.agrees(t, d)
	t.Log(d.Fallbacks())
}

// TestConvolutionsByTheLibraryAreNotConcurrent captures two convolutions of different data: they
// share the handle, which has one stream.
func TestConvolutionsByTheLibraryAreNotConcurrent(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, libraries := range []bool{false, true} {
		var calls [2]kernels.Call
		c := trial{kernels.Conv, kernels.ConvOptions{}, list(of(2, 3, 4, 4)), list(of(2, 2, 6, 6), of(3, 2, 3, 3)), 1e-4}
		for i := range calls {
			_, calls[i] = c.call(t, d)
		}
		d.UseLibraries(libraries)
		t.Cleanup(func() { d.UseLibraries(false) })
		work := func() error {
			for i := range calls {
				if err := d.Run(c.k, &calls[i]); err != nil {
					return err
				}
			}
			return nil
		}
		if err := work(); err != nil {
			t.Fatal(err)
		}
		g, err := d.Capture(kernels.ByData, work)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{false: 1, true: 2}[libraries]
		if calls, deep := g.(*cuda.Graph).Depth(); calls != 2 || deep != want {
			t.Errorf("libraries %v: %d calls, longest chain %d; want 2 and %d", libraries, calls, deep, want)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRealGPUsUseRealLibraries: fakes do not take the place of NVIDIA's libraries where a real GPU
// is tested.
func TestRealGPUsUseRealLibraries(t *testing.T) {
	if os.Getenv("H5DNN_TEST_LIBRARIES") != "" {
		for _, l := range cuda.Libraries() {
			t.Logf("%s: %s: %v", l.Name, l.Path, l.Missing)
		}
		return
	}
	cudatest.FakeOnly(t)
	c := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestRealGPUsUseRealLibraries$")
	c.Env = append(os.Environ(), "H5DNN_TEST_GPU=1", "H5DNN_TEST_LIBRARIES=1", "H5DNN_CUDA_LIBS=/no/folder")
	out, err := c.CombinedOutput()
	for _, name := range []string{"cuBLASLt", "cuDNN"} {
		if want := name + ": : not found in /no/folder"; err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v; want %q in\n%s", err, want, out)
		}
	}
}

// TestRealLibrariesLoad opens NVIDIA's libraries where they are installed, with all that they
// need; no GPU is needed for that.
func TestRealLibrariesLoad(t *testing.T) {
	if os.Getenv("H5DNN_TEST_LIBRARIES") != "" {
		for _, l := range cuda.Libraries() {
			t.Logf("%s %s: %s: %v", l.Name, l.Version, l.Path, l.Missing)
			if l.Missing == nil && l.Name == "cuDNN" {
				if err := cuda.OpenSublibraries(l.Path); err != nil {
					t.Error(err)
				}
			}
		}
		return
	}
	cudatest.FakeOnly(t)
	c := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestRealLibrariesLoad$")
	c.Env = append(os.Environ(), "H5DNN_TEST_GPU=1", "H5DNN_TEST_LIBRARIES=1", "H5DNN_CUDA_LIBS=")
	out, err := c.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Error(err)
	}
}

// TestRealDriversAreLoaded runs tests of this package with the fake driver as a shared library,
// which is found and loaded as NVIDIA's are: nothing of package cuda is overridden.
func TestRealDriversAreLoaded(t *testing.T) {
	cudatest.FakeOnly(t)
	_, noGo := exec.LookPath("go")
	_, noSource := os.Stat("cudatest/libcuda/main.go")
	if err := errors.Join(noGo, noSource); err != nil {
		t.Skipf("the driver is built from source: %v", err)
	}
	folder := t.TempDir()
	driver := filepath.Join(folder, "libcuda.so.1")
	build := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", driver, "./cudatest/libcuda")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"libcublasLt.so.12", "libcudnn.so.9"} {
		if err := os.Symlink(driver, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		tests, want string
		status      int
	}{
		{"^(TestKernelsRunInOrder|TestGraphsReplay|TestLibraryCallsAreCaptured)$", "--- PASS: TestLibraryCallsAreCaptured", 0},
		{"^(TestAFault|TestKernelsRunInOrder)$", "=== RUN   TestAFault\n\nGPU FAULT: launch neg_f32: ", cudatest.FaultStatus},
	} {
		tests := exec.Command(os.Args[0], "-test.v", "-test.run", c.tests)
		tests.Env = append(os.Environ(), "H5DNN_TEST_GPU=1", "H5DNN_TEST_FAULT=1", "H5DNN_LIBCUDA="+driver, "H5DNN_CUDA_LIBS="+folder, "H5DNN_CUDA_CACHE=off")
		out, err := tests.CombinedOutput()
		if status := tests.ProcessState.ExitCode(); status != c.status || !strings.Contains(string(out), c.want) {
			t.Errorf("%v; want status %d and %q in\n%s", err, c.status, c.want, out)
		}
	}
}

// TestAFault has a kernel fail, and so ends the process of TestRealDriversAreLoaded.
func TestAFault(t *testing.T) {
	if os.Getenv("H5DNN_TEST_FAULT") == "" {
		t.Skip("runs in a process of TestRealDriversAreLoaded")
	}
	d := cudatest.Devices(t, cudatest.Eager)[0]
	args := make([]byte, d.EntrySize("neg_f32"))
	args[40], args[48], args[56] = 1, 1, 1 // one element, at address 0
	t.Fatal(errors.Join(d.Launch("neg_f32", [3]uint32{1, 1, 1}, 32, args), d.Sync()), "nothing has ended the process")
}
