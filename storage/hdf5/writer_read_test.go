package hdf5

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

var allLayouts = map[string]Layout{
	"contiguous": {}, "chunks": {Chunks: []int{3, 7}}, "growing": {MaxShape: []int{-1, -1}},
	"deflate":  {Chunks: []int{5, 50}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4), filter.Fletcher32()}},
	"lz4":      {Chunks: []int{4, 4}, Filters: []filter.Filter{filter.Shuffle(), filter.LZ4()}},
	"zstd":     {Filters: []filter.Filter{filter.Zstd(3)}},
	"checksum": {Chunks: []int{2, 9}, Filters: []filter.Filter{filter.Fletcher32()}},
}

// TestWhatIsWrittenIsRead writes every type in every layout and reads it with
// the reader of this package.
func TestWhatIsWrittenIsRead(t *testing.T) {
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
	f, err := Open(path)
	must(t, err)
	defer f.Close()
	n := 0
	for o, err := range f.Walk() {
		must(t, err)
		if o.Kind != KindDataset {
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

// TestStreamsAreReadBack appends rows of random lengths.
func TestStreamsAreReadBack(t *testing.T) {
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
	f, err := Open(path)
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

// TestFilesAreTheSameEveryTime writes one file twice: chunks that goroutines
// finish in any order have one order in the file.
func TestFilesAreTheSameEveryTime(t *testing.T) {
	var places [2]string
	for i := range places {
		w, path := created(t)
		must(t, w.WriteWith("/x", counted(t, dtype.Float32, 1000, 50), allLayouts["deflate"]))
		must(t, w.Close())
		f, err := Open(path)
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

// TestAKilledWriterLeavesNoHalfFile kills processes that replace a file, at
// random, and finds it old or new, never in between; what they leave beside it
// the next one removes.
func TestAKilledWriterLeavesNoHalfFile(t *testing.T) {
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
		child := exec.Command(os.Args[0], "-test.run=^TestAKilledWriterLeavesNoHalfFile$")
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
		t.Errorf("of %d files that killed writers left, %v are still there", len(left)-1, now)
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
	f, err := Open(path)
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

func ExampleCreate() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "train.h5")

	w, err := Create(path, CreateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Abort() // does nothing once Close succeeded
	images := storage.From(make([]float32, 6*28*28), 6, 28, 28)
	labels, err := w.CreateDataset("/train/labels", dtype.Int64, []int{0}, Layout{MaxShape: []int{-1}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4)}})
	if err == nil {
		err = labels.Append(storage.From([]int64{3, 1, 4}, 3))
	}
	if err == nil {
		err = labels.Append(storage.From([]int64{1, 5, 9}, 3))
	}
	if err == nil {
		err = w.Write("/train/images", images)
	}
	if err == nil {
		err = w.SetAttr("/train", "classes", []string{"zero", "one", "two"})
	}
	if err == nil {
		err = w.Close() // only now is there a train.h5
	}
	fmt.Println(err)

	f, err := Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for o, err := range f.Walk() {
		fmt.Println(o.Kind, o.Path, err)
	}
	// Output:
	// <nil>
	// group / <nil>
	// group /train <nil>
	// dataset /train/images <nil>
	// dataset /train/labels <nil>
}
