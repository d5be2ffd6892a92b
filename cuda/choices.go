package cuda

// #include "vendor.h"
import "C"

import (
	"fmt"
	"slices"
	"strings"
)

// A LibraryChoice is what a library does about a problem: its algorithm, or why own kernels
// compute it.
type LibraryChoice struct {
	Library, Problem, Algorithm string
	Workspace                   int // bytes
	Declined                    string
}

// LibraryChoices lists the problems that libraries were asked about.
func (d *Device) LibraryChoices() (all []LibraryChoice) {
	d.vendor.mu.Lock()
	defer d.vendor.mu.Unlock()
	for problem, choice := range d.vendor.choices {
		c := LibraryChoice{Workspace: int(choice.needs)}
		switch p := problem.(type) {
		case C.h5_gemm:
			c.Library, c.Problem = "cuBLASLt", gemm(p).String()
		case C.h5_convolution:
			c.Library, c.Problem = "cuDNN", convolution(p).String()
		}
		if about := C.GoString(&choice.about[0]); choice.state == C.H5_CHOSEN {
			c.Algorithm = about
		} else {
			c.Declined = about
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b LibraryChoice) int {
		return strings.Compare(a.Library+a.Problem, b.Library+b.Problem)
	})
	return all
}

// String describes a product as the library has it, in column-major order.
func (g gemm) String() string {
	flip := map[C.int]string{C.H5_OP_N: "", C.H5_OP_T: "ᵀ"}
	epilogue := map[C.int]string{
		C.H5_EPILOGUE_BIAS: " + bias", C.H5_EPILOGUE_RELU: ", relu", C.H5_EPILOGUE_RELU_BIAS: " + bias, relu",
		C.H5_EPILOGUE_RELU | C.H5_EPILOGUE_AUX: ", relu and its mask", C.H5_EPILOGUE_RELU_BIAS | C.H5_EPILOGUE_AUX: " + bias, relu and its mask",
		C.H5_EPILOGUE_DRELU: ", gradient of relu by its mask", C.H5_EPILOGUE_BGRADA: " and sums of the first factor", C.H5_EPILOGUE_BGRADB: " and sums of the second factor",
	}[g.epilogue]
	kind := map[C.int]string{C.H5_COMPUTE_32F: "sums in float32", C.H5_COMPUTE_64F: "sums in float64", C.H5_COMPUTE_32F_FAST_TF32: "TF32"}[g.compute]
	text := fmt.Sprintf("%dx%d%s · %dx%d%s%s, type %d, %s", g.a.rows, g.a.columns, flip[g.a.transposed], g.b.rows, g.b.columns, flip[g.b.transposed], epilogue, g._type, kind)
	if g.batches > 1 {
		text += fmt.Sprintf(", %d times", g.batches)
	}
	return text
}

// String describes a convolution.
func (g convolution) String() string {
	kind := map[C.int]string{C.H5_FORWARD: "y", C.H5_BACKWARD_DATA: "gradient of x", C.H5_BACKWARD_FILTER: "gradient of w"}[g.kind]
	layout := map[C.int]string{C.H5_DNN_NCHW: "row-major", C.H5_DNN_NHWC: "channels-last"}[g.format]
	return fmt.Sprintf("%s of x %v, w %v, y %v, %s, type %d, math type %d", kind, g.x.size[:g.rank], g.weights[:g.rank], g.y.size[:g.rank], layout, g._type, g.math)
}
