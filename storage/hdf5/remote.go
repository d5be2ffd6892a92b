package hdf5

import (
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// openURL is Open for a URL.
func openURL(name string, options []Options) (*File, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	reopen := func() (storage.Remote, error) { return storage.OpenRemote(o.Context, name) }
	remote, err := reopen()
	if err != nil {
		return nil, err
	}
	f, err := open(&File{name: storage.WithoutSecrets(name), r: remote, close: remote.Close, reopen: reopen}, remote.Size(), options)
	if err != nil {
		remote.Close()
	}
	return f, err
}

// A remoteFile is the reader of a file that is read over a network. Each request costs a round trip, so
// what will be read is fetched together: pages and nodes of metadata, the chunks of a selection.
type remoteFile struct {
	storage.Remote

	mu     sync.Mutex
	page   int64                // size of the pages of metadata; 0 if there are none
	pages  map[int64]bool       // that were fetched
	tables map[uint64][2]uint64 // the B-trees and heaps of groups whose headers were not read yet, by the address of the header
}

// noteTable notes where the B-tree and the heap of a group are, as a link to it says: they are fetched with its header.
func (r *remoteFile) noteTable(header, tree, heap uint64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tables == nil {
		r.tables = map[uint64][2]uint64{}
	}
	r.tables[header] = [2]uint64{tree, heap}
}

// withTables returns the addresses of headers, and what links say of tables of groups among them.
func (r *remoteFile) withTables(headers []uint64) []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(headers)
	for _, header := range headers {
		if table, ok := r.tables[header]; ok {
			all = append(all, table[:]...)
			delete(r.tables, header)
		}
	}
	return all
}

// longestPage is the size of the largest pages that are fetched whole.
const longestPage = 16 << 20

// metadata returns n bytes at an offset of the file, through the cache of the reader: from their page, if the
// file keeps metadata together in pages.
func (r *remoteFile) metadata(f *File, at int64, n int) ([]byte, error) {
	if wanted := r.pagesOf(at, int64(n)); len(wanted) > 0 {
		if err := r.Cache(wanted); err != nil {
			return nil, err
		}
	}
	b := make([]byte, n)
	return b, f.pread(b, at)
}

// pagesOf returns the pages of a range that were not fetched yet, and notes that they will be. A large structure
// is fetched as a page is: whole.
func (r *remoteFile) pagesOf(at, n int64) (wanted []storage.Range) {
	const largeStructure = 64 << 10
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.page == 0 {
		if n >= largeStructure {
			wanted = append(wanted, storage.Range{At: at, Len: n})
		}
		return wanted
	}
	for k := at / r.page; k*r.page < at+n; k++ {
		if !r.pages[k] {
			r.pages[k] = true
			wanted = append(wanted, storage.Range{At: k * r.page, Len: r.page})
		}
	}
	return wanted
}

// setPages tells the reader about the pages of a file whose space is allocated in pages (file space information
// message, version 1):
//
//	| 1 (1) | strategy (1) | persist (1) | threshold (L) | page size (L) | …
func (f *File) setPages(m message) error {
	const inPages = 1
	c := f.newCursor("file space information", m.body)
	version, strategy := c.u8(), c.u8()
	c.skip(1 + c.length)
	page := c.size()
	if version != 1 || f.remote == nil || c.err != nil {
		return nil // only advice
	}
	if strategy == inPages && page > 0 && page <= longestPage && f.super.at == 0 {
		f.remote.page, f.remote.pages = int64(page), map[int64]bool{}
	}
	return nil
}

// cacheAt fetches the beginnings of structures of metadata at addresses, if the file is remote. They are n bytes
// or less.
func (f *File) cacheAt(addresses []uint64, n int) {
	if f.remote != nil {
		f.cacheExtents(extentsAt(addresses, n))
	}
}

// extentsAt returns the extents of n bytes at addresses.
func extentsAt(addresses []uint64, n int) []byteExtent {
	all := make([]byteExtent, len(addresses))
	for k, address := range addresses {
		all[k] = byteExtent{address, n}
	}
	return all
}

// cacheExtents fetches several extents of metadata together, if the file is remote; one is fetched when it is read. Errors are
// left to those who read them.
func (f *File) cacheExtents(extents []byteExtent) {
	if f.remote == nil || len(extents) < 2 {
		return
	}
	var ranges []storage.Range
	for _, e := range extents {
		if at, err := f.span(e.address, 1); err == nil && e.size <= maxStructure {
			ranges = append(ranges, storage.Range{At: at, Len: int64(e.size)})
		}
	}
	f.remote.Cache(ranges)
}

// cacheEntries is cacheAt for the addresses with which entries of a size begin.
func (f *File) cacheEntries(entries []byte, size, n int) {
	if f.remote == nil {
		return
	}
	var addresses []uint64
	for entry := range slices.Chunk(entries, size) {
		addresses = append(addresses, f.newCursor("entry", entry).address())
	}
	f.cacheAt(addresses, n)
}

// cacheWhole fetches n bytes of metadata at an address, if the file is remote.
func (f *File) cacheWhole(address uint64, n int) {
	if f.remote == nil || n > maxStructure {
		return
	}
	if at, err := f.span(address, 1); err == nil {
		f.remote.Cache([]storage.Range{{At: at, Len: int64(n)}})
	}
}

// Sizes of structures that are fetched together, the number of headers, and of those that are parsed at a time.
const (
	usualNode     = 4 << 10
	usualHeader   = 1 << 10
	headersAtOnce = 256
	parsedAtOnce  = 64
)

// cacheHeaders fetches the headers of the next objects that links lead to, if the file is remote: all that will be
// visited in this order, from number k on, every headersAtOnce of them.
func (f *File) cacheHeaders(links []link, order []int32, k int) {
	if f.remote == nil || k%headersAtOnce != 0 {
		return
	}
	var addresses []uint64
	for _, i := range order[k:min(len(order), k+headersAtOnce)] {
		if links[i].soft == nil {
			addresses = append(addresses, links[i].address)
		}
	}
	f.cacheObjects(addresses)
}

// cacheObjects fetches the headers at addresses, with all of their blocks, and returns those of groups, by the
// index of the address. Errors are left to the visit.
func (f *File) cacheObjects(addresses []uint64) (groups []*Object) {
	f.cacheAt(f.remote.withTables(addresses), usualHeader)
	groups = make([]*Object, len(addresses))
	parallel.Do(len(addresses), parsedAtOnce, func(k int) error {
		if o, err := f.object("", addresses[k]); err == nil && o.Kind == KindGroup {
			groups[k] = o
		}
		return nil
	})
	return groups
}

// cacheTree fetches the headers of what is below a group, if the file is remote, level by level: the links of all
// groups of a level are read at once, and so are the headers that they lead to. It ends with a level of more than
// headersAtOnce objects, which a walk fetches group by group.
func (f *File) cacheTree(o *Object) {
	if f.remote == nil || o.Kind != KindGroup {
		return
	}
	seen := map[uint64]bool{o.header.address: true}
	for level := []*Object{o}; len(level) > 0; {
		links := make([][]link, len(level))
		parallel.Do(len(level), parsedAtOnce, func(k int) error {
			links[k], _ = level[k].links()
			return nil
		})
		var addresses []uint64
		var paths []string
		for k, some := range links {
			for _, l := range some {
				if l.soft == nil && !seen[l.address] {
					seen[l.address] = true
					addresses, paths = append(addresses, l.address), append(paths, l.pathIn(level[k].Path))
				}
			}
		}
		if len(addresses) > headersAtOnce {
			return
		}
		level = level[:0]
		for k, group := range f.cacheObjects(addresses) {
			if group != nil {
				group.Path = paths[k]
				level = append(level, group)
			}
		}
	}
}

// Remote implements [storage.RemoteSource].
func (s *source) Remote() bool { return s.d.file.remote != nil }

// PrefetchView implements [storage.RemoteSource].
func (s *source) PrefetchView(v views.View) {
	if s.d.file.remote == nil || v.Len() == 0 || !v.Within(s.count) {
		return
	}
	for _, box := range views.Boxes(v, v, s.shape) {
		s.prefetch(box)
	}
}

// prefetch starts to fetch the elements of a box.
func (s *source) prefetch(box views.Box) {
	switch l := s.d.layout; {
	case l.class == layoutChunked:
		a, err := s.chunksOf(box)
		if err == nil {
			a.prefetch(0, a.jobs)
		}
	case l.class == layoutContiguous && l.address != undefined && len(s.d.External) == 0:
		lo, hi := s.viewOf(box).Bounds()
		if at, err := s.d.file.span(l.address+uint64(lo), hi-lo+s.size); err == nil {
			s.d.file.remote.Prefetch([]storage.Range{{At: at, Len: int64(hi - lo + s.size)}})
		}
	}
}

// prefetch starts to fetch the stored chunks of the jobs from first to end-1 that are not in the cache of decoded ones.
func (a *chunkJobs) prefetch(first, end int) {
	f := a.s.d.file
	var ranges []storage.Range
	for job := first; job < end; job++ {
		_, number := a.job(job)
		e, stored := a.index.find(number)
		if !stored || f.chunks.contains(chunkKey{f, a.s.d.header.address, number}) {
			continue
		}
		if at, err := f.span(e.address, e.size); err == nil {
			ranges = append(ranges, storage.Range{At: at, Len: int64(e.size)})
		}
	}
	f.remote.Prefetch(ranges)
}

// A chunkPrefetch is the chunks of a selection that are fetched ahead of those that are decoded.
type chunkPrefetch struct {
	*chunkJobs
	mu   sync.Mutex
	next int // job
}

// prefetchedBytes is the number of stored bytes that are fetched together; twice this number is ahead.
const prefetchedBytes = 16 << 20

// reach fetches chunks ahead of a job that begins.
func (a *chunkPrefetch) reach(job int) {
	if a.s.d.file.remote == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	size, err := a.s.d.chunkSize()
	if err != nil {
		return
	}
	atOnce := max(1, prefetchedBytes/max(1, size))
	for a.next < a.jobs && a.next < job+2*atOnce {
		end := min(a.jobs, a.next+atOnce)
		a.chunkJobs.prefetch(a.next, end)
		a.next = end
	}
}

// cacheCollections fetches the collections of the global heap to which elements of variable length point, if the
// file is remote.
func (f *File) cacheCollections(t *Type, elements []byte) {
	const usualCollection = 4 << 10
	if f.remote == nil || t.Class != ClassVarLen {
		return
	}
	var addresses []uint64
	last := uint64(undefined)
	for element := range slices.Chunk(elements, t.Size) {
		if v, err := f.parseVarLen(element); err == nil && !v.null() && v.address != last {
			last = v.address
			addresses = append(addresses, last)
		}
	}
	f.cacheAt(addresses, usualCollection)
}
