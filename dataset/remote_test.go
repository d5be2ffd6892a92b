package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/storage/remote"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// remoteFile writes samples of 1 KiB in three layouts and returns the content.
func remoteFile(t *testing.T, samples int) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	elems := make([]uint32, samples*256)
	for i := range elems {
		elems[i] = uint32(i) * 2654435761
	}
	for path, layout := range map[string]hdf5write.Layout{
		"/contiguous": {}, "/gzip": {Chunks: []int{64, 256}, Filters: []filter.Filter{filter.Deflate(1)}}, "/chunked": {Chunks: []int{64, 256}},
	} {
		if err := w.WriteWith(path, storage.From(elems, samples, 256), layout); err != nil {
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

// TestRemoteEpochs loads epochs of a remote file: each has every sample once, as the local file has it, and fetches
// each stored byte about once, by few requests.
func TestRemoteEpochs(t *testing.T) {
	const samples = 16 << 10 // 16 MiB
	content := remoteFile(t, samples)
	local, err := hdf5.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/contiguous", "/gzip", "/chunked"} {
		for _, shuffle := range []dataset.Shuffle{dataset.None, dataset.Window, dataset.Auto, dataset.Exact} {
			for _, memory := range []int64{0, 12 << 20} {
				if shuffle == dataset.Exact && memory > 0 {
					continue // reads chunks again and again by its nature
				}
				t.Run(fmt.Sprintf("%s %v %d", path, shuffle, memory), func(t *testing.T) {
					s := remotetest.NewServer(t, map[string][]byte{"x.h5": content}, remotetest.Settings{})
					ctx := remote.NewContext(context.Background(), remote.NewClient(remote.Options{}))
					f, err := hdf5.Open(s.URL+"x.h5", hdf5.Options{Context: ctx, CacheBytes: -1})
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
					a, want := arrayOf(t, f, path), arrayOf(t, local, path)
					d, err := dataset.FromArrays(dataset.NamedArray{Name: "x", Array: a})
					if err != nil {
						t.Fatal(err)
					}
					all, err := storage.Read[uint32](want)
					if err != nil {
						t.Fatal(err)
					}
					set, err := f.Dataset(path)
					if err != nil {
						t.Fatal(err)
					}
					stored, err := set.StoredSize()
					if err != nil {
						t.Fatal(err)
					}
					s.Requests()
					seen := make([]bool, samples)
					for b, err := range dataset.Load(context.Background(), d, dataset.Options{BatchSize: 100, Shuffle: shuffle, Memory: memory, Workers: 2, Window: 16}) {
						if err != nil {
							t.Fatal(err)
						}
						got := storage.Elements[uint32](b.Fields[0])
						for k, row := range b.Rows {
							if seen[row] || !slices.Equal(got[k*256:(k+1)*256], all[row*256:(row+1)*256]) {
								t.Fatalf("sample %d is wrong, or comes twice", row)
							}
							seen[row] = true
						}
					}
					requests, bytes := s.Requests()
					t.Logf("%d requests of %d bytes for %d stored", len(requests), bytes, stored)
					if slices.Contains(seen, false) {
						t.Error("samples are missing")
					}
					if bytes > int64(stored)*11/10 || len(requests) > 280 || shuffle == dataset.None && len(requests) > 20 {
						t.Errorf("%d requests of %d bytes for %d stored", len(requests), bytes, stored)
					}
				})
			}
		}
	}
}
