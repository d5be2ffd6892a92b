package hdf5_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

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
	return manyDatasetsWith(t, n, hdf5write.CreateOptions{}, filters...)
}

func manyDatasetsWith(t *testing.T, n int, o hdf5write.CreateOptions, filters ...filter.Filter) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, o)
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

// TestFilesThatChangeSaySo reads a dataset after its file was replaced on the server.
func TestFilesThatChangeSaySo(t *testing.T) {
	f, server := served(t, manyDatasets(t, 1))
	d, err := f.Dataset("/group/000")
	if err != nil {
		t.Fatal(err)
	}
	server.Change(func(files map[string][]byte, _ *remotetest.Settings) {
		files["x.h5"] = make([]byte, len(files["x.h5"]))
	})
	if _, err := d.Raw(d.View()); !errors.Is(err, remote.ErrChanged) {
		t.Errorf("%v, want %v", err, remote.ErrChanged)
	}
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

// TestPagedFilesTakeFewRequests: in pages, the headers and indexes of chunks of a file are in few places.
func TestPagedFilesTakeFewRequests(t *testing.T) {
	f, s := served(t, manyDatasetsWith(t, 8, hdf5write.CreateOptions{PageSize: 1 << 20}, filter.Deflate(1)))
	for o := range f.Walk() {
		if o.Kind != hdf5.KindDataset {
			continue
		}
		d, err := o.Dataset()
		if err != nil {
			t.Fatal(err)
		}
		if chunks, err := d.StoredChunks(); err != nil || len(chunks) != 128 {
			t.Fatalf("%s: %d chunks, %v", o.Path, len(chunks), err)
		}
	}
	if requests, bytes := s.Requests(); len(requests) > 5 || bytes > 4<<20 {
		t.Errorf("%d requests of %d bytes; want at most 5 of 4 MiB", len(requests), bytes)
	}
}

// rounds answers requests together, once no other one came for a while, and counts these round trips.
type rounds struct {
	*remote.Model
	mu    sync.Mutex
	next  chan struct{} // closed when the waiting requests are answered; nil without any
	timer *time.Timer
	count int
}

func (r *rounds) RoundTrip(q *http.Request) (*http.Response, error) {
	const while = 50 * time.Millisecond
	r.mu.Lock()
	if r.next == nil {
		answered := make(chan struct{})
		r.next = answered
		r.count++
		r.timer = time.AfterFunc(while, func() {
			r.mu.Lock()
			r.next = nil
			r.mu.Unlock()
			close(answered)
		})
	}
	r.timer.Reset(while)
	wait := r.next
	r.mu.Unlock()
	<-wait
	return r.Model.RoundTrip(q)
}

// walked opens a file at a URL, visits all of its objects, and returns how many there are, and in how many round trips and requests
// they were read. As many requests as are made at once are in flight.
func walked(t *testing.T, content []byte) (objects, trips int, requests int64) {
	t.Helper()
	r := &rounds{Model: &remote.Model{File: bytes.NewReader(content), Size: int64(len(content))}}
	client := remote.NewClient(remote.Options{Transport: r, Requests: 64})
	defer client.Close()
	f, err := hdf5.Open("http://model/x.h5", hdf5.Options{Context: remote.NewContext(context.Background(), client)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, err := range f.Walk() {
		if err != nil {
			t.Fatal(err)
		}
		objects++
	}
	t.Logf("%d objects in %d round trips of %d requests", objects, r.count, client.Stats().Requests)
	return objects, r.count, client.Stats().Requests
}

// unpacked returns the content of a compressed file in testdata.
func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestScatteredHeadersTakeFourRoundTrips: the beginning of the file, the headers of groups with their B-trees and heaps, their names and
// links, the headers of datasets.
func TestScatteredHeadersTakeFourRoundTrips(t *testing.T) {
	if objects, trips, _ := walked(t, unpacked(t, "scattered.h5.gz")); objects != 205 || trips > 4 {
		t.Errorf("%d objects in %d round trips; want 205 in 4", objects, trips)
	}
}

// TestHeadersAtTheFrontTakeFiveRequests: of a file whose metadata are at the front.
func TestHeadersAtTheFrontTakeFiveRequests(t *testing.T) {
	if objects, _, requests := walked(t, unpacked(t, "front.h5.gz")); objects != 205 || requests > 5 {
		t.Errorf("%d objects by %d requests; want 205 by 5", objects, requests)
	}
}

// TestGroupsAreListedAtOnce: listing 40 groups, whose 3 datasets are at the beginning, in the middle and at the end, takes about as many round trips as
// listing one. One group after the other takes 15.
func TestGroupsAreListedAtOnce(t *testing.T) {
	if objects, trips, _ := walked(t, zeroDatasets(t, hdf5write.CreateOptions{}, 120, 40)); objects != 161 || trips > 5 {
		t.Errorf("%d objects in %d round trips; want 161 in 5", objects, trips)
	}
}

// TestLinksInHeapsTakeFiveRoundTrips: between the headers of groups, which are at the beginning, and of their members there are the headers
// of heaps and B-trees, their roots, and their blocks and leaves.
func TestLinksInHeapsTakeFiveRoundTrips(t *testing.T) {
	if objects, trips, _ := walked(t, zeroDatasets(t, hdf5write.CreateOptions{}, 200, 4)); objects != 205 || trips > 5 {
		t.Errorf("%d objects in %d round trips; want 205 in 5", objects, trips)
	}
}

// TestDeepTreesAreReadByLevel: the links of one group of 3,000 members are in a tree of three levels, with several nodes in the middle;
// read one after the other, these take a round trip each (21 in all).
func TestDeepTreesAreReadByLevel(t *testing.T) {
	if objects, trips, _ := walked(t, zeroDatasets(t, hdf5write.CreateOptions{}, 3000, 1)); objects != 3002 || trips > 18 {
		t.Errorf("%d objects in %d round trips; want 3002 in 18", objects, trips)
	}
}

// TestPagesAreListedByFiveRequests: 200 datasets, whose headers are in pages.
func TestPagesAreListedByFiveRequests(t *testing.T) {
	if objects, _, requests := walked(t, zeroDatasets(t, hdf5write.CreateOptions{PageSize: 1 << 20}, 200, 4)); objects != 205 || requests > 5 {
		t.Errorf("%d objects by %d requests; want 205 by 5", objects, requests)
	}
}

// zeroDatasets returns a file of n datasets of zeros in some groups, which are written in turn.
func zeroDatasets(t *testing.T, o hdf5write.CreateOptions, n, groups int) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.h5")
	w, err := hdf5write.Create(name, o)
	if err != nil {
		t.Fatal(err)
	}
	elems := make([]float64, 8<<10)
	for k := range n {
		if err := w.WriteWith(fmt.Sprintf("/%02d/%d", k%groups, k/groups), storage.From(elems, len(elems)), hdf5write.Layout{}); err != nil {
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

// TestFilesThatReferToOthersByURL: external links, raw data and virtual datasets below one URL are what they are in a
// folder, and no other file is opened.
func TestFilesThatReferToOthersByURL(t *testing.T) {
	files := map[string][]byte{}
	names, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if content, err := os.ReadFile(name); err == nil {
			files["a folder/"+filepath.Base(name)] = content
		}
	}
	s := remotetest.NewServer(t, files, remotetest.Settings{})
	ctx := remote.NewContext(context.Background(), remote.NewClient(remote.Options{Retries: -1}))
	for _, name := range []string{"virtual.h5", "external.h5"} {
		local, err := hdf5.Open("testdata/"+name, hdf5.Options{Follow: "testdata"})
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		far, err := hdf5.Open(s.URL+"a%20folder/"+name, hdf5.Options{Follow: s.URL + "a%20folder/", Context: ctx})
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		elsewhere, err := hdf5.Open(s.URL+"a%20folder/"+name, hdf5.Options{Follow: s.URL + "other", Context: ctx})
		if err != nil {
			t.Fatal(err)
		}
		defer elsewhere.Close()
		compared, failed := 0, 0
		for o := range local.Walk() {
			path := o.Path
			want, err1 := contentOf(local, path)
			got, err2 := contentOf(far, path)
			if (err1 == nil) != (err2 == nil) || want != got {
				t.Errorf("%s: %s: %.60q, %v; want %.60q, %v", name, path, got, err2, want, err1)
			}
			if err1 == nil && want != "" {
				compared++
			}
			if _, err := contentOf(elsewhere, path); err != nil && err1 == nil {
				failed++
			}
		}
		t.Logf("%s: %d datasets, %d of which need other files", name, compared, failed)
		if compared == 0 || failed == 0 {
			t.Errorf("%s: %d datasets compared, %d of which need other files", name, compared, failed)
		}
	}
	f, err := hdf5.Open(s.URL+"a%20folder/virtual.h5", hdf5.Options{Follow: s.URL + "a%20folder", Context: ctx})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range []string{"../secret.h5", "x/../../secret.h5", "http://other.example/x.h5", s.URL + "secret.h5", "..", s.URL + "a%20folder/../secret.h5"} {
		if _, err := f.Linked(name); !errors.Is(err, storage.ErrState) {
			t.Errorf("a link to %s: %v", name, err)
		}
	}
}

// contentOf returns the elements of a dataset, reached through links, as text; nothing for a group.
func contentOf(f *hdf5.File, path string) (string, error) {
	o, err := f.Lookup(path)
	if err != nil || o.Kind != hdf5.KindDataset {
		return "", err
	}
	d, err := o.Dataset()
	if err != nil {
		return "", err
	}
	a, err := d.Array()
	if err != nil {
		return "", err
	}
	on, err := a.To(storage.CPU)
	if err != nil {
		return "", err
	}
	b, _ := on.Bytes()
	return fmt.Sprint(a.Shape, string(b)), nil
}
