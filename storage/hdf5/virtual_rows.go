package hdf5

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A rowMapping is a mapping of a virtual dataset along its first axis: row to.at(k) is at
// from.at(k) of an axis of the source, which has chunks of the given length there.
type rowMapping struct {
	to, from coordinates
	chunk    int
}

// Row groups of a virtual dataset are no larger than maxRowGroup bytes, or one chunk of a
// source. They decode goodReread rows for each of their rows if there is a choice.
const (
	maxRowGroup = 8 << 20
	goodReread  = 1.25
)

// planRowGroup returns how many rows of a virtual dataset are best read together, so that
// few chunks of its sources are decoded for several groups: 1 if there are no chunks, or
// if groups would not save half of the decoding. Sources may have chunks of different
// lengths, which need not begin where groups do. Then a chunk that lies in two groups is
// decoded for both, which is rare in groups of several chunks.
func (d *Dataset) planRowGroup() int {
	mappings := d.rowMappings()
	if len(mappings) == 0 {
		return 1
	}
	span, chunk := 1, 1
	for _, m := range mappings {
		span, chunk = max(span, m.span()), max(chunk, m.chunk)
	}
	most := chunk
	if row, err := format.Product(append([]int{d.Type.Size}, d.Shape[1:]...)...); err == nil {
		most = max(most, maxRowGroup/max(1, row))
	}
	group, least := 1, rereads(mappings, 1)/2
	for _, rows := range []int{span, 2 * span, 4 * span, jointSpan(mappings, most), most} {
		if least <= goodReread {
			break
		}
		rows = min(rows, most)
		if r := rereads(mappings, rows); r < least {
			group, least = rows, r
		}
	}
	return group
}

// rowMappings returns the mappings to several rows from sources with chunks.
func (d *Dataset) rowMappings() (all []rowMapping) {
	for _, m := range d.resolved {
		if m.mismatch != nil || len(m.to) == 0 || m.axes[0] < 0 || m.to[0].n == 0 {
			continue
		}
		if chunk := m.source.chunkLength(m.axes[0]); chunk > 1 {
			all = append(all, rowMapping{m.to[0], m.from[m.axes[0]], chunk})
		}
	}
	return all
}

// chunkLength returns the length along an axis of what is decoded together.
func (d *Dataset) chunkLength(axis int) int {
	switch {
	case d.layout.class == layoutChunked:
		return d.Chunks[axis]
	case d.layout.class == layoutVirtual && axis == 0:
		return d.rowGroup()
	}
	return 1
}

// span returns the number of virtual rows from the first to the last of one chunk.
func (m rowMapping) span() int {
	rows := m.chunk
	if m.from.n > m.from.block {
		rows = max(1, rows*m.from.block/m.from.stride)
	}
	if rows = min(rows, m.to.n); m.to.n > m.to.block {
		rows = (rows*m.to.stride + m.to.block - 1) / m.to.block
	}
	return max(1, rows)
}

// jointSpan returns the least common multiple of all spans, or most if it is larger.
func jointSpan(mappings []rowMapping, most int) int {
	joint := 1
	for _, m := range mappings {
		a, b := joint, m.span()
		for b > 0 {
			a, b = b, a%b
		}
		if m.span()/a > most/joint {
			return most
		}
		joint *= m.span() / a
	}
	return joint
}

// rereads returns how many rows are decoded to read all rows in groups of the given
// length, for each row in the chunks of the sources. It looks at a limited number of groups.
func rereads(mappings []rowMapping, group int) float64 {
	const maxGroups = 1 << 16
	decoded, stored := 0.0, 0.0
	for _, m := range mappings {
		k := 0
		for n := 0; k < m.to.n && n <= maxGroups/len(mappings); n++ {
			end := max(k+1, m.to.below(m.to.at(k)/group*group+group))
			decoded += float64(m.chunk) * float64(m.chunksOf(k, end))
			k = end
		}
		stored += float64(m.chunk) * float64(m.chunksOf(0, k))
	}
	return decoded / stored
}

// below returns the number of coordinates below a limit.
func (r coordinates) below(limit int) int {
	offset := max(0, limit-r.start)
	if r.n <= r.block {
		return min(r.n, offset)
	}
	return min(r.n, offset/r.stride*r.block+min(r.block, offset%r.stride))
}

// chunksOf returns the number of chunks that hold elements k to end-1 of a mapping.
func (m rowMapping) chunksOf(k, end int) int {
	return min(end-k, m.from.at(end-1)/m.chunk-m.from.at(k)/m.chunk+1)
}

// virtualChunk returns the shape of a row group of a virtual dataset, or nil if its rows
// are read alone.
func (s *source) virtualChunk() []int {
	if len(s.d.Shape) == 0 {
		return nil
	}
	if rows := s.d.rowGroup(); rows > 1 {
		return slices.Concat([]int{rows}, s.shape[1:])
	}
	return nil
}
