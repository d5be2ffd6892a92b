// Package remotetest serves files to tests by HTTP and by the protocol of S3, in the process of the test. It
// counts requests and bytes, and fails as servers do.
package remotetest

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// A Server serves files by ranges. Its fields may be set before it is used, and by Change while it is.
type Server struct {
	URL string // of the folder of the files: a URL of http

	mu       sync.Mutex
	settings Settings
	files    map[string][]byte // by path
	etags    map[*byte]string  // of contents
	requests []Request
	busy     int
	mostBusy int
}

// Settings say how a server answers. The zero value is a server without faults.
type Settings struct {
	Signed     Credentials           // that requests must be signed with, if it is not zero
	Region     string                // of all buckets, if it is not ""
	Redirect   bool                  // requests for /x are redirected to /moved/x
	WholeFiles bool                  // ranges are ignored
	WeakETags  bool                  // ETags are weak
	NoETags    bool                  // files have no ETag and no date
	Delay      time.Duration         // before each answer
	Fault      func(r Request) Fault // of a request; nil for none
	Answering  func(r Request)       // called before each answer; may be nil
	Header     func(h http.Header)   // changes the header of each answer; may be nil
}

// A Fault is what is wrong with an answer.
type Fault struct {
	Status     int    // instead of bytes, if it is not 0
	Code       string // of the error, as S3 has it
	RetryAfter int    // seconds
	SendBytes  int    // the number of bytes that are sent, if Truncate is set
	Truncate   bool
	Stall      bool // nothing is sent until the client gives up
	Most       int  // the number of bytes in the answer's range, if it is not 0: servers may send fewer than asked for
}

// Credentials sign requests of S3.
type Credentials struct{ AccessKey, SecretKey, Token string }

// A Request is one that was answered.
type Request struct {
	Path        string
	First, Last int64 // bytes asked for, both included; -1 if there was no range
	Number      int   // of earlier requests
	Sent        int64 // bytes of the body
	Query       string
}

// NewServer returns a server of files by their paths, such as bucket/x.h5. It ends with the test.
func NewServer(t testing.TB, files map[string][]byte, settings Settings) *Server {
	s, end := Serve(files, settings)
	t.Cleanup(end)
	return s
}

// Serve is NewServer without a test. The caller ends it.
func Serve(files map[string][]byte, settings Settings) (s *Server, end func()) {
	s = &Server{files: files, settings: settings, etags: map[*byte]string{}}
	server := httptest.NewServer(s)
	s.URL = server.URL + "/"
	return s, func() {
		server.CloseClientConnections()
		server.Close()
	}
}

// Change changes the files and the settings.
func (s *Server) Change(change func(files map[string][]byte, settings *Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.files, &s.settings)
}

// Requests returns the requests since the last call, and the bytes that were sent for them.
func (s *Server) Requests() (all []Request, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, s.requests = s.requests, nil
	for _, r := range all {
		bytes += r.Sent
	}
	return all, bytes
}

// MostBusy returns the largest number of requests that were answered at the same time, since the last call.
func (s *Server) MostBusy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.mostBusy
	s.mostBusy = s.busy
	return most
}

// begin notes a request, and returns what it asks for.
func (s *Server) begin(q *http.Request) (r Request, data []byte, found bool, settings Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r = Request{Path: strings.TrimPrefix(q.URL.Path, "/"), First: -1, Last: -1, Number: len(s.requests), Query: q.URL.RawQuery}
	if from, to, ok := strings.Cut(strings.TrimPrefix(q.Header.Get("Range"), "bytes="), "-"); ok {
		r.First, _ = strconv.ParseInt(from, 10, 64)
		r.Last, _ = strconv.ParseInt(to, 10, 64)
	}
	s.requests = append(s.requests, r)
	s.busy++
	s.mostBusy = max(s.mostBusy, s.busy)
	data, found = s.files[strings.TrimPrefix(r.Path, "moved/")]
	return r, data, found, s.settings
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
}

// count counts n bytes of the answer to a request, before they are sent: the client may ask for the count as soon
// as it has them.
func (s *Server) count(r Request, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Number < len(s.requests) {
		s.requests[r.Number].Sent = int64(n)
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r, data, found, settings := s.begin(q)
	defer s.end()
	time.Sleep(settings.Delay)
	if settings.Answering != nil {
		settings.Answering(r)
	}
	if settings.Header != nil {
		settings.Header(w.Header())
	}
	if settings.Redirect && !strings.HasPrefix(r.Path, "moved/") {
		http.Redirect(w, q, "/moved/"+r.Path+"?signature=secret", http.StatusFound)
		return
	}
	var fault Fault
	if settings.Fault != nil {
		fault = settings.Fault(r)
	}
	refusal := settings.refusal(q)
	switch {
	case fault.Stall && !fault.Truncate:
		<-q.Context().Done()
	case fault.Status != 0:
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		}
		answer(w, fault.Status, fault.Code)
	case refusal != "":
		if refusal == "AuthorizationHeaderMalformed" {
			w.Header().Set("X-Amz-Bucket-Region", settings.Region)
		}
		answer(w, http.StatusForbidden, refusal)
	case q.URL.Query().Get("list-type") == "2":
		s.list(w, r.Path, q.URL.Query())
	case !found:
		answer(w, http.StatusNotFound, "NoSuchKey")
	default:
		if fault.Most > 0 {
			r.Last = min(r.Last, r.First+int64(fault.Most)-1)
		}
		body := settings.begin(w, q, r, data, s.etag(data))
		if fault.Truncate {
			body = body[:min(len(body), fault.SendBytes)]
		}
		s.count(r, len(body))
		w.Write(body) // the client may have left
		if fault.Stall {
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		}
	}
}

// KeysPerPage is the number of files in one answer to a request for a list.
const KeysPerPage = 3

// list answers with a part of the list of the files of a bucket.
func (s *Server) list(w http.ResponseWriter, bucket string, query url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for path := range s.files {
		key, inside := strings.CutPrefix(path, strings.TrimSuffix(bucket, "/")+"/")
		if inside && strings.HasPrefix(key, query.Get("prefix")) && key > query.Get("continuation-token") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%v</IsTruncated>", len(keys) > KeysPerPage)
	if len(keys) > KeysPerPage {
		keys = keys[:KeysPerPage]
		fmt.Fprintf(w, "<NextContinuationToken>%s</NextContinuationToken>", html.EscapeString(keys[len(keys)-1]))
	}
	for _, key := range keys {
		fmt.Fprintf(w, "<Contents><Key>%s</Key></Contents>", html.EscapeString(key))
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// etag returns the ETag of a content, which is computed once.
func (s *Server) etag(data []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := unsafe.SliceData(data)
	if s.etags[key] == "" {
		s.etags[key] = fmt.Sprintf("\"%x\"", checksum(data))
	}
	return s.etags[key]
}

// answer sends an error as S3 does.
func answer(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>The message of %s.</Message></Error>", code, code)
}

// begin writes the header of the answer to a request, and returns the body.
func (s Settings) begin(w http.ResponseWriter, q *http.Request, r Request, data []byte, etag string) []byte {
	if s.WeakETags {
		etag = "W/" + etag
	}
	if !s.NoETags {
		w.Header().Set("ETag", etag)
		if match := q.Header.Get("If-Match"); match != "" && (match != etag || s.WeakETags) {
			w.WriteHeader(http.StatusPreconditionFailed)
			return nil
		}
	}
	first, last, status := r.First, min(r.Last, int64(len(data))-1), http.StatusPartialContent
	switch {
	case s.WholeFiles || first < 0:
		first, last, status = 0, int64(len(data))-1, http.StatusOK
	case first > last:
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(data)))
		answer(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		return nil
	default:
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(data)))
	}
	body := data[first : last+1]
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	return body
}
