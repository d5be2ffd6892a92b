// Package transform changes the contents of files of named arrays on their way from one
// file to another: it leaves out optimizer state and casts elements. Elements are computed
// when they are read, array by array.
package transform

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Entries is what files yield and what is written.
type Entries = iter.Seq2[serialize.Entry, error]

// optimizerNames are first parts of names under which programs keep optimizer state: run
// files of h5dnn, HDF5 checkpoints, Keras, PyTorch, and libraries on top of it.
var optimizerNames = []string{
	"optim", "optimizer", "optimizers", "optimizer_state", "optimizer_states", "optimizer_state_dict", "optimizer_weights",
	"optimizer_vars", "opt", "opt_state", "optim_state", "optim_state_dict",
}

// IsOptimizerState reports whether an array of that name is part of an optimizer's state, such
// as momentum: whether the name begins with optimizer/, optim/ or the like. Parts of names end
// at "/" and ".".
func IsOptimizerState(name string) bool {
	first := name
	if end := strings.IndexAny(name, "/."); end >= 0 {
		first = name[:end]
	} else {
		return false
	}
	return slices.Contains(optimizerNames, strings.ToLower(first))
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

// WithoutOptimizerState leaves out the arrays of optimizer state, as a function that
// OptimizerState returns knows it, and calls dropped for each.
func WithoutOptimizerState(entries Entries, isState func(name string) bool, dropped func(serialize.Entry)) Entries {
	return func(yield func(serialize.Entry, error) bool) {
		for e, err := range entries {
			if isState(e.Name) {
				dropped(e)
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Cast converts arrays of floating-point numbers to another floating-point type, to the
// nearest number. Values beyond its range become infinite, or the largest value of
// float8_e4m3fn. Other arrays are left alone.
func Cast(entries Entries, to dtype.Type) Entries {
	return func(yield func(serialize.Entry, error) bool) {
		for e, err := range entries {
			if err == nil && e.Elements == nil && e.Array.Type.IsFloat() && e.Array.Type != to {
				e.Array.Data = castSource{data: e.Array.Data, from: e.Array.Type, to: to}
				e.Array.Type = to
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A castSource converts elements when they are read. Positions are those of data.
type castSource struct {
	data     storage.Storage
	from, to dtype.Type
}

func (s castSource) Len() int               { return s.data.Len() / s.from.Size() * s.to.Size() }
func (s castSource) Device() storage.Device { return storage.File("converted") }

func (s castSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != s.to {
		return fmt.Errorf("%v read as %v: %w", s.to, t, dtype.ErrType)
	}
	at := 0
	for elems, err := range blocks.Elements(context.Background(), storage.Array{Data: s.data, Type: s.from, View: v}, blocks.Size) {
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
		at += n
	}
	return nil
}

// ScaleSuffix ends the names of scales.
const ScaleSuffix = ".scale"

// QuantizeOptions configure Quantize.
type QuantizeOptions struct {
	// Axis is the axis of output channels, each of which has a scale: 0 in PyTorch, -1 in
	// Keras. An axis from the end is negative.
	Axis int
}

// Quantize converts arrays of floating-point numbers with two axes or more to int8. The
// largest absolute value of each output channel becomes 127: x ≈ q·scale. The scales follow
// as a float32 array of the same name with ScaleSuffix, one for each channel. Other arrays,
// such as biases, are left alone. Values that are not finite are an error.
func Quantize(entries Entries, o QuantizeOptions) Entries {
	return func(yield func(serialize.Entry, error) bool) {
		shared := map[string][]*quantized{}
		for e, err := range entries {
			if err != nil || e.Elements != nil || !e.Array.Type.IsFloat() || e.Array.Rank() < 2 {
				if !yield(e, err) {
					return
				}
				continue
			}
			axis, err := views.Axis(o.Axis, e.Array.Rank())
			if err != nil {
				yield(e, fmt.Errorf("%q: %w", e.Name, err))
				return
			}
			q := quantizedOf(shared, e, axis)
			weight, scale := e, serialize.Entry{Name: e.Name + ScaleSuffix, Shared: q.share("scale")}
			weight.Shared = q.share("elements")
			weight.Array = storage.Array{Data: quantizedElements{q}, Type: dtype.Int8, View: views.Of(e.Array.Shape...)}
			scale.Array = storage.Array{Data: quantizedScales{q}, Type: dtype.Float32, View: views.Of(e.Array.Shape[axis])}
			if !yield(weight, nil) || !yield(scale, nil) {
				return
			}
		}
	}
}

// quantizedOf returns the quantized form of an entry, the same for the same elements.
func quantizedOf(shared map[string][]*quantized, e serialize.Entry, axis int) *quantized {
	for _, q := range shared[e.Shared] {
		if e.SameElements(q.entry) {
			return q
		}
	}
	q := &quantized{entry: e, axis: axis}
	if e.Shared != "" {
		shared[e.Shared] = append(shared[e.Shared], q)
	}
	return q
}

// A quantized array is computed as a whole when it is first read. Elements are kept until
// the last of them is read, scales for good.
type quantized struct {
	entry serialize.Entry
	axis  int

	mu     sync.Mutex
	scales []float32
	kept   []int8
}

func (q *quantized) share(part string) string {
	if q.entry.Shared == "" {
		return ""
	}
	return fmt.Sprintf("%s %s %v", part, q.entry.Shared, q.entry.Array.View)
}

// channel returns the channel of element i in row-major order.
func (q *quantized) channel() func(i int) int {
	shape := q.entry.Array.Shape
	inner := views.Of(shape[q.axis+1:]...).Len()
	return func(i int) int { return i / inner % shape[q.axis] }
}

// each calls use with consecutive elements and the number of the first.
func (q *quantized) each(use func(at int, xs []float32)) error {
	a, at := q.entry.Array, 0
	var xs []float32
	for elems, err := range blocks.Elements(context.Background(), a, 4<<20) {
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
func (q *quantized) scale() ([]float32, error) {
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

func (q *quantized) elements() ([]int8, error) {
	if q.kept != nil {
		return q.kept, nil
	}
	scales, err := q.scale()
	if err != nil {
		return nil, err
	}
	elems, channel := make([]int8, q.entry.Array.Len()), q.channel()
	err = q.each(func(at int, xs []float32) {
		for i, x := range xs {
			y := math.RoundToEven(float64(x) / float64(scales[channel(at+i)]))
			elems[at+i] = int8(max(-127, min(127, y)))
		}
	})
	if err != nil {
		return nil, err
	}
	q.kept = elems
	return elems, nil
}

// read copies what v selects of elements.
func read[T dtype.Go](q *quantized, compute func() ([]T, error), dst []byte, t dtype.Type, v views.View) error {
	if t != dtype.Of[T]() {
		return fmt.Errorf("%v read as %v: %w", dtype.Of[T](), t, dtype.ErrType)
	}
	q.mu.Lock()
	elems, err := compute()
	q.mu.Unlock()
	if err != nil {
		return err
	}
	if !v.Within(len(elems)) {
		return fmt.Errorf("%v reaches outside of %d elements: %w", v.Shape, len(elems), views.ErrShape)
	}
	storage.Gather(dst, dtype.Bytes(elems), t, v)
	return nil
}

type quantizedElements struct{ *quantized }

func (q quantizedElements) Len() int               { return q.entry.Array.Len() }
func (q quantizedElements) Device() storage.Device { return storage.File("converted") }
func (q quantizedElements) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if err := read(q.quantized, q.elements, dst, t, v); err != nil {
		return err
	}
	if _, last := v.Bounds(); last == q.Len()-1 {
		q.mu.Lock()
		q.kept = nil
		q.mu.Unlock()
	}
	return nil
}

type quantizedScales struct{ *quantized }

func (q quantizedScales) Len() int               { return 4 * q.entry.Array.Shape[q.axis] }
func (q quantizedScales) Device() storage.Device { return storage.File("converted") }
func (q quantizedScales) ReadView(dst []byte, t dtype.Type, v views.View) error {
	return read(q.quantized, q.scale, dst, t, v)
}
