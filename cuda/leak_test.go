package cuda_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// TestNoObjectsLeak: temporary objects are destroyed by the call that creates them, and all
// others when their owner is closed.
func TestNoObjectsLeak(t *testing.T) {
	cudatest.FakeOnly(t)
	gpus := cudatest.Devices(t, cudatest.Deferred)
	cudatest.UseLibraries(t, gpus[:]...)
	for name, use := range map[string]func(t *testing.T, d, other *cuda.Device){
		"graphs":     leavesGraphs,
		"recordings": leavesRecordings,
		"libraries":  leavesDescriptors,
		"copies":     func(t *testing.T, d, other *cuda.Device) { moves(t, other, d, false) },
		"streams": func(t *testing.T, d, _ *cuda.Device) {
			if _, err := stream(d, waits{true, true, true}); err != nil {
				t.Fatal(err)
			}
			if err := d.ExternalStreamWait(d.Stream().Handle()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := func() map[string]int {
				use(t, gpus[0], gpus[1])
				collected(t, gpus[0])
				return cudatest.LiveObjects()
			}
			before := objects() // and what is kept
			if after := objects(); !maps.Equal(before, after) {
				t.Errorf("there were %v, and are %v", before, after)
			}
		})
	}
}

func leavesGraphs(t *testing.T, d, _ *cuda.Device) {
	x := ones(t, d, 8)
	graph, err := d.Capture(kernels.ByData, func() error { return add(d, x, x) })
	if err := errors.Join(err, graph.Replay(), graph.Close()); err != nil {
		t.Fatal(err)
	}
}

// leavesRecordings ends captures by every failure.
func leavesRecordings(t *testing.T, d, _ *cuda.Device) {
	x := ones(t, d, 8)
	for _, work := range []func() error{
		func() error { return errors.New("enough") },
		func() error { return errors.Join(add(d, x, x), errors.New("enough")) },
		func() error { return errors.Join(add(d, x, x), d.Sync()) },
		func() error { return errors.Join(add(d, x, x), d.Stream().Sync()) },
		func() error { panic("enough") },
	} {
		func() {
			defer func() { recover() }()
			if _, err := d.Capture(kernels.ByData, work); err == nil {
				t.Error("no error")
			}
		}()
	}
}

// leavesDescriptors multiplies and convolves, with and without an algorithm, and one
// that fails.
func leavesDescriptors(t *testing.T, d, _ *cuda.Device) {
	cuda.Unstart(d)
	for _, depth := range []int{5, 13, 17} {
		trial{kernels.MatMul, nil, list(of(4, 6)), list(of(4, depth), of(depth, 6)), 1e-4}.agrees(t, d)
	}
	relu := kernels.ConvOptions{Act: kernels.ReLUActivation}
	for _, rows := range []int{3, 5, 7} {
		trial{kernels.Conv, relu, list(of(2, 3, 9-rows, 4)), list(of(2, 2, 8, 6), of(3, 2, rows, 3), of(3)), 1e-4}.agrees(t, d)
	}
}

// TestCapturesFailAfterFailedCalls: work that goes on after a call that failed half-way has
// no order, so that nothing may come of it.
func TestCapturesFailAfterFailedCalls(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Eager)[0]
	x, y := ones(t, d, 8), ones(t, d, 8)
	_, err := d.Capture(kernels.ByData, func() error {
		if err := add(d, x, x); err != nil {
			return err
		}
		wrong := &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{y}, Geometry: launch.Geometry{Threads: -1}}
		if d.Run(kernels.Neg, wrong) == nil {
			t.Error("a launch of -1 threads is recorded")
		}
		return add(d, y, x)
	})
	if !errors.Is(err, storage.ErrState) {
		t.Errorf("error %v; want the call's", err)
	}
}
