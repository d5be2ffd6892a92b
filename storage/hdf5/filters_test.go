package hdf5

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// TestFilters reads testdata/filters.h5, which h5py wrote with the filters of libhdf5 and
// with registered plugins.
func TestFilters(t *testing.T) {
	f, err := Open("testdata/filters.h5")
	must(t, err)
	defer f.Close()
	compared := map[string]int{}
	for o, err := range f.Walk() {
		must(t, err)
		name, ok := strings.CutPrefix(o.Path, "/got/")
		if !ok || o.Kind != KindDataset {
			continue
		}
		got, want := valuesAt(t, f, o.Path), valuesAt(t, f, "/want/"+name)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: values differ from libhdf5's", name)
		}
		kind, _, _ := strings.Cut(name, "/")
		kind, _, _ = strings.Cut(kind, " ")
		compared[kind]++
	}
	if len(compared) != 11 { // gzip lzf lz4 zstd bzip2 bitshuffle blosc szip scaleoffset nbit zfp
		t.Errorf("only %v were compared", compared)
	}
	t.Log("datasets compared:", compared)
}

func valuesAt(t *testing.T, f *File, path string) []any {
	t.Helper()
	d, err := f.Dataset(path)
	must(t, err)
	all, err := d.Values(d.View())
	must(t, err)
	return all
}

// TestFiltersOfLargeChunks is TestFilters with all chunks decoded as they are read, if their filters allow it.
func TestFiltersOfLargeChunks(t *testing.T) {
	defer func(size int) { largeStored = size }(largeStored)
	largeStored = 0
	TestFilters(t)
}

// TestLaboratoryFilters reads testdata/lab_filters.h5: Blosc2 by hdf5plugin and PyTables,
// and LZO by liblzo2.
func TestLaboratoryFilters(t *testing.T) {
	f, err := Open("testdata/lab_filters.h5")
	must(t, err)
	defer f.Close()
	compared := map[string]int{}
	for o, err := range f.Walk() {
		must(t, err)
		name, ok := strings.CutPrefix(o.Path, "/got/")
		if !ok || o.Kind != KindDataset {
			continue
		}
		d, err := o.Dataset()
		must(t, err)
		if got, err := d.Values(d.View()); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, valuesAt(t, f, "/want/"+name)) {
			t.Errorf("%s: values differ", name)
		}
		compared[name[:strings.LastIndexByte(name, '_')]]++
	}
	if len(compared) < 33 {
		t.Errorf("%d ways of writing were compared: %v", len(compared), compared)
	}
}

// TestBlosc2IsTheSameWithItsLibrary reads the same file in another process, with the decoder
// of package filter if c-blosc2 is installed, where this process used the library.
func TestBlosc2IsTheSameWithItsLibrary(t *testing.T) {
	if !filter.Blosc2Library() {
		t.Skip("c-blosc2 is not installed, nor named by H5DNN_LIBBLOSC2; TestLaboratoryFilters compares the decoder of package filter")
	}
	TestLaboratoryFilters(t)
	own := exec.Command(os.Args[0], "-test.run=^TestLaboratoryFilters$")
	own.Env = append(os.Environ(), "H5DNN_LIBBLOSC2=off")
	if out, err := own.CombinedOutput(); err != nil {
		t.Errorf("without the library: %v: %s", err, out)
	}
}
