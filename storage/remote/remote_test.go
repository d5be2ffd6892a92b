package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/remote"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// content returns n bytes that differ from place to place.
func content(n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

// quick are options for tests of failures.
var quick = remote.Options{Delay: time.Millisecond}

// opened opens the file x of a server.
func opened(t *testing.T, s *remotetest.Server, o remote.Options) (*remote.File, *remote.Client) {
	t.Helper()
	c := remote.NewClient(o)
	f, err := c.Open(t.Context(), s.URL+"x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, c
}

// wantRead reads n bytes at an offset and compares them.
func wantRead(t *testing.T, f io.ReaderAt, data []byte, at, n int) {
	t.Helper()
	b := make([]byte, n)
	got, err := f.ReadAt(b, int64(at))
	want := data[min(at, len(data)):min(at+n, len(data))]
	if got != len(want) || !bytes.Equal(b[:got], want) || err != nil && err != io.EOF || (err == io.EOF) != (len(want) < n) {
		t.Errorf("%d bytes at %d: got %d, error %v", n, at, got, err)
	}
}

// TestReadsAgreeWithTheFile reads, prefetches and caches ranges at random from several goroutines, with memory for
// little of the file.
func TestReadsAgreeWithTheFile(t *testing.T) {
	data := content(3<<20 + 123)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	f, _ := opened(t, s, remote.Options{Memory: 1 << 20, Requests: 4})
	var all sync.WaitGroup
	for worker := range 6 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			some := func() storage.Range {
				n := 1 + random.IntN([]int{100, 20 << 10, 300 << 10}[random.IntN(3)])
				return storage.Range{At: int64(random.IntN(len(data) + 10)), Len: int64(n)}
			}
			for range 25 {
				ranges := []storage.Range{some(), some(), some()}
				switch random.IntN(3) {
				case 0:
					f.Prefetch(ranges)
				case 1:
					if err := f.Cache(ranges); err != nil {
						t.Error(err)
					}
				}
				for _, r := range ranges {
					wantRead(t, f, data, int(r.At), int(r.Len))
				}
			}
		})
	}
	all.Wait()
}

func TestReadsInOrderTakeFewRequests(t *testing.T) {
	data := content(8 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	f, _ := opened(t, s, remote.Options{})
	for at := 0; at < len(data); at += 4000 {
		wantRead(t, f, data, at, 4000)
	}
	requests, bytes := s.Requests()
	// 64 KiB with the first request, then runs of 128, 256, 512 and 1024 KiB; 7,232 KiB are left for 8 of 1 MiB.
	if len(requests) > 1+3+8 || bytes != int64(len(data)) {
		t.Errorf("%d requests of %d bytes for %d", len(requests), bytes, len(data))
	}
}

func TestLargeReadsAreExact(t *testing.T) {
	data := content(8 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	f, c := opened(t, s, remote.Options{})
	s.Requests()
	wantRead(t, f, data, 1234567, 100_000)
	if requests, sent := s.Requests(); len(requests) != 1 || sent != 100_000 {
		t.Errorf("%d requests of %d bytes for one of 100,000", len(requests), sent)
	}
	if got := c.Stats(); got.Requests != 2 || got.Bytes != 64<<10+100_000 || got.Files != 1 || got.Size != int64(len(data)) {
		t.Errorf("counted %+v", got)
	}
}

// TestPrefetchFetchesEachByteOnce: ranges that are near each other are one request, ranges that are not are
// requested at the same time, within the limit.
func TestPrefetchFetchesEachByteOnce(t *testing.T) {
	data := content(16 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{Delay: 5 * time.Millisecond})
	f, _ := opened(t, s, remote.Options{Requests: 3})
	s.Requests()
	var ranges []storage.Range
	wanted := int64(0)
	for k := range 12 { // six pairs of neighbours
		at := int64(1<<20 + k/2*(1<<20) + k%2*5000)
		ranges, wanted = append(ranges, storage.Range{At: at, Len: 5000}), wanted+5000
	}
	f.Prefetch(ranges)
	f.Prefetch(ranges) // which is being fetched
	for _, r := range ranges {
		wantRead(t, f, data, int(r.At), int(r.Len))
	}
	if requests, sent := s.Requests(); len(requests) != 6 || sent != wanted {
		t.Errorf("%d requests of %d bytes for 6 pairs of neighbours of %d bytes", len(requests), sent, wanted)
	}
	if most := s.MostBusy(); most != 6 {
		t.Errorf("%d small requests at a time, want 6", most)
	}
	var large []storage.Range
	for k := range int64(6) {
		large = append(large, storage.Range{At: 8<<20 + k<<20, Len: 300_000})
	}
	f.Prefetch(large)
	for _, r := range large {
		wantRead(t, f, data, int(r.At), int(r.Len))
	}
	if most := s.MostBusy(); most != 3 {
		t.Errorf("%d large requests at a time, want 3", most)
	}
	s.Requests()
	wantRead(t, f, data, int(ranges[0].At), 5000)
	if requests, _ := s.Requests(); len(requests) != 1 {
		t.Errorf("a range that was read is kept: %d requests", len(requests))
	}
}

func TestPrefetchStaysWithinMemory(t *testing.T) {
	data := content(8 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	f, _ := opened(t, s, remote.Options{Memory: 4 << 20})
	s.Requests()
	for round := range 5 { // what nobody reads gives way in the end
		for at := range int64(8) {
			f.Prefetch([]storage.Range{{At: at << 20, Len: 1 << 20}})
		}
		if requests, _ := s.Requests(); round == 0 && len(requests) > 2 {
			t.Errorf("%d MiB fetched with memory for 2", len(requests))
		}
	}
	time.Sleep(10 * time.Millisecond)
	s.Requests()
	f.Prefetch([]storage.Range{{At: 7 << 20, Len: 1 << 20}})
	wantRead(t, f, data, 7<<20, 1<<20)
	if requests, _ := s.Requests(); len(requests) > 1 {
		t.Errorf("%d requests for one range", len(requests))
	}
}

func TestCacheFetchesBlocksTogether(t *testing.T) {
	data := content(16 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	together := make(chan struct{}, 100)
	s.Change(func(_ map[string][]byte, o *remotetest.Settings) {
		o.Answering = func(r remotetest.Request) {
			if r.First > 0 { // wait until all four requests are there
				together <- struct{}{}
				for len(together) < 4 {
					time.Sleep(time.Millisecond)
				}
			}
		}
	})
	f, _ := opened(t, s, remote.Options{})
	var ranges []storage.Range
	for k := range 4 {
		ranges = append(ranges, storage.Range{At: int64(2+3*k) << 20, Len: 300}, storage.Range{At: int64(2+3*k)<<20 + 16000, Len: 1000})
	}
	if err := f.Cache(ranges); err != nil {
		t.Fatal(err)
	}
	s.Requests()
	for _, r := range ranges {
		wantRead(t, f, data, int(r.At), int(r.Len))
	}
	if requests, _ := s.Requests(); len(requests) > 0 {
		t.Errorf("%d requests for cached blocks", len(requests))
	}
}

// TestFaults: requests that may succeed later are repeated, and others are one clear error.
func TestFaults(t *testing.T) {
	twice := func(f remotetest.Fault) func(remotetest.Request) remotetest.Fault {
		return func(r remotetest.Request) remotetest.Fault {
			if r.Number < 2 {
				return f
			}
			return remotetest.Fault{}
		}
	}
	always := func(f remotetest.Fault) func(remotetest.Request) remotetest.Fault {
		return func(remotetest.Request) remotetest.Fault { return f }
	}
	for name, c := range map[string]struct {
		fault    func(remotetest.Request) remotetest.Fault
		change   func(files map[string][]byte, s *remotetest.Settings)
		want     string // in the error
		kind     error
		requests int
	}{
		"unavailable twice": {fault: twice(remotetest.Fault{Status: 503}), requests: 3},
		"slow down twice":   {fault: twice(remotetest.Fault{Status: 503, Code: "SlowDown"}), requests: 3},
		"truncated twice":   {fault: twice(remotetest.Fault{Truncate: true, SendBytes: 30_000}), requests: 3},
		"stalls twice":      {fault: twice(remotetest.Fault{Stall: true}), requests: 3},
		"stalls within":     {fault: twice(remotetest.Fault{Stall: true, Truncate: true, SendBytes: 30_000}), requests: 3},
		"unavailable":       {fault: always(remotetest.Fault{Status: 503}), want: "the server answers 503 Service Unavailable (tried 6 times)", requests: 6},
		"truncated":         {fault: always(remotetest.Fault{Truncate: true}), want: "the answer ended after 0 bytes of 100000", kind: io.ErrUnexpectedEOF, requests: 6},
		"stalls":            {fault: always(remotetest.Fault{Stall: true}), want: "the server sends nothing for 150ms (tried 6 times)", requests: 6},
		"denied":            {fault: always(remotetest.Fault{Status: 403, Code: "ExpiredToken"}), want: "access denied (403 Forbidden: ExpiredToken The message of ExpiredToken.)", kind: fs.ErrPermission, requests: 1},
		"few bytes":         {fault: always(remotetest.Fault{Most: 30_000}), requests: 4},
		"no such range": {fault: always(remotetest.Fault{Status: 416}), change: func(_ map[string][]byte, o *remotetest.Settings) {
			o.Header = func(h http.Header) { h.Set("Content-Range", "bytes */1048576") }
		}, want: "the server answers 416", requests: 1},
		"a bug of the server": {fault: always(remotetest.Fault{Status: 400}), want: "the server answers 400 Bad Request", requests: 1},
		"removed":             {change: func(files map[string][]byte, _ *remotetest.Settings) { delete(files, "x") }, want: "no such file (404 Not Found: NoSuchKey", kind: fs.ErrNotExist, requests: 1},
		"changed":             {change: func(files map[string][]byte, _ *remotetest.Settings) { files["x"] = make([]byte, len(files["x"])) }, want: "the file has changed since it was opened", kind: storage.ErrState, requests: 1},
		"changed, weak ETags": {change: func(files map[string][]byte, s *remotetest.Settings) {
			files["x"], s.WeakETags = make([]byte, len(files["x"])), true
		}, want: "the file has changed", requests: 1},
		"grown": {change: func(files map[string][]byte, s *remotetest.Settings) {
			files["x"], s.NoETags = append(files["x"], 1), true
		}, want: "the file has changed", requests: 1},
		"whole files": {change: func(_ map[string][]byte, s *remotetest.Settings) { s.WholeFiles = true }, want: "the server sends whole files, not ranges of bytes", requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			data := content(1 << 20)
			s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
			o := quick
			if strings.Contains(name, "stalls") {
				o.Stall = 150 * time.Millisecond
			}
			f, _ := opened(t, s, o)
			s.Requests()
			s.Change(func(files map[string][]byte, o *remotetest.Settings) {
				o.Fault = c.fault
				if c.change != nil {
					c.change(files, o)
				}
			})
			b := make([]byte, 100_000)
			_, err := f.ReadAt(b, 500_000)
			requests, sent := s.Requests()
			if len(requests) != c.requests || name == "changed" && sent > 0 {
				t.Errorf("%d requests of %d bytes, want %d", len(requests), sent, c.requests)
			}
			switch {
			case c.want == "" && (err != nil || !bytes.Equal(b, data[500_000:600_000])):
				t.Errorf("error %v, or other bytes", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), s.URL+"x: bytes 500000 to 600000: ")):
				t.Errorf("error %v, want %q", err, c.want)
			case c.kind != nil && !errors.Is(err, c.kind):
				t.Errorf("error %v is not %v", err, c.kind)
			case strings.Contains(fmt.Sprint(err), "\n"):
				t.Errorf("an error of several lines: %v", err)
			}
			// Blocks and ranges that could not be fetched are fetched again.
			s.Change(func(files map[string][]byte, o *remotetest.Settings) {
				files["x"], *o = data, remotetest.Settings{}
			})
			f.Prefetch([]storage.Range{{At: 1000, Len: 200_000}})
			wantRead(t, f, data, 1000, 200_000)
			wantRead(t, f, data, 700_000, 10)
		})
	}
}

// TestFewBytesAtFirst: the first answer may have less than was asked for, too.
func TestFewBytesAtFirst(t *testing.T) {
	data := content(1 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{
		Fault: func(remotetest.Request) remotetest.Fault { return remotetest.Fault{Most: 20_000} },
	})
	f, _ := opened(t, s, quick)
	wantRead(t, f, data, 0, 100)
	wantRead(t, f, data, 10_000, 60_000)
}

// TestDatesTellVersionsApart where there are no ETags.
func TestDatesTellVersionsApart(t *testing.T) {
	data, date := content(1<<20), "Wed, 21 Oct 2015 07:28:00 GMT"
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{
		NoETags: true, Header: func(h http.Header) { h.Set("Last-Modified", date) },
	})
	f, _ := opened(t, s, quick)
	wantRead(t, f, data, 300_000, 100_000)
	date = "Wed, 21 Oct 2015 07:28:01 GMT"
	if _, err := f.ReadAt(make([]byte, 100_000), 500_000); err == nil || !strings.Contains(err.Error(), "the file has changed") {
		t.Errorf("with another date: %v", err)
	}
}

// TestClosedHandlesStayClosed: a file that is opened again does not depend on who closed it before.
func TestClosedHandlesStayClosed(t *testing.T) {
	data := content(1 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	first, c := opened(t, s, remote.Options{Linger: true})
	first.Close()
	second, err := c.Open(t.Context(), s.URL+"x")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	first.Close()
	wantRead(t, second, data, 300_000, 1000)
	if _, err := first.ReadAt(make([]byte, 10), 0); err == nil {
		t.Error("a file that was closed is read")
	}
	if requests, _ := s.Requests(); len(requests) != 2 {
		t.Errorf("%d requests, want 2", len(requests))
	}
}

// TestCacheStaysWithinMemory: blocks that would not stay until they are read are not fetched.
func TestCacheStaysWithinMemory(t *testing.T) {
	data := content(8 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	f, _ := opened(t, s, remote.Options{Memory: 2 << 20})
	s.Requests()
	var ranges []storage.Range
	for at := int64(0); at < 8<<20; at += 64 << 10 {
		ranges = append(ranges, storage.Range{At: at, Len: 10})
	}
	if err := f.Cache(ranges); err != nil {
		t.Fatal(err)
	}
	if _, bytes := s.Requests(); bytes > 5<<20/4 {
		t.Errorf("%d bytes fetched with memory for 1 MiB of blocks", bytes)
	}
}

// TestFailedBlocksAreFetchedAgain: an error is not cached, wherever the bytes were wanted.
func TestFailedBlocksAreFetchedAgain(t *testing.T) {
	data := content(1 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	f, _ := opened(t, s, quick)
	s.Change(func(_ map[string][]byte, o *remotetest.Settings) {
		o.Fault = func(remotetest.Request) remotetest.Fault { return remotetest.Fault{Status: 403} }
	})
	far := []storage.Range{{At: 500_000, Len: 1000}}
	f.Prefetch(far)
	if _, err := f.ReadAt(make([]byte, 1000), 500_000); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("prefetched: %v", err)
	}
	if err := f.Cache(far); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("cached: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1000), 500_000); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read: %v", err)
	}
	s.Change(func(_ map[string][]byte, o *remotetest.Settings) { o.Fault = nil })
	wantRead(t, f, data, 500_000, 1000)
}

func TestOpenErrors(t *testing.T) {
	s := remotetest.NewServer(t, map[string][]byte{"x": content(1 << 20), "small": content(100), "empty": {}}, remotetest.Settings{})
	c := remote.NewClient(quick)
	for url, want := range map[string]string{
		s.URL + "y":                    s.URL + "y: no such file (404 Not Found",
		"http://":                      "names no host",
		"s3://bucket":                  "want s3://BUCKET/KEY",
		"s3://bucket/":                 "want s3://BUCKET/KEY",
		"http://user:secret@[::1]:1/x": "user:xxxxx@",
		"http://user:secret@%zz":       "user:xxxxx@",
		"http://127.0.0.1:1/x?X-Amz-Expires=9&X-Amz-Signature=secret&a=b": "/x?X-Amz-Expires=xxxxx&X-Amz-Signature=xxxxx&a=b: ",
		"http://127.0.0.1:1/x?sig=secret":                                 "/x?sig=xxxxx: ",
		s.URL + "x?X-Amz-Signature=xxxxx":                                 "written without its password or signature",
		"http://user:xxxxx@127.0.0.1:1/x":                                 "written without its password or signature",
		"http://h5dnn.invalid./x":                                         "no such host",
		"https" + s.URL[4:] + "x?a=b":                                     "HTTP response to HTTPS client",
		"http://%zz":                                                      "invalid URL escape",
		strings.TrimSuffix(s.URL, "/"):                                    "no such file",
		"http://127.0.0.1:1/x?sign=abc":                                   "connection refused",
	} {
		f, err := c.Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if f != nil || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, wholeFiles := range []bool{false, true} {
		s.Change(func(_ map[string][]byte, o *remotetest.Settings) { o.WholeFiles = wholeFiles })
		for name, size := range map[string]int64{"small": 100, "empty": 0} {
			f, err := c.Open(t.Context(), s.URL+name)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := f.ReadAt(make([]byte, 200), 0); f.Size() != size || int64(n) != size || err != io.EOF {
				t.Errorf("%s: size %d, read %d, error %v", name, f.Size(), n, err)
			}
			f.Close()
		}
	}
	s.Requests()
	if _, err := c.Open(t.Context(), s.URL+"x"); err == nil || !strings.Contains(err.Error(), "whole files") {
		t.Errorf("a server without ranges: %v", err)
	}
}

func TestCloseEndsRequests(t *testing.T) {
	data := content(1 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	f, _ := opened(t, s, remote.Options{})
	s.Change(func(_ map[string][]byte, o *remotetest.Settings) {
		o.Fault = func(remotetest.Request) remotetest.Fault { return remotetest.Fault{Stall: true} }
	})
	f.Prefetch([]storage.Range{{At: 300_000, Len: 100_000}, {At: 500_000, Len: 100_000}})
	failed := make(chan error)
	go func() {
		_, err := f.ReadAt(make([]byte, 1000), 700_000)
		failed <- err
	}()
	f.Close()
	if err := <-failed; err == nil {
		t.Error("a read of a closed file succeeds")
	}
	f.Prefetch([]storage.Range{{At: 800_000, Len: 1000}})
	if _, err := f.ReadAt(make([]byte, 1000), 0); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a read after Close: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := remote.NewClient(quick).Open(ctx, s.URL+"x"); !errors.Is(err, context.Canceled) {
		t.Errorf("opened after the context ended: %v", err)
	}
}

// TestRedirectionIsRemembered: later requests go where the first one was sent, and ask again where to once that
// is refused.
func TestRedirectionIsRemembered(t *testing.T) {
	data := content(1 << 20)
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{Redirect: true})
	f, _ := opened(t, s, quick)
	wantRead(t, f, data, 300_000, 100_000)
	if requests, _ := s.Requests(); len(requests) != 3 || requests[2].Path != "moved/x" || requests[2].Query == "" {
		t.Errorf("requests %v", requests)
	}
	expired := true
	s.Change(func(_ map[string][]byte, o *remotetest.Settings) {
		o.Fault = func(r remotetest.Request) (fault remotetest.Fault) {
			if expired {
				fault.Status, expired = 403, false
			}
			return fault
		}
	})
	wantRead(t, f, data, 500_000, 100_000)
	if requests, _ := s.Requests(); len(requests) != 3 || requests[1].Path != "x" {
		t.Errorf("requests %v", requests)
	}
}

// TestFolderKeepsWhatWasFetched: another process fetches only the first bytes again, which tell it the version.
func TestFolderKeepsWhatWasFetched(t *testing.T) {
	data, folder := content(4<<20), filepath.Join(t.TempDir(), "cache")
	s := remotetest.NewServer(t, map[string][]byte{"x": data}, remotetest.Settings{})
	o := quick
	o.Folder = folder
	read := func() remote.Stats {
		t.Helper()
		f, c := opened(t, s, o)
		f.Prefetch([]storage.Range{{At: 1 << 20, Len: 100_000}, {At: 3 << 20, Len: 100_000}})
		wantRead(t, f, data, 1<<20, 100_000)
		wantRead(t, f, data, 3<<20, 100_000)
		wantRead(t, f, data, 2<<20, 300_000)
		wantRead(t, f, data, 4<<20-100, 100)
		f.Close()
		s.Requests()
		return c.Stats()
	}
	first, second := read(), read()
	if first.Fault != nil || second.Fault != nil || second.Requests != 1 || second.Reused == 0 || first.Bytes-second.Bytes != second.Reused {
		t.Errorf("first %+v, second %+v", first, second)
	}
	data = slices.Clone(data)
	data[1<<20]++
	s.Change(func(files map[string][]byte, _ *remotetest.Settings) { files["x"] = data })
	if third := read(); third.Reused != 0 {
		t.Errorf("a file that has changed: %+v", third)
	}
	names, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(names) != 2 {
		t.Errorf("files of the old version are left: %q", names)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".json") {
			os.WriteFile(name, []byte(`[{"At":1048576,"Len":9999999999},{"At":-1,"Len":5}]`), 0o600)
		}
	}
	if fourth := read(); fourth.Reused != 0 || fourth.Fault != nil {
		t.Errorf("with a list of bytes that are not there: %+v", fourth)
	}
	o.Folder = "/dev/null/cache"
	if fifth := read(); fifth.Fault == nil {
		t.Error("a folder that cannot be made is not reported")
	}
	s.Change(func(_ map[string][]byte, o *remotetest.Settings) { o.NoETags = true })
	if o.Folder = t.TempDir(); read().Reused+read().Reused != 0 {
		t.Error("a file that cannot be validated is kept")
	}
}
