package hdf5

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// chunkReads counts the rows of the chunks that are read through it.
type chunkReads struct {
	*bytes.Reader
	rows   map[int64]int64 // of the chunk at an offset
	number atomic.Int64
}

func (c *chunkReads) ReadAt(b []byte, at int64) (int, error) {
	c.number.Add(c.rows[at])
	return c.Reader.ReadAt(b, at)
}

// countedFile opens a file whose chunks are counted.
func countedFile(t *testing.T, name string) (*File, *chunkReads) {
	t.Helper()
	content, err := os.ReadFile(name)
	must(t, err)
	counted := &chunkReads{Reader: bytes.NewReader(content), rows: map[int64]int64{}}
	f, err := NewReader(io.ReaderAt(counted), int64(len(content)), Options{Follow: filepath.Dir(name)})
	must(t, err)
	t.Cleanup(func() { f.Close() })
	for o, err := range f.Walk() {
		must(t, err)
		if o.Kind != KindDataset {
			continue
		}
		d, err := o.Dataset()
		must(t, err)
		if d.Layout != "chunked" || o.Path[:5] == "/want" {
			continue
		}
		chunks, err := d.StoredChunks()
		must(t, err)
		for _, c := range chunks {
			counted.rows[int64(c.Offset)] = int64(d.Chunks[len(d.Chunks)-2])
		}
	}
	return f, counted
}

// TestRowGroupsOfVirtualDatasets reads virtual datasets by their row groups, in random
// order. The numbers are those of h5py; the rows that are decoded are those that rereads
// expects, and at most half of those that reading row by row decodes. The random datasets
// of another file are read likewise, where there is h5py.
func TestRowGroupsOfVirtualDatasets(t *testing.T) {
	checkRowGroups(t, "testdata/virtual_rows.h5")
}

func TestRowGroupsOfRandomVirtualDatasets(t *testing.T) {
	script, err := os.ReadFile("testdata/virtual_rows.py")
	must(t, err)
	name, seed := filepath.Join(t.TempDir(), "x.h5"), strconv.Itoa(rand.IntN(1e6))
	pythontest.Run(t, []string{"h5py"}, string(script), name, seed, "40")
	checkRowGroups(t, name)
	if t.Failed() {
		t.Logf("made by virtual_rows.py x.h5 %s 40", seed)
	}
}

func checkRowGroups(t *testing.T, name string) {
	f, counted := countedFile(t, name)
	decoded := func(a storage.Array, want []int32, rows int) int {
		counted.number.Store(0)
		readGroups(t, f, a, want, rows)
		return int(counted.number.Load())
	}
	all, err := f.Lookup("/virtual")
	must(t, err)
	names, err := all.Names()
	must(t, err)
	groups := map[string]int{}
	for _, name := range names {
		d, err := f.Dataset("/virtual/" + name)
		must(t, err)
		group := d.rowGroup()
		groups[name] = group
		a, want := array(t, f, "/virtual/"+name), read[int32](t, array(t, f, "/want/"+name))
		alone, together := decoded(a, want, 1), decoded(a, want, group)
		if group > 1 && 2*together > alone {
			t.Errorf("%s: groups of %d rows decode %d rows, single rows %d", name, group, together, alone)
		}
		mappings := d.rowMappings()
		if len(mappings) == 0 {
			continue
		}
		if chunk := a.Data.(storage.Chunked).ChunkShape(); group > 1 && !slices.Equal(chunk, []int{group, 3}) || group == 1 && chunk != nil {
			t.Errorf("%s: chunks %v, want groups of %d rows", name, chunk, group)
		}
		if name == "nested" {
			continue // its source is read in chunks, not in row groups
		}
		stored := 0
		for _, m := range mappings {
			stored += m.chunk * m.chunksOf(0, m.to.n)
		}
		single, sources := 0, map[string]int{}
		for _, m := range d.resolved {
			if sources[m.source.Path]++; m.to[0].n == 1 && m.source.Layout == "chunked" {
				single += m.source.Chunks[len(m.source.Chunks)-2] // is decoded once in any case
			}
		}
		for rows, decoded := range map[int]int{1: alone, group: together} {
			got := int(rereads(mappings, rows)*float64(stored)+0.5) + single
			if decoded > got || decoded < got && (rows == 1 || len(sources) == len(d.resolved)) { // a group may have a chunk in two mappings
				t.Errorf("%s: groups of %d rows decode %d rows; expected %d", name, rows, decoded, got)
			}
		}
	}
	for name, want := range map[string]int{"joined": 8, "gap of chunks": 8, "interleaved": 16, "two lengths": 12, "planes": 16, "nested": 8, "contiguous": 1, "no sources": 1, "row by row": 1} {
		if groups[name] != want {
			t.Errorf("%s: row groups of %d, want %d", name, groups[name], want)
		}
	}
	if n := groups["not aligned"]; n < 2*8 || n%8 != 0 {
		t.Errorf("not aligned: row groups of %d", n)
	}
}

// readGroups reads groups of rows in random order, each with an empty cache, and compares
// them with what is wanted.
func readGroups(t *testing.T, f *File, a storage.Array, want []int32, rows int) {
	t.Helper()
	columns := a.Shape[1]
	for _, k := range rand.Perm((a.Shape[0] + rows - 1) / rows) {
		*f.chunks = chunkCache{limit: f.chunks.limit}
		first, end := k*rows, min((k+1)*rows, a.Shape[0])
		got := make([]int32, (end-first)*columns)
		v := views.View{Offset: first * columns, Shape: []int{end - first, columns}, Stride: []int{columns, 1}}
		must(t, a.Data.(storage.Source).ReadView(dtype.Bytes(got), dtype.Int32, v))
		if !slices.Equal(got, want[first*columns:end*columns]) {
			t.Fatalf("rows %d to %d: %v, want %v", first, end, got, want[first*columns:end*columns])
		}
	}
}
