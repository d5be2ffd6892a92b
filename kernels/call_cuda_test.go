package kernels_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// TestWhatGPUsLackIsNamed has kernels that no device code was written for.
func TestWhatGPUsLackIsNamed(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Eager)[0]
	deep, err := storage.Make(gpu, dtype.Float32, 1, 1, 1, 1, 1, 1, 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	flat, err := storage.Make(gpu, dtype.Float64, 2)
	if err != nil {
		t.Fatal(err)
	}
	single, err := storage.Make(gpu, dtype.Float32, 2)
	if err != nil {
		t.Fatal(err)
	}
	many := slices.Repeat([]storage.Array{single}, 7)
	for want, c := range map[string]struct {
		k    *kernels.Kernel
		call kernels.Call
	}{
		"frobnicate: cuda:0: no entry frobnicate_f64":   {kernels.Own[struct{}]("frobnicate"), kernels.Call{Out: []storage.Array{flat}}},
		"frobnicate: cuda:0: no entry frobnicate_f32":   {kernels.Own[struct{}]("frobnicate"), kernels.Call{Out: []storage.Array{flat}, In: []storage.Array{single}}},
		"frobnicate: options hold a string":             {kernels.Own[struct{ Way string }]("frobnicate"), kernels.Call{Out: []storage.Array{flat}}},
		"frobnicate: [1 1 1 1 1 1 1 1 2] has more than": {kernels.Own[struct{}]("frobnicate"), kernels.Call{Out: []storage.Array{deep}}},
		"frobnicate: 7 operands":                        {kernels.Own[struct{}]("frobnicate"), kernels.Call{Out: []storage.Array{flat}, In: many}},
	} {
		if err := gpu.Run(c.k, &c.call); err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, storage.ErrDevice) {
			t.Errorf("error %v; want %s…", err, want)
		}
	}
}

// TestOptionsMatchDeviceCode has a kernel whose options are more than its entry takes.
func TestOptionsMatchDeviceCode(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Eager)[0]
	one, err := storage.Make(gpu, dtype.Float32, 4)
	if err != nil {
		t.Fatal(err)
	}
	err = gpu.Run(kernels.Own[struct{ Patience, More int }]("update scale"), &kernels.Call{Out: []storage.Array{one}})
	if err == nil || !strings.Contains(err.Error(), "entry update_scale_f32 takes parameters of") {
		t.Errorf("error %v; want one that names the entry", err)
	}
}
