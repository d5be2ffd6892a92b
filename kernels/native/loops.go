package native

// #include "loops.h"
// #include "table.h"
// #include <stdlib.h>
// #cgo noescape h5k_elementwise
// #cgo nocallback h5k_elementwise
// #cgo noescape h5k_copy
// #cgo nocallback h5k_copy
// #cgo noescape h5k_where
// #cgo nocallback h5k_where
// #cgo noescape h5k_gather_along
// #cgo nocallback h5k_gather_along
// #cgo noescape h5k_scatter_along
// #cgo nocallback h5k_scatter_along
// #cgo noescape h5k_cast
// #cgo nocallback h5k_cast
// #cgo noescape h5k_reduce
// #cgo nocallback h5k_reduce
// #cgo noescape h5k_max_grad
// #cgo nocallback h5k_max_grad
// #cgo noescape h5k_lines
// #cgo nocallback h5k_lines
// #cgo noescape h5k_sort
// #cgo nocallback h5k_sort
// #cgo noescape h5k_layer_norm
// #cgo nocallback h5k_layer_norm
// #cgo noescape h5k_layer_norm_grad
// #cgo nocallback h5k_layer_norm_grad
// #cgo noescape h5k_square_sum
// #cgo nocallback h5k_square_sum
// #cgo noescape h5k_bad_label
// #cgo nocallback h5k_bad_label
// #cgo noescape h5k_label_mask
// #cgo nocallback h5k_label_mask
// #cgo noescape h5k_cross_entropy
// #cgo nocallback h5k_cross_entropy
// #cgo noescape h5k_correct
// #cgo nocallback h5k_correct
// #cgo noescape h5k_squared_error
// #cgo nocallback h5k_squared_error
// #cgo noescape h5k_update
// #cgo nocallback h5k_update
// #cgo noescape h5k_act_grad_bias
// #cgo nocallback h5k_act_grad_bias
// #cgo noescape h5k_draw
// #cgo nocallback h5k_draw
import "C"

import (
	"strings"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
)

// A ComputeType is a type that the C loops compute in.
type ComputeType C.int

// The types that C loops compute in.
const (
	F32 ComputeType = C.H5K_F32
	F64 ComputeType = C.H5K_F64
)

// ComputeTypeOf returns the ComputeType that is t.
func ComputeTypeOf(t dtype.Type) (r ComputeType, ok bool) {
	switch t {
	case dtype.Float32:
		return F32, true
	case dtype.Float64:
		return F64, true
	}
	return 0, false
}

// pointer returns the address of the first byte, or nil.
func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// All functions here take slices that begin at an operand's first element.

// An Op is an elementwise operation: a line of ops.h.
type Op C.int

// NoOp is no operation.
const NoOp Op = -1

// FindOp returns the operation of that name, in which spaces stand for underscores.
func FindOp(name string) (op Op, ok bool) {
	line := C.CString(strings.ReplaceAll(name, " ", "_"))
	defer C.free(unsafe.Pointer(line))
	op = Op(C.h5k_find(line))
	return op, op >= 0
}

// Takes reports whether op has a loop for operands of type t.
func (op Op) Takes(t dtype.Type) bool {
	return isElement(t) && C.h5k_takes(C.int(op), elementTypes.At(t)-1) != 0
}

// elementTypes is one more than C's number of the types of elementwise operations.
var elementTypes = dtype.TableOf(map[dtype.Type]C.int{
	dtype.Float32: C.H5K_F32 + 1, dtype.Float64: C.H5K_F64 + 1,
	dtype.Int8: C.H5K_EI8 + 1, dtype.Uint8: C.H5K_EU8 + 1, dtype.Int16: C.H5K_EI16 + 1, dtype.Uint16: C.H5K_EU16 + 1,
	dtype.Int32: C.H5K_EI32 + 1, dtype.Uint32: C.H5K_EU32 + 1, dtype.Int64: C.H5K_EI64 + 1, dtype.Uint64: C.H5K_EU64 + 1,
	dtype.Float16: C.H5K_EF16 + 1, dtype.BFloat16: C.H5K_EBF16 + 1,
})

// isElement reports whether elementwise operations take elements of type t.
func isElement(t dtype.Type) bool { return elementTypes.At(t) != 0 }

// Run computes z = op(x, y, w; a, b) for operands of a type that op takes. An operation of
// one input is given it twice; w is nil unless there are three.
func (op Op) Run(t dtype.Type, g *Grid, z, x, y, w []byte, a, b float64) {
	C.h5k_elementwise(C.int(op), elementTypes.At(t)-1, g.c(), pointer(z), pointer(x), pointer(y), pointer(w), C.double(a), C.double(b))
}

// Copy sets z = x, for elements of a size of 1, 2, 4, 8 or 16 bytes.
func Copy(size int, g *Grid, z, x []byte) {
	C.h5k_copy(C.int(size), g.c(), pointer(z), pointer(x))
}

// Where sets z to x where cond holds and to y elsewhere, for elements of such a size.
func Where(size int, g *Grid, z, cond, x, y []byte) {
	C.h5k_where(C.int(size), g.c(), pointer(z), pointer(cond), pointer(x), pointer(y))
}

// Gather sets y, of elements of such a size, to x at the index along an axis of n elements, step apart; g describes
// y, x and the index, x with stride 0 along that axis. It reports false, having
// written nothing, if an index is not in [0, n).
func Gather(size int, g *Grid, step, n int, y, x, index []byte) bool {
	return C.h5k_gather_along(C.int(size), g.c(), C.int64_t(step), C.int64_t(n), pointer(y), pointer(x), (*C.int64_t)(pointer(index))) != 0
}

// Scatter sets y at the index along an axis to x, or adds x, in the order of g's first operand; the others are y, with
// stride 0 along that axis, x and the index. Elements are of type t, whose size Gather takes; for sums [Op.Takes] it.
func Scatter(add bool, t dtype.Type, g *Grid, step, n int, y, x, index []byte) bool {
	flag := C.int(0)
	if add {
		flag = 1
	}
	return C.h5k_scatter_along(flag, elementTypes.At(t)-1, C.int(t.Size()), g.c(), C.int64_t(step), C.int64_t(n), pointer(y), pointer(x), (*C.int64_t)(pointer(index))) != 0
}

// Cast sets z, of type to, to scale·x + offset, for x of type from: see [Castable].
func Cast(to, from dtype.Type, g *Grid, z, x []byte, scale, offset float64) {
	C.h5k_cast(castable.At(from)-1, elementTypes.At(to)-1, g.c(), pointer(z), pointer(x), C.double(scale), C.double(offset))
}

// Castable reports whether Cast takes elements of type from to type to. To 16-bit floats it takes the types whose elements
// are float32s.
func Castable(to, from dtype.Type) bool {
	return castable.At(from) != 0 && to.IsFloat() && isElement(to) && (to.Size() > 2 || from.Size() < 4 || from == dtype.Float32)
}

// castable is one more than C's number of a type.
var castable = dtype.TableOf(map[dtype.Type]C.int{
	dtype.Bool:     C.H5K_U8 + 1,
	dtype.Uint8:    C.H5K_U8 + 1,
	dtype.Uint16:   C.H5K_U16 + 1,
	dtype.Uint32:   C.H5K_U32 + 1,
	dtype.Uint64:   C.H5K_U64 + 1,
	dtype.Int8:     C.H5K_I8 + 1,
	dtype.Int16:    C.H5K_I16 + 1,
	dtype.Int32:    C.H5K_I32 + 1,
	dtype.Int64:    C.H5K_I64 + 1,
	dtype.Float32:  C.H5K_FROM_F32 + 1,
	dtype.Float64:  C.H5K_FROM_F64 + 1,
	dtype.Float16:  C.H5K_FROM_F16 + 1,
	dtype.BFloat16: C.H5K_FROM_BF16 + 1,
})

// A Reduction joins many elements to one: a line of reductions.h.
type Reduction struct {
	op  C.int
	any bool // whether it takes integers
}

// FindReduction returns the reduction of that name.
func FindReduction(name string) (op Reduction, ok bool) {
	line := C.CString(name)
	defer C.free(unsafe.Pointer(line))
	var takesAny C.int
	op.op = C.h5k_find_reduction(line, &takesAny)
	op.any = takesAny != 0
	return op, op.op >= 0
}

// Takes reports whether op has a loop for x of type t, or bools as bytes.
func (op Reduction) Takes(t dtype.Type) bool {
	return isElement(t) && t.IsFloat() || op.any && (t.IsInt() || t == dtype.Bool)
}

// Run sets y to the reduction of x over the axes of over, divided by divisor, for each place in
// kept, whose first array is x, second y and third m, unless that is nil. Op takes x of type t, and y of the same type or
// else of float64, int64 or, for x of uint64, uint64. Like all functions here that report, it reports
// false if there is no memory.
func (op Reduction) Run(t, to dtype.Type, kept, over *Grid, x, y, m []byte, divisor float64) bool {
	var wide C.int
	if to != t {
		wide = 1
	}
	kind := elementTypes.At(t) - 1
	if t == dtype.Bool {
		kind = C.H5K_EU8
	}
	return C.h5k_reduce(op.op, kind, wide, kept.c(), over.c(), pointer(x), pointer(y), pointer(m), C.double(divisor)) != 0
}

// MaxGrad sets dx = dy where x = y, divided among equal elements: kept describes dx, x, y
// and dy, over dx and x.
func MaxGrad(r ComputeType, kept, over *Grid, dx, x, y, dy []byte) {
	C.h5k_max_grad(C.int(r), kept.c(), over.c(), pointer(dx), pointer(x), pointer(y), pointer(dy))
}

// A RowOp computes along one axis.
type RowOp C.int

// The operations along an axis.
const (
	Softmax        RowOp = C.H5K_SOFTMAX
	LogSoftmax     RowOp = C.H5K_LOG_SOFTMAX
	SoftmaxGrad    RowOp = C.H5K_SOFTMAX_GRAD
	LogSoftmaxGrad RowOp = C.H5K_LOG_SOFTMAX_GRAD
	ArgMax         RowOp = C.H5K_ARGMAX
	// MaxIndex sets z to the largest element of x and y to its index, an int64.
	MaxIndex RowOp = C.H5K_MAX_INDEX
	CumSum   RowOp = C.H5K_CUMSUM
)

// Takes reports whether op has a loop for x of type t.
func (op RowOp) Takes(t dtype.Type) bool {
	return isElement(t) && (t.IsFloat() || op == ArgMax || op == MaxIndex)
}

// Run computes z from x and y, line by line: n elements, step apart in z, x and y. Op takes x of type t.
func (op RowOp) Run(t dtype.Type, kept *Grid, n int, step [3]int, z, x, y []byte) bool {
	return C.h5k_lines(C.int(op), elementTypes.At(t)-1, kept.c(), C.int64_t(n), C.int64_t(step[0]), C.int64_t(step[1]), C.int64_t(step[2]),
		pointer(z), pointer(x), pointer(y)) != 0
}

// An Order is a sorting of lines: h5k_order of loops.h, field by field.
type Order struct {
	Size, Kind, Descending int32
	Infinity               uint64
	N, K                   int64
	Step                   [3]int64
}

var _ [unsafe.Sizeof(C.h5k_order{})]byte = [unsafe.Sizeof(Order{})]byte{}

// OrderOf returns the order of elements of type t, which are not complex.
func OrderOf(t dtype.Type, descending bool) Order {
	o := Order{Size: int32(t.Size()), Kind: C.H5K_UNSIGNED}
	switch {
	case t.IsFloat():
		o.Kind = C.H5K_FLOATING
		o.Infinity = map[dtype.Type]uint64{dtype.Float16: 0x7c00, dtype.BFloat16: 0x7f80, dtype.Float32: 0x7f800000, dtype.Float64: 0x7ff << 52}[t]
	case t.IsSigned():
		o.Kind = C.H5K_SIGNED
	}
	if descending {
		o.Descending = 1
	}
	return o
}

// Run sets z to the first K elements of each line of N elements x, and index to their indices, int64. Kept describes
// z, x and index.
func (o *Order) Run(kept *Grid, z, x, index []byte) bool {
	return C.h5k_sort((*C.h5k_order)(unsafe.Pointer(o)), kept.c(), pointer(z), pointer(x), (*C.int64_t)(pointer(index))) != 0
}

// Labelled is rows of logits and their labels: the first fields of h5k_labelled of loops.h.
type Labelled struct {
	Rows, Cols, Row, Col int64 // shape and strides of x
	Step                 int64 // between labels, in elements
	Size, Sign           int32 // bytes of a label, and 1 if it is signed
}

func (l *Labelled) c() C.h5k_labelled {
	return C.h5k_labelled{
		rows: C.int64_t(l.Rows), cols: C.int64_t(l.Cols), row: C.int64_t(l.Row), col: C.int64_t(l.Col),
		step: C.int64_t(l.Step), size: C.int(l.Size), sign: C.int(l.Sign),
	}
}

// BadLabel returns the first row whose label is not a column of x, and the label; or -1.
func (l *Labelled) BadLabel(labels []byte) (row int, label int64) {
	in := l.c()
	var found C.int64_t
	row = int(C.h5k_bad_label(&in, pointer(labels), &found))
	return row, int64(found)
}

// Mask sets y, step elements apart, to 1, and to 0 where the label is ignored, if ignores. It returns the first row
// with any other label that is not a column of x, and the label; or -1.
func (l *Labelled) Mask(r ComputeType, labels, y []byte, step int, ignores bool, ignored int64) (row int, label int64) {
	in := l.c()
	var flag C.int
	if ignores {
		flag = 1
	}
	var found C.int64_t
	row = int(C.h5k_label_mask(C.int(r), &in, pointer(labels), flag, C.int64_t(ignored), pointer(y), C.int64_t(step), &found))
	return row, int64(found)
}

// CrossEntropy sets loss and, unless it is nil, dx, whose strides are row and col.
func (l *Labelled) CrossEntropy(r ComputeType, x, labels, loss, dx []byte, row, col int) bool {
	in := l.c()
	return C.h5k_cross_entropy(C.int(r), &in, pointer(x), pointer(labels), pointer(loss), pointer(dx), C.int64_t(row), C.int64_t(col)) != 0
}

// Correct returns how many rows have their maximum at their label.
func (l *Labelled) Correct(r ComputeType, x, labels []byte) int64 {
	in := l.c()
	return int64(C.h5k_correct(C.int(r), &in, pointer(x), pointer(labels)))
}

// Rows are matrices of adjacent elements in each row.
type Rows struct {
	N, Cols int
	Step    [3]int // from row to row
}

// LayerNorm normalizes the rows of x to y, whose steps are the first two. Gamma and beta are nil or as long as a row.
func (r Rows) LayerNorm(real ComputeType, epsilon float64, x, gamma, beta, y, mean, invstd []byte) {
	C.h5k_layer_norm(C.int(real), C.int64_t(r.N), C.int64_t(r.Cols), C.double(epsilon), C.int64_t(r.Step[0]), C.int64_t(r.Step[1]),
		pointer(x), pointer(gamma), pointer(beta), pointer(y), pointer(mean), pointer(invstd))
}

// LayerNormGrad sets the gradients of LayerNorm. Steps are those of x, dy and dx; gamma, dgamma and dbeta are nil or as
// long as a row.
func (r Rows) LayerNormGrad(real ComputeType, x, dy, mean, invstd, gamma, dx, dgamma, dbeta []byte) bool {
	return C.h5k_layer_norm_grad(C.int(real), C.int64_t(r.N), C.int64_t(r.Cols), C.int64_t(r.Step[0]), C.int64_t(r.Step[1]), C.int64_t(r.Step[2]),
		pointer(x), pointer(dy), pointer(mean), pointer(invstd), pointer(gamma), pointer(dx), pointer(dgamma), pointer(dbeta)) != 0
}

// The following functions take n contiguous elements.

// SquareSum returns Σ (scale·x)².
func SquareSum(r ComputeType, n int64, x []byte, scale float64) (sum float64, ok bool) {
	sum = float64(C.h5k_square_sum(C.int(r), C.int64_t(n), pointer(x), C.double(scale)))
	return sum, !(sum < 0)
}

// SquaredError sets loss to the mean of (x-y)² and, unless it is nil, dx.
func SquaredError(r ComputeType, n int64, x, y, loss, dx []byte) bool {
	return C.h5k_squared_error(C.int(r), C.int64_t(n), pointer(x), pointer(y), pointer(loss), pointer(dx)) != 0
}

// An Update is a line of updates.h.
type Update struct {
	line     int
	Buffers  int // of each parameter
	Changing int // how many numbers change from step to step
}

// The limits of an update.
const (
	Buffers  = 3
	Settings = 8
	Changing = 4
)

// Updates returns the lines of updates.h by name.
func Updates() map[string]Update {
	all := map[string]Update{}
	for i := 0; ; i++ {
		var buffers, changing C.int
		name := C.h5k_update_line(C.int(i), &buffers, &changing)
		if name == nil {
			return all
		}
		all[C.GoString(name)] = Update{i, int(buffers), int(changing)}
	}
}

// Apply updates p and its buffers s by the gradient g, with settings a and the numbers x that change; skipped is the
// number of steps that a loss scaler has skipped.
func (u Update) Apply(r ComputeType, n int64, g, p []byte, s *[Buffers][]byte, a *[Settings]float64, x *[Changing]float64, skipped float64) {
	C.h5k_update(C.int(u.line), C.int(r), C.int64_t(n), pointer(g), pointer(p), pointer(s[0]), pointer(s[1]), pointer(s[2]),
		(*C.double)(unsafe.Pointer(a)), (*C.double)(unsafe.Pointer(x)), C.double(skipped))
}

// ActGradBias sets dz = dy·act'(y), and db to its sums over rows, of rows × cols
// contiguous elements. The gradient of a relu is multiplied by scale.
func ActGradBias(r ComputeType, act int, scale float64, rows, cols int64, y, dy, dz, db []byte) bool {
	return C.h5k_act_grad_bias(C.int(act), C.double(scale), C.int(r), C.int64_t(rows), C.int64_t(cols), pointer(y), pointer(dy), pointer(dz), pointer(db)) != 0
}

// A Random is a kind of random numbers.
type Random C.int

// The kinds of random numbers.
const (
	Uniform Random = C.H5K_UNIFORM
	Normal  Random = C.H5K_NORMAL
	Dropout Random = C.H5K_DROPOUT
)

// Draw sets y, from x if it is a dropout. The grid's third array is row-major indices.
func (kind Random) Draw(r ComputeType, g *Grid, y, x []byte, seed, stream uint64, a, b float64) {
	C.h5k_draw(C.int(kind), C.int(r), g.c(), pointer(y), pointer(x), C.int64_t(g.First[2]), C.uint64_t(seed), C.uint64_t(stream), C.double(a), C.double(b))
}
