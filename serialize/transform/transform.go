// Package transform changes the contents of files of named arrays on their way from one
// file to another: it casts and quantizes elements, which are computed when they are read, array by
// array, and knows the names of optimizer state.
package transform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Replace returns contents with the entries that replace yields for each entry of c: none, one or
// several. replace is called with an entry, its error, and a function as the one of an iterator, whose result it returns.
func Replace(c serialize.Contents, replace func(e serialize.Entry, err error, yield func(serialize.Entry, error) bool) bool) serialize.Contents {
	entries := c.Entries
	c.Entries = func(yield func(serialize.Entry, error) bool) {
		for e, err := range entries {
			if !replace(e, err, yield) {
				return
			}
		}
	}
	return c
}

// optimizerNames are first parts of names under which programs keep optimizer state: run
// files of h5dnn, HDF5 checkpoints, Keras, PyTorch, and libraries on top of it.
var optimizerNames = []string{
	"optim", "optimizer", "optimizers", "optimizer_state", "optimizer_states", "optimizer_state_dict", "optimizer_weights",
	"optimizer_vars", "opt", "opt_state", "optim_state", "optim_state_dict",
}

// tensorFlowSlots are the last parts of the names of buffers of tf.compat.v1.train.Optimizer.
var tensorFlowSlots = []string{
	"Adam", "Adam_1", "Momentum", "RMSProp", "RMSProp_1", "RMSProp_2", "Adagrad", "Adadelta", "Adadelta_1", "Ftrl", "Ftrl_1",
}

// IsOptimizerState reports whether an array of that name is part of an optimizer's state, such
// as momentum: whether the name begins with optimizer/, optim/ or the like, or with
// optimizer.state. or optimizer_state_dict.; optim.weight is a parameter of a module that is
// called optim.
// Optimizers of TensorFlow keep their buffers below each parameter: w/Adam_1, or
// w/.OPTIMIZER_SLOT/optimizer/m.
func IsOptimizerState(name string) bool {
	if strings.Contains(name, "/.OPTIMIZER_SLOT/") || name == "beta1_power" || name == "beta2_power" {
		return true
	}
	if at := strings.LastIndexByte(name, '/'); at > 0 && slices.Contains(tensorFlowSlots, name[at+1:]) {
		return true
	}
	end := strings.IndexAny(name, "/.")
	if end < 0 || !slices.Contains(optimizerNames, strings.ToLower(name[:end])) {
		return false
	}
	first, rest := name[:end], name[end+1:]
	return name[end] == '/' || strings.Contains(first, "state") || strings.HasPrefix(rest, "state.") || strings.HasPrefix(rest, "param_groups.")
}

// groupsKey is the key of the settings in the state_dict of an optimizer of PyTorch.
const groupsKey = "param_groups/"

// OptimizerState returns the function that reports whether an array or a key of the metadata
// belongs to optimizer state in a file with that metadata. Besides [IsOptimizerState], it
// finds the optimizers of PyTorch under any name: GAN/state/0/exp_avg, if GAN/param_groups/0/lr
// is in the metadata.
func OptimizerState(meta map[string]string) func(name string) bool {
	found := map[string]bool{}
	for key := range meta {
		if at := strings.Index(key, groupsKey); at == 0 || at > 0 && key[at-1] == '/' {
			found[key[:at]] = true
		}
	}
	return func(name string) bool {
		if IsOptimizerState(name) {
			return true
		}
		for prefix := range found {
			if rest, below := strings.CutPrefix(name, prefix); below && (strings.HasPrefix(rest, "state/") || strings.HasPrefix(rest, groupsKey)) {
				return true
			}
		}
		return false
	}
}

// CastOptions configure Cast.
type CastOptions struct {
	To dtype.Type
	// Skip reports whether an array is left alone, such as optimizer state; nil to cast all. It is
	// called once for each array of floating-point numbers of another type.
	Skip func(name string) bool
	// Lost is called when a part of an array is read in which values are lost; nil if nobody
	// wants to know. Parts that are read again do not count again.
	Lost func(name string, lost RangeLoss)
}

// A RangeLoss counts the values of an array that another type does not have.
type RangeLoss struct {
	Beyond  int     // finite values beyond the range of the type
	Largest float64 // the largest absolute value of these
	Zeros   int     // values that became zero
	Small   float64 // the largest absolute value of these
}

// Add adds the values of another part of the array.
func (l *RangeLoss) Add(other RangeLoss) {
	l.Beyond, l.Largest = l.Beyond+other.Beyond, max(l.Largest, other.Largest)
	l.Zeros, l.Small = l.Zeros+other.Zeros, max(l.Small, other.Small)
}

// Cast converts arrays of floating-point numbers to another floating-point type, to the
// nearest number. Values beyond its range become infinite, or the largest value of
// float8_e4m3fn; values too small for it become zero. Other arrays are left alone.
func Cast(c serialize.Contents, o CastOptions) serialize.Contents {
	return Replace(c, func(e serialize.Entry, err error, yield func(serialize.Entry, error) bool) bool {
		if err == nil && e.Elements == nil && e.Array.Type.IsFloat() && e.Array.Type != o.To && (o.Skip == nil || !o.Skip(e.Name)) {
			e.Array.Data = &castSource{name: e.Name, data: e.Array.Data, from: e.Array.Type, size: e.Array.Len(), CastOptions: &o}
			e.Array.Type = o.To
		}
		return yield(e, err)
	})
}

// blockSize is the size in bytes of blocks that are read to be converted.
const blockSize = 4 << 20

// A castSource converts elements when they are read. Positions are those of data.
type castSource struct {
	name string
	data storage.Storage
	from dtype.Type
	size int          // elements of the array
	read atomic.Int64 // elements that were read so far
	*CastOptions
}

func (s *castSource) Len() int               { return s.data.Len() / s.from.Size() * s.To.Size() }
func (s *castSource) Device() storage.Device { return storage.File("converted") }

// ReadView implements storage.Source. Writers read each element once, and then perhaps all of
// them again for a checksum, in which values that are lost were counted before.
func (s *castSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != s.To {
		return fmt.Errorf("%v read as %v: %w", s.To, t, dtype.ErrType)
	}
	at := 0
	counted := s.Lost == nil || s.read.Add(int64(v.Len())) > int64(s.size)
	var lost RangeLoss
	for elems, err := range blocks.Elements(context.Background(), storage.Array{Data: s.data, Type: s.from, View: v}, blockSize) {
		if err != nil {
			return err
		}
		n := len(elems) / s.from.Size() * t.Size()
		convert := dtype.Convert
		if t == dtype.Float8E4M3 { // which has no infinities
			convert = dtype.Saturate
		}
		if err := convert(dst[at:][:n], t, elems, s.from); err != nil {
			return err
		}
		if !counted {
			lost.Add(rangeLoss(dst[at:][:n], t, elems, s.from))
		}
		at += n
	}
	if lost != (RangeLoss{}) {
		s.Lost(s.name, lost)
	}
	return nil
}

// endOfRange are the bits of +Inf, or of the largest number of a type without it, to which
// larger values are converted.
var endOfRange = map[dtype.Type]uint32{
	dtype.Float16: 0x7c00, dtype.BFloat16: 0x7f80, dtype.Float32: 0x7f80_0000, dtype.Float8E5M2: 0x7c, dtype.Float8E4M3: 0x7e,
}

// middleE4M3 is in the middle between 448, the largest number of float8_e4m3fn, and the next
// one that it would have.
const middleE4M3 = 464

// rangeLoss counts the elements of src that dst, to which they were converted, has as the end
// of its range or as zero.
func rangeLoss(dst []byte, to dtype.Type, src []byte, from dtype.Type) (lost RangeLoss) {
	end, limited := endOfRange[to]
	size := to.Size()
	if !limited || size > from.Size() || from == dtype.BFloat16 && to == dtype.Float32 {
		return lost
	}
	x := make([]float64, 1)
	for i := 0; i*size < len(dst); i++ {
		bits := withoutSign(dst[i*size:][:size])
		if bits != 0 && bits != uint64(end) {
			continue
		}
		elem := src[i*from.Size():][:from.Size()]
		if bits == 0 && withoutSign(elem) == 0 {
			continue
		}
		if err := dtype.Convert(dtype.Bytes(x), dtype.Float64, elem, from); err != nil || math.IsInf(x[0], 0) {
			continue
		}
		switch abs := math.Abs(x[0]); {
		case bits == 0:
			lost.Zeros, lost.Small = lost.Zeros+1, max(lost.Small, abs)
		case to != dtype.Float8E4M3 || abs >= middleE4M3:
			lost.Beyond, lost.Largest = lost.Beyond+1, max(lost.Largest, abs)
		}
	}
	return lost
}

// withoutSign returns the bits of a floating-point number but for its sign.
func withoutSign(elem []byte) uint64 {
	switch len(elem) {
	case 1:
		return uint64(elem[0] & 0x7f)
	case 2:
		return uint64(binary.NativeEndian.Uint16(elem) & 0x7fff)
	case 4:
		return uint64(binary.NativeEndian.Uint32(elem) & math.MaxInt32)
	}
	return binary.NativeEndian.Uint64(elem) & math.MaxInt64
}

// ScaleSuffix ends the names of scales.
const ScaleSuffix = ".scale"

// QuantizeOptions configure Quantize.
type QuantizeOptions struct {
	// Axis returns the axis of output channels of an array, each of which has a scale: 0 for
	// most of PyTorch, -1 for most of Keras. An axis from the end is negative. If ok is
	// false, the array is left alone. Without Axis, it is 0 for all arrays.
	Axis func(name string) (axis int, ok bool)
}

// Quantize converts arrays of floating-point numbers with two axes or more to int8. The
// largest absolute value of each output channel becomes 127: x ≈ q·scale. The scales follow
// as a float32 array of the same name with ScaleSuffix, one for each channel. Other arrays,
// such as biases, are left alone. Values that are not finite are an error.
func Quantize(c serialize.Contents, o QuantizeOptions) serialize.Contents {
	shared := map[string][]*quantizedArray{}
	return Replace(c, func(e serialize.Entry, err error, yield func(serialize.Entry, error) bool) bool {
		at, ok := 0, true
		if o.Axis != nil {
			at, ok = o.Axis(e.Name)
		}
		if err != nil || e.Elements != nil || !e.Array.Type.IsFloat() || e.Array.Rank() < 2 || !ok {
			return yield(e, err)
		}
		axis, err := views.Axis(at, e.Array.Rank())
		if err != nil {
			return yield(e, err)
		}
		q := quantizedOf(shared, e, axis)
		weight, scale := e, serialize.Entry{Name: e.Name + ScaleSuffix, Shared: q.share("scale")}
		weight.Shared = q.share("elements")
		weight.Array = blocks.Compute(dtype.Int8, e.Array.Shape, q.writeElements)
		scale.Array = blocks.Compute(dtype.Float32, e.Array.Shape[axis:axis+1], q.writeScales)
		return yield(weight, nil) && yield(scale, nil)
	})
}

// quantizedOf returns the quantized form of an entry, the same for the same elements and axis.
func quantizedOf(shared map[string][]*quantizedArray, e serialize.Entry, axis int) *quantizedArray {
	elements := e.SharedElements()
	for _, q := range shared[elements] {
		if q.axis == axis {
			return q
		}
	}
	q := &quantizedArray{entry: e, axis: axis}
	if elements != "" {
		shared[elements] = append(shared[elements], q)
	}
	return q
}

// A quantizedArray is computed when it is read, once its scales are known, which takes all
// of its elements. The scales are kept.
type quantizedArray struct {
	entry serialize.Entry
	axis  int

	mu     sync.Mutex
	scales []float32
}

func (q *quantizedArray) share(part string) string {
	if q.entry.Shared == "" {
		return ""
	}
	return fmt.Sprintf("%s along %d of %s %v", part, q.axis, q.entry.Shared, q.entry.Array.View)
}

// channel returns the channel of element i in row-major order.
func (q *quantizedArray) channel() func(i int) int {
	shape := q.entry.Array.Shape
	inner := views.Of(shape[q.axis+1:]...).Len()
	return func(i int) int { return i / inner % shape[q.axis] }
}

// each calls use with consecutive elements and the number of the first.
func (q *quantizedArray) each(use func(at int, xs []float32)) error {
	a, at := q.entry.Array, 0
	var xs []float32
	for elems, err := range blocks.Elements(context.Background(), a, blockSize) {
		if err != nil {
			return err
		}
		n := len(elems) / a.Type.Size()
		xs = slices.Grow(xs[:0], n)[:n]
		if err := dtype.Convert(dtype.Bytes(xs), dtype.Float32, elems, a.Type); err != nil {
			return err
		}
		use(at, xs)
		at += n
	}
	return nil
}

var errNotFinite = errors.New("a value that is not finite, and has no place in int8")

// scale returns the scales.
func (q *quantizedArray) scale() ([]float32, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.scales != nil {
		return q.scales, nil
	}
	most := make([]float32, q.entry.Array.Shape[q.axis])
	channel, finite := q.channel(), true
	err := q.each(func(at int, xs []float32) {
		for i, x := range xs {
			x = float32(math.Abs(float64(x)))
			if finite = finite && x <= math.MaxFloat32; !finite {
				return
			}
			if k := channel(at + i); x > most[k] {
				most[k] = x
			}
		}
	})
	if err == nil && !finite {
		err = fmt.Errorf("%q: %w", q.entry.Name, errNotFinite)
	}
	if err != nil {
		return nil, err
	}
	for k, m := range most {
		if most[k] = m / 127; most[k] == 0 { // no values but zeros, or hardly any
			most[k] = 1
		}
	}
	q.scales = most
	return most, nil
}

// writeScales writes scales to dst.
func (q *quantizedArray) writeScales(dst storage.Array, b views.Box) error {
	scales, err := q.scale()
	if err != nil {
		return err
	}
	a := storage.From(scales, len(scales))
	return a.With(b.Of(a.View)).CopyTo(dst)
}

// writeElements writes quantized elements to dst.
func (q *quantizedArray) writeElements(dst storage.Array, b views.Box) error {
	scales, err := q.scale()
	if err != nil {
		return err
	}
	a := q.entry.Array.With(b.Of(q.entry.Array.View))
	most := min(a.Len(), blockSize/4)
	xs, elems := make([]float32, most), make([]int8, most)
	for part := range blocks.Parts(a.Shape, most) {
		from, to := a.With(part.Of(a.View)), dst.With(part.Of(dst.View))
		n := from.Len()
		if err := from.CopyTo(storage.From(xs[:n], from.Shape...)); err != nil {
			return err
		}
		first, step := b.Start[q.axis]+part.Start[q.axis]*b.Step[q.axis], part.Step[q.axis]*b.Step[q.axis]
		inner := views.Of(part.Count[q.axis+1:]...).Len() // consecutive elements of one channel
		for i, k := 0, 0; i < n; i, k = i+inner, (k+1)%part.Count[q.axis] {
			scale := float64(scales[first+k*step])
			for j, x := range xs[i:][:inner] {
				elems[i+j] = int8(max(-127, min(127, math.RoundToEven(float64(x)/scale))))
			}
		}
		if err := storage.From(elems[:n], from.Shape...).CopyTo(to); err != nil {
			return err
		}
	}
	return nil
}
