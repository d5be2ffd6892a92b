package hdf5_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/storage/remote"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// manyDatasets writes a file of datasets of 8 MiB each, in chunks of 64 KiB of noise, and returns its content. The
// headers and the indexes of chunks are all over the file.
func manyDatasets(t *testing.T, n int, filters ...filter.Filter) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for k := range n {
		elems := make([]uint32, 2<<20)
		for i := range elems {
			elems[i] = random.Uint32()
		}
		if err := w.WriteWith(fmt.Sprintf("/group/%03d", k), storage.From(elems, 1024, 2048), hdf5write.Layout{Chunks: []int{8, 2048}, Filters: filters}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// served serves a file and opens it by its URL.
func served(t *testing.T, content []byte) (*hdf5.File, *remotetest.Server) {
	t.Helper()
	s := remotetest.NewServer(t, map[string][]byte{"x.h5": content}, remotetest.Settings{})
	ctx := remote.NewContext(context.Background(), remote.NewClient(remote.Options{}))
	f, err := hdf5.Open(s.URL+"x.h5", hdf5.Options{Context: ctx})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, s
}

// TestRemoteRequests counts what operations on a remote file of 64 MiB take.
func TestRemoteRequests(t *testing.T) {
	content := manyDatasets(t, 8, filter.Deflate(1))
	f, s := served(t, content)
	count := func(act string, mostRequests int, mostBytes int64) {
		t.Helper()
		requests, bytes := s.Requests()
		t.Logf("%s: %d requests, %d bytes", act, len(requests), bytes)
		if len(requests) > mostRequests || bytes > mostBytes {
			t.Errorf("%s: %d requests of %d bytes, want at most %d of %d", act, len(requests), bytes, mostRequests, mostBytes)
		}
	}
	count("open", 1, 64<<10)
	for _, err := range f.Walk() {
		if err != nil {
			t.Fatal(err)
		}
	}
	count("walk", 16, 2<<20)
	d, err := f.Dataset("/group/003")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := d.StoredSize()
	if err != nil {
		t.Fatal(err)
	}
	count("index", 6, 1<<20)
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Read[uint32](a); err != nil {
		t.Fatal(err)
	}
	count("read all", 8, int64(stored)*11/10)
	d, err = f.Dataset("/group/005")
	if err != nil {
		t.Fatal(err)
	}
	if a, err = d.Array(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.StoredSize(); err != nil {
		t.Fatal(err)
	}
	s.Requests()
	part, err := a.Index("[64:72, 7]")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Read[uint32](part); err != nil {
		t.Fatal(err)
	}
	count("one chunk", 1, 70<<10)
}
