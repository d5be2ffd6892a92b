// Package device is the code that GPUs run, in the dialect of CUDA C++ that
// dialect.cuh describes, one file for each family of kernels. "make ptx" compiles
// it; package kernels launches it.
package device

import (
	_ "embed"
	"fmt"
)

var (
	//go:embed sm_75.ptx
	sm75 string
	//go:embed sm_80.ptx
	sm80 string
)

// PTX returns the compiled code for GPUs of a compute capability, such as 90 for
// 9.0, of 75 at least. The driver compiles it further.
func PTX(capability int) (string, error) {
	switch {
	case capability >= 80:
		return sm80, nil
	case capability >= 75:
		return sm75, nil
	}
	return "", fmt.Errorf("compute capability %d.%d; kernels are compiled for 7.5 and above", capability/10, capability%10)
}
