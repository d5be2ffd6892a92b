package train_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
)

var stepCost = flag.String("step-cost", "", "count what a step of the example costs a GPU, and write it to this `FILE` (minutes)")

// TestStepCost writes the launches of a captured step of PyTorch's example and what each kernel costs
// by the interpreter's model.
func TestStepCost(t *testing.T) {
	if *stepCost == "" {
		t.Skip("counts for minutes; run make bench-step")
	}
	model, mnist, batch := "model:"+example+"precision: tf32\n", []int{28, 28}, 64
	var b strings.Builder
	fmt.Fprint(&b, "# A training step of the example CNN on a GPU, by the interpreter\n\nWritten by `make bench-step`; nothing here was measured on a GPU.\n\n",
		"The CNN of PyTorch's examples/mnist, batch 64, TF32, SGD, samples that stay on the device, one CUDA graph.\n\n")
	for _, libraries := range []bool{true, false} {
		by := map[bool]string{true: "with cuBLASLt and cuDNN", false: "with own kernels"}[libraries]
		t.Run(by, func(t *testing.T) {
			counts, graph := launchesAndGraph(t, model, mnist, batch, libraries)
			total := 0
			for _, times := range counts {
				total += times
			}
			fmt.Fprintf(&b, "- %s: %d launches; the graph has %s\n", by, total, graph)
		})
	}
	fmt.Fprint(&b, "\nCycles are those of the schedulers of an H100, by `cuda/ptx/cost.go`, in all; µs is the time in which its 528 schedulers, or as many as\n",
		"the launch has warps, issue them. Time that waits for memory is not included. Sectors are 32 bytes of global memory.\n\n",
		"| entry | launches | 1000 cycles | µs | sectors a request | MB | wavefronts a request |\n|---|---:|---:|---:|---:|---:|---:|\n")
	kernels := stepCosts(t, model, mnist, batch)
	var all cudatest.KernelCounters
	for _, name := range slices.SortedFunc(maps.Keys(kernels), func(a, b string) int { return cmp.Compare(kernels[b].Microseconds, kernels[a].Microseconds) }) {
		k := kernels[name]
		all.Add(&k.Counters)
		all.Launches += k.Launches
		all.Microseconds += k.Microseconds
		costRow(&b, "`"+name+"`", k)
	}
	costRow(&b, "all", &all)
	if err := os.WriteFile(*stepCost, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// stepCosts counts the second step, which is captured and replayed.
func stepCosts(t *testing.T, model string, sample []int, batch int) (kernels map[string]*cudatest.KernelCounters) {
	gpu, steps := cudatest.Devices(t, cudatest.Eager)[0], 0
	stop := func() map[string]*cudatest.KernelCounters { return nil }
	trainOn(t, gpu, model, sample, batch, 2, func() {
		switch steps++; steps {
		case 1:
			stop = cudatest.CountKernels()
		case 2:
			kernels = stop()
		}
	})
	return kernels
}

func costRow(b *strings.Builder, name string, k *cudatest.KernelCounters) {
	fmt.Fprintf(b, "| %s | %d | %d | %.1f | %.2f | %.1f | %.2f |\n", name, k.Launches, (k.Cycles+500)/1000, k.Microseconds,
		float64(k.Sectors)/float64(max(1, k.Requests)), 32*float64(k.Sectors)/1e6, float64(k.Wavefronts)/float64(max(1, k.SharedRequests)))
}
