package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestInstalledCUDALibrariesHaveTheSymbols opens NVIDIA's libraries, without a
// GPU. Each must have the functions that are used and report its version.
func TestInstalledCUDALibrariesHaveTheSymbols(t *testing.T) {
	cmd := program(t, "devices", "--cuda", "--json")
	cmd.Env = append(cmd.Env, "H5DNN_CUDA_LIBS=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		CUDA struct {
			Libraries []struct{ Name, Version, Missing string }
		}
	}
	if err := json.Unmarshal(out, &shown); err != nil || len(shown.CUDA.Libraries) != 4 {
		t.Fatalf("%v in %s", err, out)
	}
	for _, l := range shown.CUDA.Libraries {
		t.Run(l.Name, func(t *testing.T) {
			if strings.HasPrefix(l.Missing, "not found") {
				t.Skip("not installed: its Python wheel would do, in the environment that VIRTUAL_ENV names")
			}
			if l.Missing != "" || strings.HasPrefix(l.Version, "0") || strings.Count(l.Version, ".") != 2 {
				t.Errorf("version %q; missing: %s", l.Version, l.Missing)
			}
		})
	}
}
