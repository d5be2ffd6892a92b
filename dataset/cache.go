package dataset

import (
	"slices"
	"sync"
)

// slots is where decoded blocks lie. It outlives epochs.
type blockCache struct {
	d      reader
	blocks blocks
	kept   func() (*Batch, error) // if blocks stay for good: all of them, in the order of the dataset
	all    []*cachedBlock         // made when first needed
	where  []*cachedBlock         // by block: where it lies; nil while it does not
	fields []Field
	sizes  []int // by field: bytes in one sample
}

// A slot holds one decoded block.
type cachedBlock struct {
	batch *Batch
	data  [][]byte // by field
	block int
	start int   // its first row
	err   error // what kept it from being decoded
}

func newBlockCache(d reader, b blocks, p Plan) *blockCache {
	s := &blockCache{d: d, blocks: b, all: make([]*cachedBlock, p.CachedBlocks), where: make([]*cachedBlock, b.count()), fields: d.Fields()}
	if p.CacheAll {
		s.kept = sync.OnceValues(func() (*Batch, error) { return allocBatch(d, d.Len(), nil) })
	}
	for _, f := range s.fields {
		s.sizes = append(s.sizes, f.bytes())
	}
	return s
}

// forget drops what does not last beyond an epoch.
func (s *blockCache) forget() {
	for block, at := range s.where {
		if at != nil && (s.kept == nil || at.err != nil) {
			s.where[block] = nil
		}
	}
}

// decode reads a block to a slot.
func (s *blockCache) decode(at *cachedBlock, block int) (err error) {
	if at.batch == nil {
		if at.batch, err = s.alloc(block); err != nil {
			return err
		}
		at.data = at.batch.data
	}
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	rows := work.ints(s.blocks.size(block))
	for k := range rows {
		rows[k] = s.blocks.start(block) + k
	}
	return s.d.scatter(*at.batch, len(rows), rows, nil)
}

// room returns memory for a block: its own, or what any block fits.
func (s *blockCache) alloc(block int) (*Batch, error) {
	if s.kept == nil {
		return allocBatch(s.d, s.blocks.largest, nil)
	}
	all, err := s.kept()
	if err != nil {
		return nil, err
	}
	return all.section(s.blocks.start(block), s.blocks.ends[block]), nil
}

// gather copies the samples at rows, all of them in slots, to b from a place on.
func (s *blockCache) gather(b *Batch, place int, rows []int) (err error) {
	var room [8][]byte
	dst := room[:0]
	for i, field := range s.fields {
		bytes, err := b.bytes(i, field, len(b.Rows))
		if err != nil {
			return err
		}
		dst = append(dst, bytes)
	}
	for k, row := range rows {
		at := s.where[s.blocks.of(row)]
		if at.err != nil {
			err = at.err
			continue
		}
		for i, size := range s.sizes {
			copy(dst[i][(place+k)*size:(place+k+1)*size], at.data[i][(row-at.start)*size:])
		}
	}
	return err
}

// table returns the dataset in memory, once every block lies there, else nil.
func (s *blockCache) table() reader {
	if s.kept == nil || slices.Contains(s.where, nil) {
		return nil
	}
	all, err := s.kept()
	if err != nil {
		return nil
	}
	t := &table{length: s.d.Len(), fields: s.fields}
	for i, f := range s.fields {
		t.columns = append(t.columns, &column{Field: f, data: all.whole[i], size: s.sizes[i], windowLen: 1, chunk: 1, rowGroup: 1})
	}
	return t
}
