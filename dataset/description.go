package dataset

import (
	"math"

	"github.com/h5dnn/h5dnn/storage"
)

// A Description says how the samples of a dataset are stored. It is computed once;
// planning and loading follow from it.
type Description struct {
	Samples     int
	Fields      []Field
	SampleBytes int // of one sample in a batch

	// BlockEnds are where the blocks of samples that are decoded together end, as
	// in Blocked; nil if every sample can be read alone. Reading every block once
	// decodes DecodedSamples.
	BlockEnds      []int
	DecodedSamples int

	Remote        bool    // samples come over a network: each read costs a round trip
	Decoded       bool    // samples are decoded or converted, or it is unknown what they cost
	UnmappedBytes float64 // of all samples: in files from which ranges are read, or that are mapped and exceed the page cache
	HeldBytes     int     // in memory between reads: small columns, offsets and lists of rows

	aloneBytes int // decoded for a sample that is read by itself; 0 if that is whole chunks, or there are none

	columns  []*column                                     // of the arrays that samples come from
	windowOf func(sample int) (*windowRows, ClippedWindow) // the rows of a sample; nil if samples share none
}

// Describe returns the description of d.
func Describe(d Dataset) Description { return readerOf(d).describe() }

// ExactAmplification returns the read amplification of exact shuffling: how many
// samples are decoded for each sample of a batch. A batch of b samples out of n
// blocks is expected to touch n·(1-(1-1/n)ᵇ) of them. A block of several chunks, of
// windows or of a virtual dataset, is counted whole; fewer chunks may be decoded. Where parts of chunks are decoded
// alone, it is not more than these take.
func (d Description) ExactAmplification(batch int) float64 {
	n := float64(len(d.BlockEnds))
	if n == 0 || d.Samples == 0 {
		return 1
	}
	b := float64(min(batch, d.Samples))
	touched := n * -math.Expm1(b*math.Log1p(-1/n))
	whole := touched * float64(d.DecodedSamples) / n / b
	if d.aloneBytes > 0 {
		return min(whole, float64(d.aloneBytes)/float64(d.SampleBytes))
	}
	return whole
}

// describe describes a table column by column.
func (t *table) describe() Description {
	d := Description{Samples: t.length, Fields: t.fields, SampleBytes: sampleBytes(t), columns: t.columns}
	d.BlockEnds, d.DecodedSamples = t.Blocks()
	if w := t.windowRows(); w != nil {
		d.windowOf = func(sample int) (*windowRows, ClippedWindow) { return w, unclipped(sample) }
	}
	d.aloneBytes = t.aloneBytes()
	for _, c := range t.columns {
		bytes := float64(t.length) * float64(c.size)
		d.Remote = d.Remote || c.remote()
		switch c.access {
		case decoded:
			d.Decoded = d.Decoded || c.cached == nil
		case ranges:
			d.UnmappedBytes += bytes
		case inMemory:
			if _, ok := c.data.Data.(storage.MappedSource); ok && bytes > beyondCache {
				d.UnmappedBytes += bytes
			}
		}
		if c.cached != nil {
			d.HeldBytes += int(bytes)
		}
		if rows, ok := c.data.Data.(*padded); ok {
			d.HeldBytes += rows.IndexBytes
		}
	}
	return d
}

func (s *subset) describe() Description {
	d := s.reader.describe()
	if all := d.Samples; all > 0 {
		d.UnmappedBytes *= float64(len(s.rows)) / float64(all)
	}
	d.Samples = len(s.rows)
	d.BlockEnds, d.DecodedSamples = s.blocks(d.BlockEnds)
	d.HeldBytes += 8 * len(s.rows)
	if of := d.windowOf; !s.ascending {
		d.windowOf = nil
	} else if of != nil {
		d.windowOf = func(sample int) (*windowRows, ClippedWindow) { return of(s.rows[sample]) }
	}
	return d
}

func (c *chain) describe() Description {
	d := Description{Samples: c.Len(), Fields: c.Fields(), SampleBytes: sampleBytes(c)}
	parts, blocked, windows, alone := make([]Description, len(c.parts)), false, true, true
	for i, part := range c.parts {
		p := part.describe()
		parts[i], blocked = p, blocked || p.BlockEnds != nil
		d.Decoded, d.Remote = d.Decoded || p.Decoded, d.Remote || p.Remote
		d.UnmappedBytes += p.UnmappedBytes
		d.HeldBytes += p.HeldBytes
		d.columns = append(d.columns, p.columns...)
		windows, alone = windows && p.windowOf != nil, alone && p.aloneBytes > 0
		d.aloneBytes = max(d.aloneBytes, p.aloneBytes)
	}
	if !alone {
		d.aloneBytes = 0
	}
	if windows {
		d.windowOf = func(sample int) (*windowRows, ClippedWindow) {
			part, start := c.part(sample)
			return parts[part].windowOf(sample - start)
		}
	}
	if !blocked {
		d.DecodedSamples = d.Samples
		return d
	}
	start := 0
	for i, p := range parts {
		if p.BlockEnds == nil {
			p.BlockEnds = p.evenBlocks()
		}
		for _, end := range p.BlockEnds {
			d.BlockEnds = append(d.BlockEnds, start+end)
		}
		d.DecodedSamples += p.DecodedSamples
		start = c.ends[i]
	}
	return d
}

// describe takes the samples of a dataset of another package to be decoded: what
// reading them costs is not known.
func (a anyDataset) describe() Description {
	d := Description{Samples: a.Len(), Fields: a.Fields(), SampleBytes: sampleBytes(a), DecodedSamples: a.Len(), Decoded: true}
	if b, ok := a.Dataset.(Blocked); ok {
		d.BlockEnds, d.DecodedSamples = b.Blocks()
	}
	return d
}

// evenBlock is the size in bytes of blocks where the storage suggests none: large
// enough to be read at the full rate of a disk. Tests change it.
var evenBlock = 1 << 20

// evenBlocks divides the samples into blocks of about evenBlock bytes.
func (d Description) evenBlocks() (ends []int) {
	rows := max(1, evenBlock/max(1, d.SampleBytes), d.Samples/maxBlocks)
	for end := rows; end < d.Samples; end += rows {
		ends = append(ends, end)
	}
	if d.Samples > 0 {
		ends = append(ends, d.Samples)
	}
	return ends
}
