package dataset

import (
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/internal/prefetch"
	"github.com/h5dnn/h5dnn/internal/trace"
)

// A blockCache holds decoded blocks, also between epochs.
type blockCache struct {
	d       reader
	blocks  blocks
	rows    *rowBlocks                    // if blocks are cached as rows of windows; else nil
	all     bool                          // blocks stay cached
	whole   func() (*Batch, error)        // memory for all samples, in their order, if they stay cached; else nil
	entries []*cachedBlock                // made when they are first needed
	byBlock []atomic.Pointer[cachedBlock] // by block: its entry, or nil
	fields  []Field
	sizes   []int // by field: bytes in one sample

	sampleBytes int // of all fields
}

// A cachedBlock is an entry of the cache: memory for a block, and the block it holds.
type cachedBlock struct {
	batch    *Batch
	data     [][]byte // by field
	first    []int    // by field: the first row, if rows of windows are cached
	block    int
	start    int   // its first row
	place    int   // that it was decoded for
	decoding bool  // whether it is not there yet
	err      error // why it could not be decoded
}

func newBlockCache(d reader, b blocks, rows *rowBlocks, p Plan) *blockCache {
	s := &blockCache{d: d, blocks: b, rows: rows, all: p.CacheAll, entries: make([]*cachedBlock, p.CachedBlocks), byBlock: make([]atomic.Pointer[cachedBlock], b.count()), fields: d.Fields()}
	if p.CacheAll && rows == nil {
		s.whole = sync.OnceValues(func() (*Batch, error) { return allocBatch(d, d.Len(), nil) })
	}
	for _, f := range s.fields {
		s.sizes = append(s.sizes, f.bytes())
		s.sampleBytes += f.bytes()
	}
	return s
}

// endEpoch drops blocks that do not stay cached between epochs.
func (s *blockCache) endEpoch() {
	for _, at := range s.entries {
		if at != nil && at.block >= 0 && (!s.all || at.err != nil) {
			s.byBlock[at.block].Store(nil)
			at.place = -1
		}
	}
}

// decode reads the block of a cache entry into it.
func (s *blockCache) decode(at *cachedBlock) (err error) {
	defer trace.Begin(trace.Decoding, "block", at.block).End()
	if at.batch == nil {
		if at.batch, err = s.alloc(at.block); err != nil {
			return err
		}
		at.data = at.batch.data
	}
	if s.rows != nil {
		return s.rows.decode(at)
	}
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	rows := work.ints(s.blocks.size(at.block))
	for k := range rows {
		rows[k] = at.start + k
	}
	return scatter(s.d, destination{batch: at.batch}, rows)
}

// alloc returns memory for a block: its own part of whole, or enough for any block.
func (s *blockCache) alloc(block int) (*Batch, error) {
	if s.rows != nil {
		return s.rows.alloc(block, !s.all)
	}
	if s.whole == nil {
		return allocBatch(s.d, s.blocks.largest, nil)
	}
	all, err := s.whole()
	if err != nil {
		return nil, err
	}
	return all.section(s.blocks.start(block), s.blocks.ends[block]), nil
}

// gather copies the samples at rows, all of them cached, to b from index first on.
func (s *blockCache) gather(b *Batch, first int, rows []int) (err error) {
	defer trace.Begin(trace.Copying, "samples", -1).End()
	var buffer [8][]byte
	dst := buffer[:0]
	for i, field := range s.fields {
		bytes, err := b.bytes(i, field, len(b.Rows))
		if err != nil {
			return err
		}
		dst = append(dst, bytes)
	}
	ahead := rowsAhead(max(1, s.sampleBytes))
	for k, row := range rows {
		if k+ahead < len(rows) {
			s.prefetch(rows[k+ahead])
		}
		at := s.byBlock[s.blocks.of(row)].Load()
		if at.err != nil {
			err = at.err
			continue
		}
		if s.rows != nil {
			s.rows.copy(dst, first+k, row, at)
			continue
		}
		for i, size := range s.sizes {
			copy(dst[i][(first+k)*size:(first+k+1)*size], at.data[i][(row-at.start)*size:])
		}
	}
	return err
}

// mostPrefetched is the number of bytes of a sample that the processor loads ahead of their copy: of more, the caches
// would lose the first ones.
const mostPrefetched = 4 << 10

// prefetch makes the processor load the beginning of a sample that is cached.
func (s *blockCache) prefetch(row int) {
	at := s.byBlock[s.blocks.of(row)].Load()
	switch {
	case at.err != nil:
	case s.rows != nil:
		s.rows.prefetch(row, at)
	default:
		for i, size := range s.sizes {
			prefetch.Bytes(at.data[i][(row-at.start)*size:][:min(mostPrefetched, size)])
		}
	}
}

// table returns the dataset in memory once every block is cached, else nil.
func (s *blockCache) table() reader {
	if s.whole == nil {
		return nil
	}
	for block := range s.byBlock {
		if s.byBlock[block].Load() == nil {
			return nil
		}
	}
	all, err := s.whole()
	if err != nil {
		return nil
	}
	t := &table{length: s.d.Len(), fields: s.fields}
	for i, f := range s.fields {
		t.columns = append(t.columns, &column{Field: f, data: all.whole[i], size: s.sizes[i], windowLen: 1, chunk: 1, rowGroup: 1})
	}
	return t
}
