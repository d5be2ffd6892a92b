// Package diff compares files of named arrays, in any formats, by name: shapes, types, and
// elements with their absolute and relative errors and distances in units in the last
// place (ULP).
package diff

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/cmplx"
	"slices"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// Options configure Files. The zero value asks for equal elements.
type Options struct {
	// Elements x and y are equal if |x - y| is at most Absolute + Relative·|y|, as with
	// numpy.allclose, or if both are NaN. Parts of complex numbers are NaN each by itself.
	Absolute, Relative float64
	IgnoreTypes        bool // arrays of different types may be equal
	IgnoreNames        bool // of files with one array each, which is called like the file in some formats
}

// A Report says how two files differ.
type Report struct {
	Equal        int     // arrays that are equal
	Differ       []Array // the others that are in both files, the worst first
	OnlyA, OnlyB []string
}

// Same reports whether the files are equal.
func (r Report) Same() bool { return len(r.Differ)+len(r.OnlyA)+len(r.OnlyB) == 0 }

// An Array says how two arrays of one name differ.
type Array struct {
	Name           string
	TypeA, TypeB   string
	ShapeA, ShapeB []int
	Err            error // why the elements were not compared

	Elements  int        // of the array
	Different int        // beyond the tolerance
	Absolute  float64    // the largest |x - y| of the different elements
	Relative  float64    // the largest |x - y| / max(|x|, |y|) of them, at most 2
	ULP       float64    // the largest distance in units in the last place; NaN if the types differ or have no fractions, +Inf if an element is NaN
	Worst     []int      // index of the largest relative error
	X, Y      complex128 // the elements at Worst
	Integers  [2]string  // them with all digits, if both types are of integers
}

// Files compares the arrays of a and b, one after the other.
func Files(ctx context.Context, a, b serialize.File, o Options) (Report, error) {
	var r Report
	others, err := listOf(b)
	if err != nil {
		return r, err
	}
	find := others.Index
	if o.IgnoreNames && others.Len() == 1 {
		if only, err := listOf(a); err == nil && only.Len() == 1 {
			find = only.Index
		}
	}
	compared := make([]bool, others.Len())
	for e, failed := range a.All() {
		if e.Name == "" && failed != nil && e.Array.Data == nil && e.Elements == nil {
			return r, failed
		}
		i, ok := find(e.Name)
		if !ok || compared[i] {
			r.OnlyA = append(r.OnlyA, e.Name)
			continue
		}
		compared[i] = true
		other, otherErr := others.At(i)
		d, err := compare(ctx, entry{e, failed}, entry{other, otherErr}, o)
		if err != nil {
			return r, err
		}
		if d.equal(o) {
			r.Equal++
		} else {
			r.Differ = append(r.Differ, d)
		}
	}
	for i, done := range compared {
		if !done {
			e, _ := others.At(i)
			r.OnlyB = append(r.OnlyB, e.Name)
		}
	}
	slices.SortStableFunc(r.Differ, func(x, y Array) int { return cmp.Compare(y.rank(), x.rank()) })
	return r, nil
}

// NamedByFile reports whether the array of a file has the name of the file, as in formats of
// one array and in a .pt of a bare tensor.
func NamedByFile(name string, file serialize.File, format serialize.Format) bool {
	n, named := 0, false
	for e := range file.All() {
		if n++; n > 1 {
			return false
		}
		named = e.Name == serialize.Input{Name: name}.ArrayName()
	}
	return named || format.Single
}

type entry struct {
	serialize.Entry
	err error
}

// listOf returns the entries of a file, or its error. A duplicate name cannot be read.
func listOf(f serialize.File) (*serialize.List, error) {
	if list, ok := f.(*serialize.List); ok {
		return list, nil
	}
	list := serialize.NewList(0, nil, f.Close)
	for e, err := range f.All() {
		if e.Name == "" && err != nil && e.Array.Data == nil && e.Elements == nil {
			return nil, err
		}
		list.AddMarkingDuplicates(e, err)
	}
	return list, nil
}

// rank orders arrays by how much they differ: those that cannot be compared first.
func (a Array) rank() float64 {
	if a.Err != nil || !slices.Equal(a.ShapeA, a.ShapeB) || math.IsNaN(a.Relative) {
		return math.Inf(1)
	}
	return a.Relative
}

func (a Array) equal(o Options) bool {
	return a.Err == nil && a.Different == 0 && slices.Equal(a.ShapeA, a.ShapeB) && (a.TypeA == a.TypeB || o.IgnoreTypes)
}

func compare(ctx context.Context, a, b entry, o Options) (Array, error) {
	d := Array{Name: a.Name, ULP: math.NaN(), TypeA: a.Type(), TypeB: b.Type(), ShapeA: a.Shape(), ShapeB: b.Shape()}
	if d.Err = cmp.Or(a.err, b.err); d.Err != nil || !slices.Equal(d.ShapeA, d.ShapeB) {
		return d, ctx.Err()
	}
	if a.Elements != nil || b.Elements != nil {
		d.Err = d.compareElements(ctx, a, b)
		return d, ctx.Err()
	}
	d.Elements = a.Array.Len()
	if a.Array.Type == b.Array.Type && a.Array.Type.IsFloat() {
		d.ULP = 0
	}
	d.Err = d.compareArrays(ctx, a.Array, b.Array, o)
	return d, ctx.Err()
}

// compareElements compares elements that are not numbers.
func (d *Array) compareElements(ctx context.Context, a, b entry) error {
	if a.Elements == nil || b.Elements == nil || a.Elements.Values == nil || b.Elements.Values == nil {
		return fmt.Errorf("elements of type %s and %s cannot be compared: %w", d.TypeA, d.TypeB, dtype.ErrType)
	}
	d.Elements = a.View().Len()
	at := 0
	for box := range blocks.Parts(d.ShapeA, elementBlock) {
		x, err1 := a.Elements.Values(box.Of(a.View()))
		y, err2 := b.Elements.Values(box.Of(b.View()))
		if err := errors.Join(err1, err2, ctx.Err()); err != nil {
			return err
		}
		if len(x) != len(y) {
			return fmt.Errorf("%d and %d elements were read: %w", len(x), len(y), storage.ErrState)
		}
		for i := range x {
			if fmt.Sprint(x[i]) != fmt.Sprint(y[i]) {
				if d.Different++; d.Different == 1 {
					d.Worst = blocks.Index(at+i, d.ShapeA)
				}
			}
		}
		at += len(x)
	}
	return nil
}

// elementBlock is the number of elements that are not numbers which are compared at a time.
const elementBlock = 1 << 14

// blockSize is the number of elements that are compared at a time.
const blockSize = 1 << 18

// compareArrays compares elements in the order in which a stores them: an array whose axes are
// reversed would be in memory as a whole otherwise. Of what was never written to either array, it
// compares one element.
func (d *Array) compareArrays(ctx context.Context, a, b storage.Array, o Options) error {
	c := comparison{Array: d, Options: o, order: blocks.StorageOrder(a.View)}
	at := 0
	for p, err := range blocks.Pairs(ctx, blocks.Permuted(a, c.order), blocks.Permuted(b, c.order)) {
		if err != nil {
			return err
		}
		if p.Unwritten() {
			before := d.Different
			err = c.compareBlock(at, p.FillA, a.Type, p.FillB, b.Type)
			if d.Different > before {
				d.Different = before + p.A.Len()
			}
		} else {
			err = c.compareStored(ctx, at, p.A, p.B)
		}
		if err != nil {
			return err
		}
		at += p.A.Len()
	}
	return nil
}

// A comparison goes through the elements of two arrays with their axes in some order.
type comparison struct {
	*Array
	Options
	order []int
}

// compareStored compares elements that are read. The first one is the at-th of the comparison.
func (d *comparison) compareStored(ctx context.Context, at int, a, b storage.Array) error {
	nextB, stop := iter.Pull2(blocks.Elements(ctx, b, blockSize*b.Type.Size()))
	defer stop()
	var restB []byte
	for x, err := range blocks.Elements(ctx, a, blockSize*a.Type.Size()) {
		if err != nil {
			return err
		}
		for len(x) > 0 {
			if len(restB) == 0 {
				more, err, ok := nextB()
				if err != nil || !ok {
					return errors.Join(err, ctx.Err())
				}
				restB = more
			}
			n := min(len(x)/a.Type.Size(), len(restB)/b.Type.Size())
			if n == 0 {
				return fmt.Errorf("elements end within a block: %w", storage.ErrState)
			}
			p, q := x[:n*a.Type.Size()], restB[:n*b.Type.Size()]
			if a.Type != b.Type || !bytes.Equal(p, q) {
				if err := d.compareBlock(at, p, a.Type, q, b.Type); err != nil {
					return err
				}
			}
			x, restB, at = x[len(p):], restB[len(q):], at+n
		}
	}
	return nil
}

// compareBlock compares elements. The first one is the at-th of the comparison.
func (d *comparison) compareBlock(at int, p []byte, tp dtype.Type, q []byte, tq dtype.Type) error {
	n := len(p) / tp.Size()
	xs, ys := make([]complex128, n), make([]complex128, n)
	err := errors.Join(dtype.Convert(dtype.Bytes(xs), dtype.Complex128, p, tp), dtype.Convert(dtype.Bytes(ys), dtype.Complex128, q, tq))
	if err != nil {
		return err
	}
	wide := tp.IsInt() && tp.Size() == 8 || tq.IsInt() && tq.Size() == 8
	for i := range n {
		x, y := xs[i], ys[i]
		apart := cmplx.Abs(x - y)
		switch {
		case same(real(x), real(y)) && same(imag(x), imag(y)):
			if !wide || math.Abs(real(x)) < 1<<53 { // which float64 holds
				continue
			}
			if apart = exactlyApart(p[i*tp.Size():], tp, q[i*tq.Size():], tq); apart == 0 {
				continue
			}
		case hasNaN(x) || hasNaN(y):
			apart = math.Inf(1)
		}
		if !math.IsInf(apart, 1) && apart <= d.Options.Absolute+d.Options.Relative*cmplx.Abs(y) { // which may be infinite
			continue
		}
		relative := apart / max(cmplx.Abs(x), cmplx.Abs(y))
		if math.IsNaN(relative) { // infinite
			relative = 2
		}
		if d.Different++; relative > d.Array.Relative || d.Different == 1 {
			d.Array.Relative, d.X, d.Y, d.Worst = relative, x, y, d.index(at+i)
			if tp.IsInt() && tq.IsInt() {
				d.Integers = [2]string{integer(p[i*tp.Size():], tp).String(), integer(q[i*tq.Size():], tq).String()}
			}
		}
		d.Array.Absolute = max(d.Array.Absolute, apart)
		switch {
		case math.IsNaN(d.ULP):
		case hasNaN(x) || hasNaN(y):
			d.ULP = math.Inf(1)
		default:
			d.ULP = max(d.ULP, ulps(p[i*tp.Size():][:tp.Size()], q[i*tp.Size():][:tp.Size()]))
		}
	}
	return nil
}

// same reports whether two floats are equal or both NaN.
func same(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

func hasNaN(x complex128) bool { return math.IsNaN(real(x)) || math.IsNaN(imag(x)) }

// exactlyApart returns the distance between the first elements of p and q, which are equal as
// float64 and of which one is an integer of 64 bits.
func exactlyApart(p []byte, tp dtype.Type, q []byte, tq dtype.Type) float64 {
	x, y := integer(p, tp), integer(q, tq)
	if x == nil || y == nil {
		return 0
	}
	apart, _ := new(big.Float).SetInt(x.Sub(x, y)).Float64()
	return math.Abs(apart)
}

// integer returns the first element of b, or nil if it is no integer.
func integer(b []byte, t dtype.Type) *big.Int {
	if t.IsInt() {
		x, _ := new(big.Int).SetString(arrayfmt.Cells(t, b[:t.Size()])[0], 10)
		return x
	}
	var wide [1]complex128
	if dtype.Convert(dtype.Bytes(wide[:]), dtype.Complex128, b[:t.Size()], t) != nil || math.IsInf(real(wide[0]), 0) || math.IsNaN(real(wide[0])) {
		return nil
	}
	x, _ := big.NewFloat(real(wide[0])).Int(nil)
	return x
}

// index returns the index of the i-th element of the comparison.
func (d *comparison) index(i int) []int {
	shape := make([]int, len(d.order))
	for k, axis := range d.order {
		shape[k] = d.ShapeA[axis]
	}
	index := make([]int, len(d.order))
	for k, n := range blocks.Index(i, shape) {
		index[d.order[k]] = n
	}
	return index
}

// ulps returns how many floating-point numbers lie between two of the same type, the second
// included.
func ulps(p, q []byte) float64 {
	x, y := ordinal(p), ordinal(q)
	if x > y {
		x, y = y, x
	}
	return float64(uint64(y) - uint64(x))
}

// ordinal numbers floats in their order, from 0 for zero.
func ordinal(b []byte) int64 {
	var word [8]byte
	copy(word[:], b)
	bits := int64(binary.LittleEndian.Uint64(word[:]))
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		bits = int64(binary.NativeEndian.Uint64(word[:]) >> (64 - 8*len(b)))
	}
	sign := int64(1) << (8*len(b) - 1)
	if bits&sign != 0 {
		return -(bits & (sign - 1))
	}
	return bits
}
