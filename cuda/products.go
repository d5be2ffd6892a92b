package cuda

// #include "vendor.h"
import "C"

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
)

// Multiply implements [launch.Multiplier] by cuBLASLt.
func (d *Device) Multiply(p launch.Product) (done bool, err error) {
	v := &d.vendor
	v.mu.Lock()
	defer v.mu.Unlock()
	g, ok := gemmOf(p, v.tf32)
	if !ok {
		return false, nil
	}
	handle, err := v.handle(d, cublasLt)
	if handle == 0 || err != nil {
		return false, err
	}
	choice := v.choice(g.problem())
	if choice.state == C.H5_NONE {
		return false, nil
	}
	g.workspace, g.bytes = d.workspaceFor(choice)
	timer := d.startTimer(d.stream)
	code := C.h5_gemm_issue(d.context, handle, d.stream.handle, (*C.h5_gemm)(&g), choice)
	switch {
	case code == C.H5_CUBLAS_NOT_SUPPORTED: // by the chosen algorithm
		refuse(choice, "the chosen algorithm does not support it after all")
	case code != 0:
		d.decline(choice, cublasLt, status("multiply", code, ltText))
	}
	if choice.state == C.H5_NONE {
		if timer != nil {
			timer.Close()
		}
		return false, nil
	}
	d.count("launch", "cuBLASLt", 0)
	d.stopTimer(timer, d.stream, "cuBLASLt")
	return true, nil
}

// A gemm is a product as cuBLASLt has it.
type gemm C.h5_gemm

// gemmOf describes p, and reports whether cuBLASLt supports it. The library's matrices
// are column-major, so z = x·y of row-major matrices is computed as zᵀ = yᵀ·xᵀ, and the
// bias of a column of z is the bias of a row of zᵀ.
func gemmOf(p launch.Product, tf32 bool) (g gemm, ok bool) {
	t, ok := gemmTypes[p.Type]
	if !ok || p.Type == dtype.Float64 && (p.Bias|p.RowSums|p.Mask != 0 || p.Relu) || p.Mask != 0 && p.Batches > 1 {
		return g, false
	}
	if g._type, g.compute = t[0], t[1]; tf32 && p.Type == dtype.Float32 {
		g.compute = C.H5_COMPUTE_32F_FAST_TF32
	}
	g.batches, g.bias, g.epilogue = C.int(p.Batches), C.h5_address(p.Bias|p.RowSums), epilogueOf(p)
	if p.Mask != 0 {
		g.mask, g.mask_ld = C.h5_address(p.Mask), C.int64_t(8*launch.MaskBytes(p.N))
	}
	if g.transposed(p) {
		ok = true
	} else if ok = p.Bias|p.Mask == 0 && g.direct(p); ok && p.RowSums != 0 {
		g.epilogue = C.H5_EPILOGUE_BGRADA
	}
	return g, ok && max(p.M, p.N, p.K, p.Batches) <= math.MaxInt32
}

// gemmTypes are the types of elements and of sums.
var gemmTypes = map[dtype.Type][2]C.int{
	dtype.Float32:  {C.H5_R_32F, C.H5_COMPUTE_32F},
	dtype.Float64:  {C.H5_R_64F, C.H5_COMPUTE_64F},
	dtype.Float16:  {C.H5_R_16F, C.H5_COMPUTE_32F},
	dtype.BFloat16: {C.H5_R_16BF, C.H5_COMPUTE_32F},
}

func epilogueOf(p launch.Product) C.int {
	switch {
	case p.RowSums != 0: // x is factor b of zᵀ = yᵀ·xᵀ
		return C.H5_EPILOGUE_BGRADB
	case p.Mask != 0 && !p.Relu:
		return C.H5_EPILOGUE_DRELU
	}
	var all C.int
	if p.Bias != 0 {
		all |= C.H5_EPILOGUE_BIAS
	}
	if p.Relu {
		all |= C.H5_EPILOGUE_RELU
	}
	if p.Mask != 0 {
		all |= C.H5_EPILOGUE_AUX
	}
	return max(all, C.H5_EPILOGUE_DEFAULT)
}

// WritesMasks implements [launch.Multiplier].
func (d *Device) WritesMasks(t dtype.Type) bool {
	d.vendor.mu.Lock()
	defer d.vendor.mu.Unlock()
	handle, err := d.vendor.handle(d, cublasLt)
	return handle != 0 && err == nil && t != dtype.Float64 && gemmTypes[t] != [2]C.int{}
}

// transposed describes zᵀ = yᵀ·xᵀ, if the layouts allow it.
func (g *gemm) transposed(p launch.Product) bool {
	return column(&g.a, flipped(p.Y), p.N, p.K) && column(&g.b, flipped(p.X), p.K, p.M) && column(&g.d, flipped(p.Z), p.N, p.M) && g.d.transposed == C.H5_OP_N
}

// direct describes z = x·y, if the layouts allow it.
func (g *gemm) direct(p launch.Product) bool {
	return column(&g.a, p.X, p.M, p.K) && column(&g.b, p.Y, p.K, p.N) && column(&g.d, p.Z, p.M, p.N) && g.d.transposed == C.H5_OP_N
}

func flipped(m launch.Matrix) launch.Matrix {
	m.Down, m.Across = m.Across, m.Down
	return m
}

// column describes the rows × columns matrix m as a column-major matrix or as the
// transpose of one, and reports whether it is either.
func column(c *C.h5_matrix, m launch.Matrix, rows, columns int) bool {
	*c = C.h5_matrix{at: C.h5_address(m.Address), batch: C.int64_t(m.Batch)}
	switch {
	case dense(m.Down, m.Across, rows, columns):
		c.rows, c.columns, c.ld = C.int64_t(rows), C.int64_t(columns), lead(m.Across, rows, columns)
	case dense(m.Across, m.Down, columns, rows):
		c.rows, c.columns, c.ld, c.transposed = C.int64_t(columns), C.int64_t(rows), lead(m.Down, columns, rows), C.H5_OP_T
	default:
		return false
	}
	return true
}

// dense reports whether lines of n elements at stride step do not overlap at a distance
// of lead. The stride of an axis of size 1 does not matter.
func dense(step, lead, n, lines int) bool { return (step == 1 || n == 1) && (lead >= n || lines == 1) }

// lead returns the leading dimension; a single line may have any.
func lead(stride, n, lines int) C.int64_t {
	if lines == 1 {
		return C.int64_t(n)
	}
	return C.int64_t(stride)
}

// problem returns the part of g that the choice of an algorithm depends on.
func (g gemm) problem() C.h5_gemm {
	for _, at := range []*C.h5_address{&g.a.at, &g.b.at, &g.d.at, &g.bias, &g.mask} {
		*at = alignment(*at)
	}
	return C.h5_gemm(g)
}
