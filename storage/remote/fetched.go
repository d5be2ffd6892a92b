package remote

import (
	"slices"
	"sort"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// fetched are ranges that were fetched ahead, or are being fetched, and are to be read once.
type fetched struct {
	limit int64 // bytes

	mu     sync.Mutex
	parts  []*part // by offset; they do not overlap
	bytes  int64   // of parts
	denied int64   // bytes of ranges that were left out since parts were last examined
}

// A part is a range of the file that one request fetches.
type part struct {
	at     int64
	data   []byte
	wanted int64 // bytes that are still to be read
	idle   bool  // it was not read since parts were last examined
	done   chan struct{}
	err    error
}

func (p *part) end() int64 { return p.at + int64(len(p.data)) }

// Ranges with at most mergedGap bytes between them are fetched by one request, of at most mergedBytes. Longer ranges
// are several.
const (
	mergedGap   = 16 << 10
	mergedBytes = 4 << 20
)

// merge returns ranges of the file, by offset, with those that are less than gap bytes apart merged.
func merge(ranges []storage.Range, size, gap, most int64) []storage.Range {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b storage.Range) int { return int(min(1, max(-1, a.At-b.At))) })
	var merged []storage.Range
	for _, r := range sorted {
		if r.Len = min(r.Len, size-r.At); r.At < 0 || r.Len <= 0 {
			continue // an error of the read
		}
		if last := len(merged) - 1; last >= 0 {
			m := &merged[last]
			if end := max(m.At+m.Len, r.At+r.Len); r.At-(m.At+m.Len) <= gap && (end-m.At <= most || end == m.At+m.Len) {
				m.Len = end - m.At
				continue
			}
		}
		merged = append(merged, r)
	}
	return merged
}

// split divides ranges that are longer than a request.
func split(ranges []storage.Range) (parts []storage.Range) {
	for _, r := range ranges {
		for ; r.Len > mergedBytes; r.At, r.Len = r.At+mergedBytes, r.Len-mergedBytes {
			parts = append(parts, storage.Range{At: r.At, Len: mergedBytes})
		}
		parts = append(parts, r)
	}
	return parts
}

// Prefetch implements [storage.Remote].
func (f *File) Prefetch(ranges []storage.Range) {
	for _, p := range f.fetched.add(f, ranges) {
		f.fetchAhead(len(p.data), func() {
			p.err = f.fetch([][]byte{p.data}, p.at)
			close(p.done)
		})
	}
}

// add returns the parts to fetch for ranges, in the order of the ranges: those that are not among the parts,
// as far as memory allows.
func (d *fetched) add(f *File, ranges []storage.Range) (parts []*part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wanted := slices.DeleteFunc(slices.Clone(ranges), func(r storage.Range) bool { return d.covers(r) })
	merged := split(merge(wanted, f.size, mergedGap, mergedBytes))
	bytes := make([]int64, len(merged)) // that ranges want of each
	var order []int
	for _, r := range wanted {
		end := min(r.At+r.Len, f.size)
		k := max(0, sort.Search(len(merged), func(k int) bool { return merged[k].At > r.At })-1)
		for ; k < len(merged) && merged[k].At < end; k++ {
			n := min(end, merged[k].At+merged[k].Len) - max(r.At, merged[k].At)
			if n > 0 && bytes[k] == 0 {
				order = append(order, k)
			}
			bytes[k] += max(0, n)
		}
	}
	for _, k := range order {
		m := merged[k]
		if d.bytes+m.Len > d.limit {
			d.deny(m.Len)
			continue
		}
		at := sort.Search(len(d.parts), func(i int) bool { return d.parts[i].at > m.At })
		if at > 0 && d.parts[at-1].end() > m.At || at < len(d.parts) && d.parts[at].at < m.At+m.Len {
			continue // some of it is being fetched; the read requests the rest
		}
		p := &part{at: m.At, data: make([]byte, m.Len), wanted: bytes[k], done: make(chan struct{})}
		d.parts = slices.Insert(d.parts, at, p)
		d.bytes += m.Len
		parts = append(parts, p)
	}
	return parts
}

// deny notes that n bytes were left out. Once they are as many as the limit, parts that nobody has read since
// the last time are dropped: an epoch that was left, rows that a cache had.
func (d *fetched) deny(n int64) {
	if d.denied += n; d.denied < d.limit {
		return
	}
	d.denied = 0
	for _, p := range slices.Clone(d.parts) {
		select {
		case <-p.done:
			if p.idle {
				d.drop(p)
			}
			p.idle = true
		default:
		}
	}
}

// find returns the part with the byte at an offset, or nil.
func (d *fetched) find(at int64) *part {
	k := sort.Search(len(d.parts), func(k int) bool { return d.parts[k].at > at }) - 1
	if k < 0 || d.parts[k].end() <= at {
		return nil
	}
	return d.parts[k]
}

// covers reports whether parts have all bytes of a range.
func (d *fetched) covers(r storage.Range) bool {
	for at := r.At; at < r.At+r.Len; {
		p := d.find(at)
		if p == nil {
			return false
		}
		at = p.end()
	}
	return true
}

// take is find for a read, which release ends.
func (d *fetched) take(at int64) *part {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.find(at)
	if p != nil {
		p.idle = false
	}
	return p
}

// release notes that n bytes of a part were read, and drops it with the last of them, or if they could not be
// fetched: the next read tries again.
func (d *fetched) release(p *part, n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.wanted -= n; p.wanted <= 0 || p.err != nil {
		d.drop(p)
	}
}

func (d *fetched) drop(p *part) {
	if k := slices.Index(d.parts, p); k >= 0 {
		d.parts = slices.Delete(d.parts, k, k+1)
		d.bytes -= int64(len(p.data))
	}
}

// clear drops all parts.
func (d *fetched) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parts, d.bytes, d.denied = nil, 0, 0
}
