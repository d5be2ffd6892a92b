package hdf5write

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

var allLayouts = map[string]Layout{
	"contiguous": {}, "chunks": {Chunks: []int{3, 7}}, "growing": {MaxShape: []int{-1, -1}},
	"deflate":  {Chunks: []int{5, 50}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4), filter.Fletcher32()}},
	"lz4":      {Chunks: []int{4, 4}, Filters: []filter.Filter{filter.Shuffle(), filter.LZ4()}},
	"zstd":     {Filters: []filter.Filter{filter.Zstd(3)}},
	"checksum": {Chunks: []int{2, 9}, Filters: []filter.Filter{filter.Fletcher32()}},
}

// TestRoundTrip writes every type in every layout and reads it back.
func TestRoundTrip(t *testing.T) {
	w, path := created(t)
	for _, typ := range dtype.All() {
		for name, layout := range allLayouts {
			must(t, w.WriteWith(fmt.Sprintf("/%s/%v", name, typ), counted(t, typ, 11, 23), layout))
		}
		must(t, w.Write("/scalar/"+typ.String(), counted(t, typ)))
		must(t, w.Write("/empty/"+typ.String(), counted(t, typ, 0, 2)))
		must(t, w.SetAttr("/contiguous/"+typ.String(), "attribute", counted(t, typ, 2, 3)))
	}
	must(t, w.Close())
	f, err := hdf5.Open(path)
	must(t, err)
	defer f.Close()
	n := 0
	for o, err := range f.Walk() {
		must(t, err)
		if o.Kind != hdf5.KindDataset {
			continue
		}
		n++
		d, err := o.Dataset()
		must(t, err)
		a, err := d.Array()
		must(t, err)
		typ, err := dtype.Parse(filepath.Base(o.Path))
		must(t, err)
		if a.Type != typ {
			t.Errorf("%s: read as %v", o.Path, a.Type)
			continue
		}
		got, err := bytesOf(a)
		must(t, err)
		want, _ := bytesOf(counted(t, typ, a.Shape...))
		if !bytes.Equal(got, want) {
			t.Errorf("%s: elements differ", o.Path)
		}
	}
	if want := len(dtype.All()) * (len(allLayouts) + 2); n != want {
		t.Errorf("%d datasets, want %d", n, want)
	}
}

// TestAppend appends random numbers of rows.
func TestAppend(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	w, path := created(t)
	whole := counted(t, dtype.Int32, 200, 23)
	for name, layout := range allLayouts {
		shape := []int{200, 23}
		if !layout.contiguous(shape) {
			shape[0], layout.MaxShape = 0, []int{-1, 23}
		}
		d, err := w.CreateDataset("/"+name, dtype.Int32, shape, layout)
		must(t, err)
		for at := 0; at < 200; {
			n := min(200-at, random.IntN(30))
			must(t, d.Append(whole.With(subview(whole.View, []int{at, 0}, []int{n, 23}))))
			at += n
		}
	}
	must(t, w.Close())
	f, err := hdf5.Open(path)
	must(t, err)
	defer f.Close()
	want, _ := bytesOf(whole)
	for name := range allLayouts {
		d, err := f.Dataset("/" + name)
		must(t, err)
		a, err := d.Array()
		must(t, err)
		if got, err := bytesOf(a); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: rows differ (%v)", name, err)
		}
	}
}

// TestChunksAreStoredInOrder writes a file twice. Although chunks are encoded in any
// order, they have the same places in the file.
func TestChunksAreStoredInOrder(t *testing.T) {
	var places [2]string
	for i := range places {
		w, path := created(t)
		must(t, w.WriteWith("/x", counted(t, dtype.Float32, 1000, 50), allLayouts["deflate"]))
		must(t, w.Close())
		f, err := hdf5.Open(path)
		must(t, err)
		defer f.Close()
		d, err := f.Dataset("/x")
		must(t, err)
		chunks, err := d.StoredChunks()
		must(t, err)
		places[i] = fmt.Sprint(chunks)
	}
	if places[0] != places[1] {
		t.Errorf("chunks lie at\n%v\nthen at\n%v", places[0], places[1])
	}
}

// TestKilledWriter kills processes that replace a file, at random. The file must be the
// old or the new one. The next writer removes the temporary files that they leave.
func TestKilledWriter(t *testing.T) {
	if path := os.Getenv("H5DNN_WRITE_UNTIL_KILLED"); path != "" {
		for i := 0; ; i++ {
			writeGeneration(t, path, float32(i))
		}
	}
	path := filepath.Join(t.TempDir(), "file.h5")
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		child.Env = append(os.Environ(), "H5DNN_WRITE_UNTIL_KILLED="+path)
		must(t, child.Start())
		time.Sleep(time.Duration(50+rand.IntN(200)) * time.Millisecond)
		must(t, child.Process.Kill())
		child.Wait()
		if _, err := os.Stat(path); err != nil {
			t.Logf("round %d: killed before the first file", round)
			continue
		}
		checkGeneration(t, path)
	}
	left := listing(t, path)
	old := time.Now().Add(-time.Hour)
	for _, name := range left {
		must(t, os.Chtimes(filepath.Join(filepath.Dir(path), name), old, old))
	}
	writeGeneration(t, path, 0)
	if now := listing(t, path); len(now) != 1 {
		t.Errorf("killed writers left %d files, and %v still exist", len(left)-1, now)
	}
}

func writeGeneration(t *testing.T, path string, x float32) {
	elems := make([]float32, 100000)
	for i := range elems {
		elems[i] = x
	}
	a := storage.From(elems, 1000, 100)
	w, err := Create(path, CreateOptions{NoSync: true})
	must(t, err)
	must(t, w.Write("/plain", a))
	must(t, w.WriteWith("/packed", a, Layout{Chunks: []int{10, 100}, Filters: []filter.Filter{filter.Deflate(1)}}))
	must(t, w.SetAttr("/", "generation", x))
	must(t, w.Close())
}

func checkGeneration(t *testing.T, path string) {
	f, err := hdf5.Open(path)
	must(t, err)
	defer f.Close()
	var first []byte
	for _, name := range []string{"/plain", "/packed"} {
		d, err := f.Dataset(name)
		must(t, err)
		a, err := d.Array()
		must(t, err)
		got, err := bytesOf(a)
		must(t, err)
		if first == nil {
			first = got[:4]
		}
		if !bytes.Equal(got, bytes.Repeat(first, 100000)) {
			t.Errorf("%s holds more than one generation", name)
		}
	}
}

// TestPartsWrittenInAnyOrder writes parts of arrays to datasets of random layouts: in any order,
// some of them more than once and some never, views of any strides, random elements, for which
// filters are skipped, and others, and with memory for all chunks and for few.
func TestPartsWrittenInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 9))
	defer func(n int) { maxPartialBytes = n }(maxPartialBytes)
	pipelines := [][]filter.Filter{nil, {filter.LZ4()}, {filter.Shuffle(), filter.Deflate(1)}, {filter.Zstd(1), filter.Fletcher32()}, {filter.Shuffle(), filter.LZ4(), filter.Deflate(1)}}
	w, path := created(t)
	want := map[string]storage.Array{}
	for k := range 150 {
		maxPartialBytes = 1 << random.IntN(16)
		shape := []int{1 + random.IntN(12), 1 + random.IntN(40), 1 + random.IntN(12)}[:1+random.IntN(3)]
		all := counted(t, []dtype.Type{dtype.Uint8, dtype.Int16, dtype.Float32, dtype.Complex128}[random.IntN(4)], shape...)
		if elems := all.Data.(storage.Host).Bytes(); random.IntN(2) == 0 {
			for i := range elems {
				elems[i] = byte(random.Uint32())
			}
		}
		if random.IntN(2) == 0 {
			v, err := all.Flip(random.IntN(all.Rank()))
			must(t, err)
			all.View, err = v.Transpose()
			must(t, err)
		}
		layout := Layout{Filters: pipelines[random.IntN(len(pipelines))]}
		for _, n := range all.Shape {
			layout.Chunks = append(layout.Chunks, 1+random.IntN(n)/(1+random.IntN(2)))
		}
		if random.IntN(4) == 0 {
			layout = Layout{} // contiguous
		}
		extent := slices.Clone(all.Shape)
		if layout.Chunks != nil && random.IntN(3) == 0 { // grows
			extent = make([]int, all.Rank())
			layout.MaxShape = slices.Repeat([]int{hdf5.Unlimited}, all.Rank())
		}
		name := fmt.Sprintf("/%d", k)
		d, err := w.CreateDataset(name, all.Type, extent, layout)
		must(t, err)
		whole, err := storage.Make(storage.CPU, all.Type, all.Shape...) // zeros
		must(t, err)
		for range 1 + random.IntN(8) {
			start := make([]int, all.Rank())
			from, to := all.View, whole.View
			for axis, n := range all.Shape {
				start[axis] = random.IntN(n)
				end := start[axis] + 1 + random.IntN(n-start[axis])
				if random.IntN(3) == 0 {
					start[axis], end = 0, n
				}
				from, err = from.Slice(axis, start[axis], end, 1)
				must(t, err)
				to, err = to.Slice(axis, start[axis], end, 1)
				must(t, err)
				extent[axis] = max(extent[axis], end)
			}
			if layout.MaxShape != nil {
				must(t, d.Extend(extent...))
			}
			must(t, d.WriteAt(start, all.With(from)))
			must(t, all.With(from).CopyTo(whole.With(to)))
		}
		if layout.MaxShape != nil {
			must(t, d.Extend(all.Shape...))
		}
		want[name] = whole
	}
	must(t, w.Close())
	f, err := hdf5.Open(path)
	must(t, err)
	defer f.Close()
	for name, whole := range want {
		d, err := f.Dataset(name)
		must(t, err)
		a, err := d.Array()
		must(t, err)
		got, err := bytesOf(a)
		must(t, err)
		if elems, _ := whole.Bytes(); !bytes.Equal(got, elems) {
			t.Errorf("%s, in chunks of %v, %v: elements differ", name, d.Chunks, d.Filters)
		}
	}
}

// TestMasksOfReplacedChunks replaces a chunk by one of the same size to which other filters were
// applied.
func TestMasksOfReplacedChunks(t *testing.T) {
	w, path := created(t)
	layout := Layout{Chunks: []int{8}, Filters: []filter.Filter{filter.LZ4(), filter.Deflate(1)}}
	d, err := w.CreateDataset("/x", dtype.Uint8, []int{8}, layout)
	must(t, err)
	c := &partialChunk{start: []int{0}, stored: make([]byte, 8), mask: 3}
	must(t, d.storeOne(c))
	c.oldBytes, c.oldMask, c.mask = len(c.stored), c.mask, 1
	must(t, errors.Join(d.storeOne(c), w.Close()))
	f, err := hdf5.Open(path)
	must(t, err)
	defer f.Close()
	x, err := f.Dataset("/x")
	must(t, err)
	chunks, err := x.StoredChunks()
	if must(t, err); len(chunks) != 1 || chunks[0].FilterMask != 1 {
		t.Errorf("chunks %+v, want one with mask 1", chunks)
	}
}
