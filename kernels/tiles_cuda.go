package kernels

import (
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
)

// A tiled product of matrices is one that the code of product.cuh computes, by tiles: a
// matrix product, or one of the three that a convolution is.
type tiled interface {
	// size is how many batches, rows and columns it has, and products in each sum.
	size() [4]int
	// halves cuts it in two along one of those sides.
	halves(side int) (first, rest tiled)
	// extent is what tiles are told of it, split if it may be.
	extent() extent
	// tiles names its code, and returns what that is told; splits' sums go to part.
	tiles(e extent, part uint64) (code string, args []byte)
	// sums is likewise what adds up the splits that lie in part, if it is even.
	sums(e extent, part uint64) (code string, args []byte)
	even() bool
}

// What a tiled product is cut along, if it is.
const (
	batchSide = iota
	rowSide
	columnSide
	sumSide
	noSide = -1
)

// An extent is Extent of product.cuh.
type extent struct{ m, n, k, splits, xLies, yLies uint32 }

// extentOf is the extent of a product of that size.
func extentOf(size [4]int) extent {
	return extent{m: uint32(size[rowSide]), n: uint32(size[columnSide]), k: uint32(size[sumSide]), splits: 1}
}

// How elements of a factor follow one another: DOWN and FOURS of product.cuh.
const (
	down  = 1 << iota // along rows of x or columns of y, not along the sum
	fours             // in whole, aligned fours, or eights of halves
)

// split cuts long sums of small products, into so many parts at least, so that each multiprocessor of a
// large GPU has two blocks. The parts depend on nothing but the extent, and so do results.
func (e *extent) split(least int) {
	rows, columns := e.tile()
	tiles := ceil(int(e.m), rows) * ceil(int(e.n), columns)
	e.splits = uint32(max(least, min(2*132/tiles, int(e.k)/256, 64)))
}

// tile is how many rows and columns a block does.
func (e *extent) tile() (rows, columns int) {
	if e.n <= 32 {
		return 128, 32
	}
	return 64, 64
}

// tileThreads is how many threads a block has that does a tile.
const tileThreads = 128

// launchTiles computes p, of elements of type t.
func (c *Call) launchTiles(t dtype.Type, p tiled) error {
	if n := p.size(); n[rowSide] == 0 || n[columnSide] == 0 {
		return nil
	}
	if side := excess(p); side != noSide {
		first, rest := p.halves(side)
		if err := c.launchTiles(t, first); err != nil {
			return err
		}
		return c.launchTiles(t, rest)
	}
	pieces, splits := shorter(p), 0
	for i := range pieces {
		if len(pieces) > 1 {
			pieces[i].e.split(2) // what is not split leaves no sums to add up
		}
		splits += int(pieces[i].e.splits)
	}
	if splits == 1 {
		return c.launchPiece(t, pieces[0], p.size()[batchSide], 0)
	}
	e := pieces[0].e
	bytes := int(e.m) * int(e.n) * max(t.Size(), 4)
	return c.gpu.Workspace(splits*bytes, func(address uint64) error {
		at := address
		for _, piece := range pieces {
			if err := c.launchPiece(t, piece, 1, at); err != nil {
				return err
			}
			at += uint64(bytes) * uint64(piece.e.splits)
		}
		e.splits = uint32(splits)
		code, args := p.sums(e, address)
		return launchBytes(c.gpu, entry(code+" splits", t), int64(e.m)*int64(e.n), args)
	})
}

// longSums is how many sums are computed together whose parts are kept until they are added up.
const longSums = 1 << 20

// excess returns the side along which p is too large for a launch, or none. Sums that are too
// long do not count, if their parts can be added up.
func excess(p tiled) int {
	n := p.size()
	switch {
	case int64(n[rowSide]) >= most:
		return rowSide
	case int64(n[columnSide]) >= min(most, 64*maxGridY):
		return columnSide
	case int64(n[sumSide]) < most:
		return noSide
	case n[batchSide] > 1:
		return batchSide
	case !p.even():
		return rowSide
	case int64(n[rowSide])*int64(n[columnSide]) < min(most, longSums):
		return noSide
	case n[rowSide] > n[columnSide]:
		return rowSide
	}
	return columnSide
}

// A piece is a tiled product whose sums are short enough for a launch.
type piece struct {
	tiled
	e extent
}

// shorter cuts p along its sums into pieces.
func shorter(p tiled) []piece {
	if int64(p.size()[sumSide]) < most {
		return []piece{{p, p.extent()}}
	}
	first, rest := p.halves(sumSide)
	return append(shorter(first), shorter(rest)...)
}

// launchPiece launches a piece's tiles.
func (c *Call) launchPiece(t dtype.Type, p piece, batches int, part uint64) error {
	code, args := p.tiles(p.e, part)
	if p.e.n <= 32 {
		code += " thin"
	}
	rows, columns := p.e.tile()
	blocks := [3]uint32{uint32(ceil(int(p.e.m), rows)), uint32(ceil(int(p.e.n), columns)), uint32(min(batches*int(p.e.splits), maxGridY))}
	return c.gpu.Launch(c.rounded(entry(code, t)), blocks, tileThreads, args)
}

// rounded names the entry that rounds factors to TF32, where the GPU is allowed to.
func (c *Call) rounded(entry string) string {
	if r, ok := libraryOf[Rounder](c.gpu); ok && r.RoundsToTF32() && strings.HasSuffix(entry, "_f32") {
		return strings.TrimSuffix(entry, "f32") + "tf32"
	}
	return entry
}

// halved returns about half of n, so that the other half starts where it may be packed.
func halved(n int64) int64 {
	half := n / 2
	if half > together {
		half &^= together - 1
	}
	return half
}

// maxGridY is how many blocks a launch may have along its second and third axis.
const maxGridY = 1<<16 - 1
