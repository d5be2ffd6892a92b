package hdf5_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

// TestVerifySoundFiles verifies undamaged files of several programs.
func TestVerifySoundFiles(t *testing.T) {
	names, _ := filepath.Glob("testdata/*.h5")
	for _, name := range append(names, "../../testdata/digits.h5", "../../testdata/tour.h5") {
		if r := hdf5test.Verify(t, name); len(r.Problems) > 0 || r.Objects == 0 {
			t.Errorf("%s: %d objects, problems %v", name, r.Objects, r.Problems)
		}
	}
}

// TestVerifyLimits verifies damaged files and all others of the corpora, in a process of
// its own, whose memory it measures.
func TestVerifyLimits(t *testing.T) {
	const alone = "H5DNN_TEST_ALONE"
	if os.Getenv(alone) == "" {
		again := exec.Command(os.Args[0], "-test.run=^TestVerifyLimits$")
		again.Env = append(os.Environ(), alone+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	for _, name := range hdf5test.CorpusFiles(t, "hostile", "official", "filters", "jhdf", "netcdf", "pyfive") {
		start := storagetest.CPUTime(t)
		r, err := hdf5.Verify(context.Background(), name, nil)
		if took := storagetest.CPUTime(t) - start; took > 5*time.Second {
			t.Errorf("%s: took %v of CPU time", name, took)
		}
		if testing.Verbose() {
			t.Log(filepath.Base(name), err, r.Objects, r.Chunks, r.Problems, r.Skipped)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if const512 := uint64(512 << 20); m.Sys > const512 {
		t.Errorf("the process took %d bytes from the system, want at most %d", m.Sys, const512)
	}
}

// TestVerifyFindsEveryFault damages a file with checksums, one byte at a time.
func TestVerifyFindsEveryFault(t *testing.T) {
	sound := writeChecked(t)
	whole, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	if r := hdf5test.Verify(t, sound); len(r.Problems) > 0 || r.Chunks != 6 {
		t.Fatalf("%d chunks, problems %v", r.Chunks, r.Problems)
	}
	f, err := hdf5.Open(sound)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/group/x")
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := d.StoredChunks()
	if err != nil {
		t.Fatal(err)
	}
	hit := filepath.Join(t.TempDir(), "hit.h5")
	for _, c := range chunks {
		for at := c.Offset; at < c.Offset+c.Size; at += 7 {
			r := verifiedWith(t, hit, whole, at)
			if len(r.Problems) != 1 || r.Problems[0].Path != "/group/x" || !strings.Contains(r.Problems[0].Message, "chunk [") {
				t.Fatalf("byte %d of chunk %v: problems %v, want one of that chunk", at-c.Offset, c.Coord, r.Problems)
			}
		}
	}
	header, _ := d.Address()
	for at := int(header); at < int(header)+60; at++ {
		if r := verifiedWith(t, hit, whole, at); len(r.Problems) == 0 {
			t.Errorf("byte %d of the header: nothing wrong", at-int(header))
		}
	}
}

// verifiedWith verifies a file with one damaged byte.
func verifiedWith(t *testing.T, name string, whole []byte, at int) hdf5.Report {
	t.Helper()
	whole[at] ^= 0x10
	defer func() { whole[at] ^= 0x10 }()
	if err := os.WriteFile(name, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	return hdf5test.Verify(t, name)
}

// TestVerifyFindsMisplacedElements moves the elements of a dataset to those of another,
// and beyond the end of the file.
func TestVerifyFindsMisplacedElements(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	must(t, err)
	err = errors.Join(w.Write("/a", storage.From(make([]int64, 100), 100)), w.Write("/b", storage.From(make([]int64, 100), 100)), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	coord := func(path string) []byte {
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := d.Offset()
		return binary.LittleEndian.AppendUint64(nil, uint64(at))
	}
	hdf5test.WithoutChecksums(t)
	for _, c := range []struct {
		to   []byte
		want string
	}{
		{coord("/a"), "where those of /a are"},
		{binary.LittleEndian.AppendUint64(nil, uint64(len(whole)-799)), "beyond the file's end"},
	} {
		if err := os.WriteFile(name, bytes.Replace(whole, coord("/b"), c.to, 1), 0o666); err != nil {
			t.Fatal(err)
		}
		r := hdf5test.Verify(t, name)
		if len(r.Problems) != 1 || r.Problems[0].Path != "/b" || !strings.Contains(r.Problems[0].Message, c.want) {
			t.Errorf("elements at %v: problems %v, want one of /b: %s", c.to, r.Problems, c.want)
		}
	}
}

// writeChecked writes a file with six chunks with checksums.
func writeChecked(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sound.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	elems := make([]int32, 60*40)
	for k := range elems {
		elems[k] = int32(k * k)
	}
	err = errors.Join(
		w.WriteWith("/group/x", storage.From(elems, 60, 40), hdf5write.Layout{Chunks: []int{20, 20}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4), filter.Fletcher32()}}),
		w.Close())
	if err != nil {
		t.Fatal(err)
	}
	return name
}
