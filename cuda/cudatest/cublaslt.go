package cudatest

// #include "libraries.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
)

// Status codes of cublasStatus_t.
const (
	ltInvalid     status = 7
	ltUnsupported status = C.H5_CUBLAS_NOT_SUPPORTED
)

// The objects of cuBLASLt.
type (
	ltHandle struct{ gpu *gpu }

	matmul struct {
		compute, scale C.int
		transA, transB C.int32_t
		epilogue       C.int32_t
		bias, mask     uint64
		maskLD         C.int64_t // in bits
	}

	layout struct {
		kind          C.int
		rows, columns int
		ld            int
		batches       C.int32_t
		stride        C.int64_t
	}

	preference struct {
		bytes     C.uint64_t
		reduction C.uint32_t
		aligned   [4]C.uint32_t // of a, b, c, d
	}
)

// unknownSum is the inner dimension that this cuBLASLt has no algorithm for, and unmaskedSum that which it has none for
// with a mask; for failedSum it returns an algorithm that then fails.
const (
	unknownSum  = 13
	failedSum   = 17
	unmaskedSum = 19
)

var ltTypes = map[C.int]dtype.Type{C.H5_R_32F: dtype.Float32, C.H5_R_64F: dtype.Float64, C.H5_R_16F: dtype.Float16, C.H5_R_16BF: dtype.BFloat16}

//export fake_cublasLtGetVersion
func fake_cublasLtGetVersion() C.size_t { return 120304 }

//export fake_cublasLtGetStatusString
func fake_cublasLtGetStatusString(s status) *C.char {
	fake.mu.Lock()
	defer fake.mu.Unlock()
	return keep(map[status]string{ltInvalid: "CUBLAS_STATUS_INVALID_VALUE", ltUnsupported: "CUBLAS_STATUS_NOT_SUPPORTED"}[s])
}

//export fake_cublasLtCreate
func fake_cublasLtCreate(handle *C.h5_object) status {
	answer := ltInvalid
	in(func(g *gpu) code { answer = create(handle, &ltHandle{g}); return success })
	return answer
}

//export fake_cublasLtMatmulDescCreate
func fake_cublasLtMatmulDescCreate(handle *C.h5_object, compute, scale C.int) status {
	return locked(func() status {
		return create(handle, &matmul{compute: compute, scale: scale, epilogue: C.H5_EPILOGUE_DEFAULT})
	})
}

//export fake_cublasLtMatmulDescDestroy
func fake_cublasLtMatmulDescDestroy(handle C.h5_object) status {
	return destroy[matmul](handle, ltInvalid)
}

//export fake_cublasLtMatmulDescSetAttribute
func fake_cublasLtMatmulDescSetAttribute(handle C.h5_object, which C.int, value unsafe.Pointer, bytes C.size_t) status {
	return locked(func() status {
		m, ok := object[matmul](handle), false
		switch {
		case m == nil:
		case which == C.H5_DESC_TRANSA:
			ok = attribute(&m.transA, value, bytes)
		case which == C.H5_DESC_TRANSB:
			ok = attribute(&m.transB, value, bytes)
		case which == C.H5_DESC_EPILOGUE:
			ok = attribute(&m.epilogue, value, bytes)
		case which == C.H5_DESC_BIAS_POINTER:
			ok = attribute(&m.bias, value, bytes)
		case which == C.H5_DESC_AUX_POINTER:
			ok = attribute(&m.mask, value, bytes)
		case which == C.H5_DESC_AUX_LD:
			ok = attribute(&m.maskLD, value, bytes)
		}
		return ltIf(ok)
	})
}

func ltIf(ok bool) status {
	if ok {
		return 0
	}
	return ltInvalid
}

//export fake_cublasLtMatrixLayoutCreate
func fake_cublasLtMatrixLayoutCreate(handle *C.h5_object, kind C.int, rows, columns C.uint64_t, ld C.int64_t) status {
	return locked(func() status {
		return create(handle, &layout{kind: kind, rows: int(rows), columns: int(columns), ld: int(ld), batches: 1})
	})
}

//export fake_cublasLtMatrixLayoutDestroy
func fake_cublasLtMatrixLayoutDestroy(handle C.h5_object) status {
	return destroy[layout](handle, ltInvalid)
}

//export fake_cublasLtMatrixLayoutSetAttribute
func fake_cublasLtMatrixLayoutSetAttribute(handle C.h5_object, which C.int, value unsafe.Pointer, bytes C.size_t) status {
	return locked(func() status {
		l, ok := object[layout](handle), false
		switch {
		case l == nil:
		case which == C.H5_LAYOUT_BATCH_COUNT:
			ok = attribute(&l.batches, value, bytes)
		case which == C.H5_LAYOUT_STRIDED_BATCH_OFFSET:
			ok = attribute(&l.stride, value, bytes)
		}
		return ltIf(ok)
	})
}

//export fake_cublasLtMatmulPreferenceCreate
func fake_cublasLtMatmulPreferenceCreate(handle *C.h5_object) status {
	return locked(func() status {
		return create(handle, &preference{reduction: 7, aligned: [4]C.uint32_t{256, 256, 256, 256}})
	})
}

//export fake_cublasLtMatmulPreferenceDestroy
func fake_cublasLtMatmulPreferenceDestroy(handle C.h5_object) status {
	return destroy[preference](handle, ltInvalid)
}

//export fake_cublasLtMatmulPreferenceSetAttribute
func fake_cublasLtMatmulPreferenceSetAttribute(handle C.h5_object, which C.int, value unsafe.Pointer, bytes C.size_t) status {
	return locked(func() status {
		p, ok := object[preference](handle), false
		switch {
		case p == nil:
		case which == C.H5_PREF_MAX_WORKSPACE_BYTES:
			ok = attribute(&p.bytes, value, bytes)
		case which == C.H5_PREF_REDUCTION_SCHEME_MASK:
			ok = attribute(&p.reduction, value, bytes)
		case which >= C.H5_PREF_MIN_ALIGNMENT_A_BYTES && which <= C.H5_PREF_MIN_ALIGNMENT_D_BYTES:
			ok = attribute(&p.aligned[which-C.H5_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes)
		}
		return ltIf(ok)
	})
}

// A gemm is a whole call, by its objects.
type gemm struct {
	matmul
	a, b, c, d layout
}

// gemmOf returns the call, and cuBLASLt's status for it.
func gemmOf(handle, desc, a, b, c, d C.h5_object) (gemm, status) {
	m, as, bs, cs, ds := object[matmul](desc), object[layout](a), object[layout](b), object[layout](c), object[layout](d)
	if object[ltHandle](handle) == nil || m == nil || as == nil || bs == nil || cs == nil || ds == nil {
		return gemm{}, ltInvalid
	}
	g := gemm{*m, *as, *bs, *cs, *ds}
	return g, ltIf(g.fits() && g.typed())
}

// fits reports whether the shapes match.
func (g *gemm) fits() bool {
	m, k := g.a.of(g.transA)
	k2, n := g.b.of(g.transB)
	for _, l := range []layout{g.a, g.b, g.c, g.d} {
		if l.rows < 1 || l.columns < 1 || l.ld < l.rows || l.batches != g.d.batches || l.batches > 1 && l.stride < 0 {
			return false
		}
	}
	return k == k2 && g.d.rows == m && g.d.columns == n && g.c == g.d
}

// sum returns the inner dimension.
func (g *gemm) sum() int {
	_, k := g.a.of(g.transA)
	return k
}

func (l layout) of(transposed C.int32_t) (rows, columns int) {
	if transposed == C.H5_OP_T {
		return l.columns, l.rows
	}
	return l.rows, l.columns
}

// typed reports whether the types match.
func (g *gemm) typed() bool {
	kind := g.d.kind
	if _, known := ltTypes[kind]; !known || g.a.kind != kind || g.b.kind != kind || g.c.kind != kind {
		return false
	}
	if kind == C.H5_R_64F {
		return g.compute == C.H5_COMPUTE_64F && g.scale == C.H5_R_64F && g.epilogue == C.H5_EPILOGUE_DEFAULT
	}
	exact := g.compute == C.H5_COMPUTE_32F || g.compute == C.H5_COMPUTE_32F_FAST_TF32 && kind == C.H5_R_32F
	return exact && g.scale == C.H5_R_32F && (g.epilogue&(C.H5_EPILOGUE_BIAS|C.H5_EPILOGUE_BGRADA|C.H5_EPILOGUE_BGRADB) != 0) == (g.bias != 0) && (g.epilogue < C.H5_EPILOGUE_AUX || g.d.batches == 1) && g.masked()
}

// masked reports whether there is a mask if and only if the epilogue is one of a mask, and whether it is as cublasLt.h
// says of CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER and CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD.
func (g *gemm) masked() bool {
	switch g.epilogue {
	case C.H5_EPILOGUE_DEFAULT, C.H5_EPILOGUE_BIAS, C.H5_EPILOGUE_RELU, C.H5_EPILOGUE_RELU_BIAS, C.H5_EPILOGUE_BGRADA, C.H5_EPILOGUE_BGRADB:
		return g.mask == 0
	case C.H5_EPILOGUE_RELU | C.H5_EPILOGUE_AUX, C.H5_EPILOGUE_RELU_BIAS | C.H5_EPILOGUE_AUX, C.H5_EPILOGUE_DRELU:
		return g.mask != 0 && g.mask%16 == 0 && g.maskLD%128 == 0 && int(g.maskLD) >= g.d.rows
	}
	return false
}

// digest is equal for calls that may share an algorithm.
func (g gemm) digest() C.uint64_t {
	g.bias, g.mask = 0, 0
	return digest(g)
}

// needs returns the workspace size: none for products of few rows.
func (g gemm) needs() C.size_t { return C.size_t(g.d.rows/4) << 10 }

// validWorkspace reports whether a workspace is large enough for an algorithm.
func validWorkspace(gpu *gpu, workspace C.h5_address, bytes, needs C.size_t) bool {
	return bytes >= needs && (bytes == 0 || gpu.holds(uint64(workspace), int(bytes)))
}

//export fake_cublasLtMatmulAlgoGetHeuristic
func fake_cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, prefer C.h5_object, most C.int, results *C.h5_heuristic, count *C.int) status {
	return locked(func() status {
		fake.countLaunch("cublasLtMatmulAlgoGetHeuristic")
		p := object[preference](prefer)
		g, answer := gemmOf(handle, desc, a, b, c, d)
		if p == nil || most < 1 || answer != 0 {
			return ltInvalid
		}
		if g.sum() == unknownSum || g.sum() == unmaskedSum && g.mask != 0 || p.reduction != C.H5_REDUCTION_COMPUTE_TYPE || p.bytes < 1<<20 {
			*count = 0
			return ltUnsupported
		}
		*count, results.state, results.workspace = 1, 0, g.needs()
		results.algorithm.data[0] = g.digest()
		for i, n := range p.aligned {
			results.algorithm.data[1+i] = C.uint64_t(n)
		}
		return 0
	})
}

//export fake_cublasLtMatmulAlgoConfigGetAttribute
func fake_cublasLtMatmulAlgoConfigGetAttribute(algorithm *C.h5_algorithm, which C.int, value unsafe.Pointer, bytes C.size_t, written *C.size_t) status {
	if which > C.H5_ALGORITHM_SPLITS || bytes != 4 {
		return ltInvalid
	}
	*(*C.int32_t)(value), *written = 20+which, 4
	return 0
}

// fake_cublasLtMatmul: an algorithm is valid only for the problem and the alignments it was chosen for.
//
//export fake_cublasLtMatmul
func fake_cublasLtMatmul(handle, desc C.h5_object, alpha unsafe.Pointer, a C.h5_address, aLayout C.h5_object, b C.h5_address, bLayout C.h5_object,
	beta unsafe.Pointer, c C.h5_address, cLayout C.h5_object, d C.h5_address, dLayout C.h5_object,
	algorithm *C.h5_algorithm, workspace C.h5_address, bytes C.size_t, on C.h5_handle) status {
	return issued(on, ltInvalid, func(gpu *gpu, s *stream) status {
		g, answer := gemmOf(handle, desc, aLayout, bLayout, cLayout, dLayout)
		switch {
		case answer != 0:
			return answer
		case object[ltHandle](handle).gpu != gpu || algorithm == nil || algorithm.data[0] != g.digest() || !validWorkspace(gpu, workspace, bytes, g.needs()):
			return ltInvalid
		case g.sum() == failedSum || g.number(alpha) != 1 || g.number(beta) != 0 || c != d:
			return ltUnsupported // by this fake
		}
		for i, at := range []C.h5_address{a, b, c, d} {
			if uint64(at)%uint64(algorithm.data[1+i]) != 0 {
				return ltInvalid
			}
		}
		return ltIf(success == fake.issue(s, position{}, func() error {
			fake.countLaunch("cublasLtMatmul")
			if fake.skipKernels.Load() {
				return nil
			}
			return g.run(gpu, uint64(a), uint64(b), uint64(d))
		}))
	})
}

// number returns what alpha or beta is.
func (g *gemm) number(at unsafe.Pointer) float64 {
	if g.scale == C.H5_R_64F {
		return *(*float64)(at)
	}
	return float64(*(*float32)(at))
}

func (l layout) extent() int {
	return (int(l.batches)-1)*int(l.stride) + (l.columns-1)*l.ld + l.rows
}

func (l layout) at(batch, row, column int, transposed C.int32_t) int {
	if transposed == C.H5_OP_T {
		row, column = column, row
	}
	return batch*int(l.stride) + column*l.ld + row
}

// run computes the product.
func (g *gemm) run(gpu *gpu, a, b, d uint64) error {
	t := ltTypes[g.d.kind]
	as, err := gpu.load(a, g.a.extent(), t)
	if err != nil {
		return err
	}
	bs, err := gpu.load(b, g.b.extent(), t)
	if err != nil {
		return err
	}
	ds, err := gpu.load(d, g.d.extent(), t)
	if err != nil {
		return err
	}
	bias := make([]float64, g.d.rows)
	if g.epilogue >= C.H5_EPILOGUE_BGRADA {
		if err := gpu.store(g.bias, g.biasGrad(as, bs), t); err != nil {
			return err
		}
	} else if g.bias != 0 {
		if bias, err = gpu.load(g.bias, g.d.rows, t); err != nil {
			return err
		}
	}
	mask := bitMatrix{ld: int(g.maskLD)}
	if g.mask != 0 {
		if mask.bytes, err = gpu.memory.Bytes(g.mask, g.d.columns*mask.ld/8); err != nil {
			return err
		}
	}
	depth := g.sum()
	for batch := range int(g.d.batches) {
		for i := range g.d.rows {
			for j := range g.d.columns {
				sum := bias[i]
				for k := range depth {
					sum += g.factor(as[g.a.at(batch, i, k, g.transA)]) * g.factor(bs[g.b.at(batch, k, j, g.transB)])
				}
				switch {
				case g.epilogue == C.H5_EPILOGUE_DRELU:
					if !mask.isSet(i, j) {
						sum = 0
					}
				case g.epilogue&C.H5_EPILOGUE_RELU != 0:
					if mask.bytes != nil {
						mask.set(i, j, sum > 0)
					}
					if sum < 0 { // NaN stays NaN
						sum = 0
					}
				}
				ds[g.d.at(batch, i, j, 0)] = sum
			}
		}
	}
	return gpu.store(d, ds, t)
}

// A bitMatrix has bits in column-major order, ld for each column, the lowest of a byte first.
type bitMatrix struct {
	bytes []byte
	ld    int
}

func (m bitMatrix) set(row, column int, bit bool) {
	at, b := column*m.ld+row, byte(0)
	if bit {
		b = 1
	}
	m.bytes[at/8] = m.bytes[at/8]&^(1<<(at%8)) | b<<(at%8)
}

func (m bitMatrix) isSet(row, column int) bool {
	at := column*m.ld + row
	return m.bytes[at/8]>>(at%8)&1 == 1
}

// biasGrad returns the sums of op(a) or op(b) over k.
func (g *gemm) biasGrad(as, bs []float64) (sums []float64) {
	if g.epilogue == C.H5_EPILOGUE_BGRADA {
		sums = make([]float64, g.d.rows)
		for i := range sums {
			for k := range g.sum() {
				sums[i] += as[g.a.at(0, i, k, g.transA)]
			}
		}
		return sums
	}
	sums = make([]float64, g.d.columns)
	for j := range sums {
		for k := range g.sum() {
			sums[j] += bs[g.b.at(0, k, j, g.transB)]
		}
	}
	return sums
}

// factor rounds x as TF32 does: to 10 bits of mantissa.
func (g *gemm) factor(x float64) float64 {
	if g.compute != C.H5_COMPUTE_32F_FAST_TF32 {
		return x
	}
	return float64(math.Float32frombits((math.Float32bits(float32(x)) + 1<<12) &^ (1<<13 - 1)))
}
