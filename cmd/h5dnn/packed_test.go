//go:build cgo

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestPackedNumbersOfPlainFiles trains on a plain HDF5 file with scale_factor, and says that it is not applied; with
// --from netcdf it is, also by what reads the run later, and by the extension .nc.
func TestPackedNumbersOfPlainFiles(t *testing.T) {
	withDigits(t)
	w, err := hdf5write.Create("packed.h5", hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]int16, 40)
	for i := range x {
		x[i] = int16(100 * i)
	}
	if err := errors.Join(w.Write("/x", storage.From(x, 40)), w.Write("/y", storage.From(x, 40)), w.SetAttr("/x", "scale_factor", []float64{0.01}), w.Close()); err != nil {
		t.Fatal(err)
	}
	said := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if status := run(context.Background(), append([]string{"h5dnn"}, args...), &out, &errs); status != 0 {
			t.Fatalf("h5dnn %s: %s", strings.Join(args, " "), errs.String())
		}
		return out.String() + errs.String()
	}
	const plain = "/x (scale_factor): numbers are as stored"
	train := []string{"train", "--data", "packed.h5", "-x", "/x", "-y", "/y", "--loss", "mse", "--epochs", "1", "--split", "0.25", "--force", "-o", "run.h5"}
	for _, args := range [][]string{train, {"doctor", "packed.h5"}, {"predict", "run.h5", "packed.h5:/x", "-o", "plain.npy"}} {
		if text := said(args...); !strings.Contains(text, plain) {
			t.Errorf("%s does not say %q:\n%s", args[0], plain, text)
		}
	}
	if text := said("init", "packed.h5", "-", "-x", "/x", "-y", "/y", "--from", "netcdf"); !strings.Contains(text, "format: netcdf") {
		t.Errorf("init --from netcdf proposes a configuration without the format:\n%s", text)
	}
	if text := said(append(train, "--from", "netcdf")...); strings.Contains(text, plain) {
		t.Errorf("train --from netcdf says %q", plain)
	}
	if kept, asked := said("eval", "run.h5"), said("eval", "run.h5", "--from", "netcdf"); kept != asked {
		t.Errorf("eval reads other numbers than the run was trained on:\n%s%s", kept, asked)
	}
	if kept, stored := said("predict", "run.h5", "packed.h5:/x", "-o", "-", "--format", "csv"), said("predict", "run.h5", "packed.h5:/x", "-o", "-", "--format", "csv", "--from", "hdf5"); kept == stored {
		t.Error("predict reads the numbers as stored that the run was trained on unpacked")
	}
	refused(t, []string{"predict", "run.h5", "plain.npy", "-o", "y.npy"}, "a file of format npy, and netcdf is configured; --from npy reads it")
	if err := os.Rename("packed.h5", "packed.nc"); err != nil {
		t.Fatal(err)
	}
	if text := said("inspect", "packed.nc"); !strings.Contains(text, "float64 (40,)  from int16 × 0.01") {
		t.Errorf("the extension .nc does not say what numbers stand for:\n%s", text)
	}
}
