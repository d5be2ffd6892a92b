package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// TestUpdatesInPlaceAreThoseOnCopies gives each kernel, in the trials of a few types, an input of an
// output's type, shape and layout as that output, on both devices: a kernel that declares it, by
// Kernel.InPlace, has the results on a copy of the input, and any other refuses.
func TestUpdatesInPlaceAreThoseOnCopies(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	tried := map[*kernels.Kernel]bool{}
	for _, c := range trials() {
		if !slices.Contains([]dtype.Type{dtype.Float32, dtype.Int64, dtype.Bool}, c.out[0].t) || len(c.out) > 6 {
			continue
		}
		for i, out := range c.out {
			for k, in := range c.in {
				if in.t != out.t || !slices.Equal(in.shape, out.shape) || (in.lies == nil) != (out.lies == nil) {
					continue
				}
				tried[c.k] = true
				host, there := c.call(t, gpu)
				about := fmt.Sprintf("%v, output %d is input %d", c, i, k)
				inPlace(t, about+", on the CPU", c, kernels.CPU, host, i, k)
				inPlace(t, about+", on a GPU", c, gpu, there, i, k)
				cudatest.Reset()
			}
		}
	}
	for _, k := range kernels.All() {
		if k.InPlace() && !k.HostOnly && !tried[k] {
			t.Errorf("%s may update in place and was not tried", k.Name)
		}
	}
}

// inPlace runs a call whose output i has the elements of input k, once as a copy of it and once as
// the input itself.
func inPlace(t *testing.T, about string, c trial, r kernels.Runner, call kernels.Call, i, k int) {
	t.Helper()
	if err := call.In[k].CopyTo(call.Out[i]); err != nil {
		t.Fatal(err)
	}
	updated := copied(t, call)
	updated.In[k] = updated.Out[i]
	if err := r.Run(c.k, &call); err != nil {
		t.Fatal(err)
	}
	err := r.Run(c.k, &updated)
	if !c.k.InPlace() {
		if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "does not update in place") {
			t.Errorf("%s: error %v; want a refusal", about, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", about, err)
		return
	}
	for o := range call.Out {
		exact(t, fmt.Sprintf("%s: output %d", about, o), updated.Out[o], call.Out[o])
	}
}

// copied returns c on copies of its operands.
func copied(t *testing.T, c kernels.Call) kernels.Call {
	t.Helper()
	all := [2][]storage.Array{slices.Clone(c.Out), slices.Clone(c.In)}
	for _, list := range all {
		for i, a := range list {
			data, err := a.Data.Device().Alloc(a.Data.Len())
			if err != nil {
				t.Fatal(err)
			}
			list[i].Data = data
			if err := a.CopyTo(list[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Out, c.In = all[0], all[1]
	return c
}
