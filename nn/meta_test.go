package nn_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
	"github.com/h5dnn/h5dnn/tensor"
)

// allocated returns the bytes that f takes of the heap.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestModelsAreMeasuredWithoutMemory builds 13 GB of parameters on tensor.Meta, also
// in modules of modules and in layers that take their sizes from their inputs.
func TestModelsAreMeasuredWithoutMemory(t *testing.T) {
	const description = `[
		{"residual": {"body": [{"linear": {"in_features": 40000, "out_features": 40000}}, {"batchnorm1d": 40000}]}},
		{"graph": {"nodes": [{"name": "a", "layer": {"dense": 40000}}]}}
	]`
	var size nn.Size
	heap := allocated(func() {
		m, err := nn.FromConfigOn(json.RawMessage(description), tensor.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nn.Build(m, []int{40000}); err != nil {
			t.Fatal(err)
		}
		for name, p := range nn.Parameters(m) {
			if p.Device() != tensor.Meta {
				t.Errorf("%s is on %v", name, p.Device())
			}
		}
		size = nn.SizeOf(m)
	})
	if want := (nn.Size{Params: 2*(40000*40000+40000) + 80000, Buffers: 80000, Bytes: 4*(40000*40000+40000) + 4*4*40000 + 4*(40000*40000+40000)}); size != want {
		t.Errorf("%+v, want %+v", size, want)
	}
	if heap > 1<<20 {
		t.Errorf("took %d bytes of heap", heap)
	}
}

// TestBuildTakesNoActivations of large images, and leaves parameters where the
// model is.
func TestBuildTakesNoActivations(t *testing.T) {
	m := fromJSON(t, `[{"conv2d": {"out_channels": 64, "kernel_size": 3, "padding": 1}}, {"batchnorm2d": 64}, "relu", "globalavgpool2d", "flatten", {"dense": 10}]`)
	heap := allocated(func() {
		shapes, err := nn.Build(m, []int{3, 10000, 10000})
		if err != nil || !slices.Equal(shapes[0], []int{10}) {
			t.Errorf("%v, %v; want [10]", shapes, err)
		}
		if _, err := nn.Summarize(m, []int{3, 10000, 10000}); err != nil {
			t.Error(err)
		}
	})
	if heap > 1<<20 {
		t.Errorf("took %d bytes of heap", heap)
	}
	for name, p := range nn.Parameters(m) {
		if p.Device() != storage.CPU {
			t.Errorf("%s is on %v", name, p.Device())
		}
	}
	fake := storagetest.NewDevice("fake:0")
	lazy := nn.Sequential{nn.NewDense(nn.DenseOptions{OutFeatures: 2})}
	if err := nn.To(lazy, tensor.Meta); err != nil {
		t.Fatal(err)
	}
	if _, err := nn.Build(lazy, []int{3}); err != nil {
		t.Fatal(err)
	}
	if size := nn.SizeOf(lazy); size != (nn.Size{Params: 8, Bytes: 32}) || lazy[0].(*nn.Dense).Weight.Device() != tensor.Meta {
		t.Errorf("%+v on %v, want 8 parameters on meta", size, lazy[0].(*nn.Dense).Weight.Device())
	}
	there := nn.Sequential{nn.NewLinear(nn.LinearOptions{InFeatures: 2, OutFeatures: 2}), nn.ReLU{}}
	if err := nn.To(there, fake); err != nil {
		t.Fatal(err)
	}
	if _, err := nn.Summarize(there, []int{2}); err != nil {
		t.Errorf("on a device that cannot compute: %v", err)
	}
}

// TestBuildSaysWhatSamplesLack of axes, sizes or inputs.
func TestBuildSaysWhatSamplesLack(t *testing.T) {
	dense := func() nn.Module { return nn.NewDense(nn.DenseOptions{OutFeatures: 3}) }
	for _, c := range []struct {
		samples [][]int
		want    string
	}{
		{[][]int{{}}, "build for samples [] (scalars): dense: input [1]; want (samples, features); reshape it to (samples, 1)"},
		{[][]int{{4, -1}}, "build for samples [4 -1]: want positive sizes"},
		{nil, "build for no input: dense: 0 inputs; want one"},
	} {
		if _, err := nn.Build(dense(), c.samples...); err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %s", c.samples, err, c.want)
		}
	}
	if out, err := nn.Build(nn.ReLU{}, []int{}); err != nil || len(out[0]) != 0 {
		t.Errorf("a relu of scalars: %v, %v", out, err)
	}
}
