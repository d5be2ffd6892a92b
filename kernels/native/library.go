package native

// #include "blas.h"
import "C"

import "strings"

// A Library is one that kernels compute with.
type Library struct {
	Name, Version string
	Path          string // where it was loaded from, if it was at run time
	Detail        string // its use, and how
}

// Libraries returns what kernels on the CPU compute with on this machine.
func Libraries() []Library {
	return []Library{
		{Name: "oneDNN", Version: dnnlVersion(), Detail: "float32 products and convolutions"},
		blasLibrary(),
	}
}

func blasLibrary() Library {
	if C.h5k_blas() == nil {
		return Library{Name: "gonum", Detail: "float64 products, in Go: OpenBLAS was not found; install it for ten times the speed"}
	}
	version := strings.Fields(C.GoString(C.h5k_blas_config()) + " ? ?")[1]
	return Library{
		Name:    "OpenBLAS",
		Version: version,
		Path:    C.GoString(C.h5k_blas_path()),
		Detail:  "float64 products, with its kernels for " + C.GoString(C.h5k_blas_core()),
	}
}
