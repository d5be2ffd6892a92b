package launch

import (
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
)

// A Tiled product is computed by product.cuh in tiles: a matrix product, a convolution or one of
// its gradients.
type Tiled interface {
	// Size returns the numbers of batches, rows and columns, and of products in each sum.
	Size() [4]int
	// Halves splits it in two along one of those sides.
	SplitTile(side int) (first, rest Tiled)
	// Extent returns the extent of its tiles, split if that is possible.
	Extent() Extent
	// Tiles returns the name of its entry and the arguments; partial sums are written to part.
	Tiles(e Extent, part uint64) (entry string, args []byte)
	// Sums returns the arguments of the entry that adds the partial sums at part, if Even.
	Sums(e Extent, part uint64) (entry string, args []byte)
	Even() bool
}

// The sides of a Tiled product.
const (
	BatchSide = iota
	RowSide
	ColumnSide
	SumSide
	noSide = -1
)

// An Extent is Extent of product.cuh.
type Extent struct{ M, N, K, Splits, XOrder, YOrder uint32 }

// ExtentOf is the Extent of a product of that size.
func ExtentOf(size [4]int) Extent {
	return Extent{M: uint32(size[RowSide]), N: uint32(size[ColumnSide]), K: uint32(size[SumSide]), Splits: 1}
}

// The order of a factor's elements: DOWN and FOURS of product.cuh.
const (
	Transposed = 1 << iota // along rows of x or columns of y, not along the sum
	Vec4                   // in whole, aligned fours, or eights of halves
)

// Split splits long sums of small products, into at least that many parts, so that each multiprocessor of a
// large GPU has two blocks. The parts, and so the results, depend on the Extent only.
func (e *Extent) Split(least int) {
	rows, columns := e.tile()
	tiles := Ceil(int(e.M), rows) * Ceil(int(e.N), columns)
	e.Splits = uint32(max(least, min(2*132/tiles, int(e.K)/256, 64)))
}

// tile is the number of rows and columns that a block computes.
func (e *Extent) tile() (rows, columns int) {
	if e.N <= 32 {
		return 128, 32
	}
	return 64, 64
}

// tileThreads is the number of threads of a block that computes a tile.
const tileThreads = 128

// Tiles computes p, for elements of a type.
func (t Target) Tiles(elem dtype.Type, p Tiled) error {
	if n := p.Size(); n[RowSide] == 0 || n[ColumnSide] == 0 {
		return nil
	}
	if side := oversized(p); side != noSide {
		first, rest := p.SplitTile(side)
		if err := t.Tiles(elem, first); err != nil {
			return err
		}
		return t.Tiles(elem, rest)
	}
	pieces, splits := shorter(p), 0
	for i := range pieces {
		if len(pieces) > 1 {
			pieces[i].e.Split(2) // without splits there are no partial sums to add
		}
		splits += int(pieces[i].e.Splits)
	}
	if splits == 1 {
		return t.tilePiece(elem, pieces[0], p.Size()[BatchSide], 0)
	}
	e := pieces[0].e
	bytes := int(e.M) * int(e.N) * max(elem.Size(), 4)
	return t.Workspace(splits*bytes, func(address uint64) error {
		at := address
		for _, piece := range pieces {
			if err := t.tilePiece(elem, piece, 1, at); err != nil {
				return err
			}
			at += uint64(bytes) * uint64(piece.e.Splits)
		}
		e.Splits = uint32(splits)
		code, args := p.Sums(e, address)
		return t.start(Entry(code+" splits", elem), int64(e.M)*int64(e.N), args)
	})
}

// longSums is the number of sums that are computed together if their partial sums are stored.
const longSums = 1 << 20

// oversized returns the side along which p is too large for a launch, or noSide. Sums may be of any
// length if their partial sums can be added.
func oversized(p Tiled) int {
	n := p.Size()
	switch {
	case int64(n[RowSide]) >= most:
		return RowSide
	case int64(n[ColumnSide]) >= min(most, 64*MaxY):
		return ColumnSide
	case int64(n[SumSide]) < most:
		return noSide
	case n[BatchSide] > 1:
		return BatchSide
	case !p.Even():
		return RowSide
	case int64(n[RowSide])*int64(n[ColumnSide]) < min(most, longSums):
		return noSide
	case n[RowSide] > n[ColumnSide]:
		return RowSide
	}
	return ColumnSide
}

// A piece is a tiled product whose sums are short enough for a launch.
type piece struct {
	Tiled
	e Extent
}

// shorter splits p along its sums into pieces.
func shorter(p Tiled) []piece {
	if int64(p.Size()[SumSide]) < most {
		return []piece{{p, p.Extent()}}
	}
	first, rest := p.SplitTile(SumSide)
	return append(shorter(first), shorter(rest)...)
}

// tilePiece launches a piece's tiles.
func (t Target) tilePiece(elem dtype.Type, p piece, batches int, part uint64) error {
	code, args := p.Tiles(p.e, part)
	if p.e.N <= 32 {
		code += " thin"
	}
	rows, columns := p.e.tile()
	blocks := [3]uint32{uint32(Ceil(int(p.e.M), rows)), uint32(Ceil(int(p.e.N), columns)), uint32(min(batches*int(p.e.Splits), MaxY))}
	return t.Launch(t.rounded(Entry(code, elem)), blocks, tileThreads, args)
}

// rounded names the entry that rounds factors to TF32, where the GPU is allowed to.
func (t Target) rounded(entry string) string {
	if r, ok := Library[Rounder](t); ok && r.RoundsToTF32() && strings.HasSuffix(entry, "_f32") {
		return strings.TrimSuffix(entry, "f32") + "tf32"
	}
	return entry
}
