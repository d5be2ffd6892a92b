package kernels

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/kernels/native"
)

// transposeArgs is Transpose of transpose.cu.
type transposeArgs struct {
	z, x                        uint64
	rows, columns, zStep, xStep int64
	rowTiles, columnTiles       int64
	tiles, pack                 int64
	byRowTiles, byColumnTiles   launch.Divisor
	g                           native.Axes
}

const (
	tileSide  = 32
	leastSide = 16 // of arrays that are worth tiles
)

// launchTransposed copies or casts x, operand 1 of g, to z, in tiles, by the entry of that name. It reports false,
// having launched nothing, unless the fastest axes of the two differ and are long enough.
func (c *Call) launchTransposed(entry string, g *native.Axes, at launch.Addresses, zSize, xSize int) (bool, error) {
	fast, slow := int(g.Rank)-1, -1 // axes in which elements of z and of x are adjacent
	for axis := range fast {
		if g.Stride[1][axis] == 1 && g.Shape[axis] > 1 {
			slow = axis
		}
	}
	if slow < 0 || g.Stride[0][fast] != 1 || g.Stride[1][fast] == 1 || min(g.Shape[slow], g.Shape[fast]) < leastSide || max(zSize, xSize) > 8 {
		return false, nil
	}
	a := transposeArgs{z: at[0], x: at[1], rows: g.Shape[slow], columns: g.Shape[fast], zStep: g.Stride[0][slow], xStep: g.Stride[1][fast]}
	odd := a.rows | a.columns | a.zStep | a.xStep | int64(a.z)/int64(zSize) | int64(a.x)/int64(xSize)
	for axis := range int(g.Rank) {
		if axis == slow || axis == fast {
			continue
		}
		k := a.g.Rank
		a.g.Shape[k] = g.Shape[axis]
		for i := range 2 {
			a.g.Stride[i][k] = g.Stride[i][axis]
			odd |= g.Stride[i][axis]
		}
		a.g.Rank++
	}
	if a.g.Rank == 0 {
		a.g.Rank, a.g.Shape[0] = 1, 1
	}
	launch.Divide(&a.g)
	if odd%4 == 0 {
		a.pack = 1
	}
	a.rowTiles, a.columnTiles = (a.rows+tileSide-1)/tileSide, (a.columns+tileSide-1)/tileSide
	a.byRowTiles, a.byColumnTiles = launch.DivideBy(a.rowTiles), launch.DivideBy(a.columnTiles)
	a.tiles = a.rowTiles * a.columnTiles * a.g.Count()
	return true, launch.Blocks(c.gpu, entry, [3]uint32{uint32(min(a.tiles, 1<<16)), 1, 1}, launch.Threads, &a)
}
