package cuda_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/device"
)

// adding is a trial whose entry is add_f32.
var adding = trial{kernels.Add, nil, list(of(9)), list(of(9), of(9)), 0}

// loadedFrom forgets the loaded code of d, runs a trial, and returns where its code is from.
func loadedFrom(t *testing.T, d *cuda.Device) string {
	t.Helper()
	cuda.ForgetCode(d)
	adding.agrees(t, d)
	for _, l := range d.Loads() {
		if l.Entry == "add_f32" {
			return l.From
		}
	}
	t.Fatalf("add_f32 is not among %v", d.Loads())
	return ""
}

// TestCompiledCodeIsCached damages the cached file in several ways: each time it is replaced.
func TestCompiledCodeIsCached(t *testing.T) {
	d, folder := cudatest.Devices(t, cudatest.Eager)[0], t.TempDir()
	t.Setenv("H5DNN_CUDA_CACHE", folder)
	t.Setenv("H5DNN_CUDA_CODE", "")
	t.Cleanup(func() { cuda.ForgetCode(d) })
	for _, want := range []string{"compiled", "cached"} {
		if from := loadedFrom(t, d); from != want {
			t.Fatalf("%s; want %s", from, want)
		}
	}
	file := cuda.CodeFile(t, d, "add_f32")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-9] ^= 1
	for name, damaged := range map[string][]byte{
		"empty": nil, "of another format": []byte("h5dnn code 2\n"), "truncated": whole[:len(whole)/2], "a bit flipped": flipped,
		"refused by the driver": cuda.EncodeCode([]byte("\x7fELF interpreted what is no PTX")),
	} {
		if err := os.WriteFile(file, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if from := loadedFrom(t, d); from != "compiled" {
			t.Errorf("%s: %s; want it compiled", name, from)
		}
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, whole) {
			t.Errorf("%s: the file is not replaced: %v", name, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".partial*")); found != nil {
		t.Errorf("%q are left", found)
	}
}

// TestShippedCodeIsLoaded: code that ptxas has made, unless the driver refuses it.
func TestShippedCodeIsLoaded(t *testing.T) {
	cudatest.FakeOnly(t) // whose machine code is made here
	d, folder := cudatest.Devices(t, cudatest.Eager)[0], t.TempDir()
	t.Setenv("H5DNN_CUDA_CODE", folder)
	t.Cleanup(func() { cuda.ForgetCode(d) })
	text, err := device.Entry(d.Capability, "add_f32")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ code, want string }{{"\x7fELF interpreted " + text, "shipped"}, {"\x7fELF interpreted nothing", "compiled"}} {
		if err := cuda.StoreCode(folder, d.Capability, text, []byte(c.code)); err != nil {
			t.Fatal(err)
		}
		if from := loadedFrom(t, d); from != c.want {
			t.Errorf("%s; want %s", from, c.want)
		}
	}
}

// TestCachesMayFail: kernels are computed all the same, and a sentence says why they are compiled anew.
func TestCachesMayFail(t *testing.T) {
	d, file := cudatest.Devices(t, cudatest.Eager)[0], filepath.Join(t.TempDir(), "file")
	t.Cleanup(func() { cuda.ForgetCode(d); cuda.ClearFallbacks(d) })
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cache, function, want string }{
		{file, "", "not a directory"},
		{t.TempDir(), "cuLinkComplete", "compile PTX: operation not supported"},
	} {
		cuda.ClearFallbacks(d)
		t.Run(c.want, func(t *testing.T) {
			t.Setenv("H5DNN_CUDA_CACHE", c.cache)
			if c.function != "" {
				cudatest.InjectFault(t, c.function, "801")
			}
			from, all := loadedFrom(t, d), d.Fallbacks()
			if from != "compiled" || len(all) != 1 || !strings.Contains(all[0], "compiled anew by every process") || !strings.Contains(all[0], c.want) {
				t.Errorf("%s, %q; want it compiled and %q", from, all, c.want)
			}
		})
	}
}

// TestPreloadingIsParallel loads the code of training steps while others launch it, and shares a
// cache between two devices, as processes do.
func TestPreloadingIsParallel(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Async)
	t.Setenv("H5DNN_CUDA_CACHE", t.TempDir())
	for range 2 { // compiled, and then cached
		var all sync.WaitGroup
		for _, d := range gpus {
			cuda.ForgetCode(d)
			t.Cleanup(func() { cuda.ForgetCode(d) })
			d.Preload()
			for range 4 {
				all.Go(func() { adding.agrees(t, d) })
			}
		}
		all.Wait()
		for _, d := range gpus {
			cuda.WaitForPreload(d)
			names := map[string]int{}
			for _, l := range d.Loads() {
				names[l.Entry]++
			}
			for _, entry := range append(slices.Clone(kernels.TrainingEntries), "add_f32") {
				if names[entry] != 1 {
					t.Errorf("%v: %s is loaded %d times, want once", d, entry, names[entry])
				}
			}
		}
	}
}
