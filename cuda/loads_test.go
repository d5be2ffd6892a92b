package cuda_test

import (
	"flag"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
)

var loadsIn = flag.String("loads", "", "log how long the code of training steps takes to load, with a cache in `FOLDER`")

// TestLoadTimes logs how long the code of training steps takes to be compiled by the driver, one
// entry after another and in parallel, and to be loaded from a cache and as it was shipped.
func TestLoadTimes(t *testing.T) {
	if *loadsIn == "" {
		t.Skip("of interest on a GPU; -loads names a folder")
	}
	d := cudatest.Devices(t, cudatest.Eager)[0]
	timed := func(what string, load func()) {
		cuda.ForgetCode(d)
		began := time.Now()
		load()
		t.Logf("%d entries %s: %v; %s", len(kernels.TrainingEntries), what, time.Since(began).Round(time.Millisecond), d.LoadSummary())
	}
	oneByOne := func() {
		for _, entry := range kernels.TrainingEntries {
			d.EntrySize(entry)
		}
	}
	inParallel := func() { d.Preload(); cuda.WaitForPreload(d) }
	timed("as shipped, if they are, one after another", oneByOne)
	t.Setenv("H5DNN_CUDA_CODE", "")
	t.Setenv("H5DNN_CUDA_CACHE", "off")
	timed("from PTX, one after another", oneByOne) // the driver's own cache may have helped
	t.Setenv("H5DNN_CUDA_CACHE", *loadsIn+"/first")
	timed("linked and cached, one after another", oneByOne)
	t.Setenv("H5DNN_CUDA_CACHE", *loadsIn+"/second")
	timed("linked and cached, in parallel", inParallel)
	timed("from the cache, one after another", oneByOne)
	timed("from the cache, in parallel", inParallel)
}
