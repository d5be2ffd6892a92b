package remote

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// A Model answers requests for ranges of a file as a server would that is some time away, at the end of a link. It
// is the transport of a client ([Options.Transport]) that finds out what a local file costs at a URL.
type Model struct {
	File    io.ReaderAt
	Size    int64
	Latency time.Duration // of each request
	Rate    float64       // bytes a second of each answer; 0: no limit
}

// RoundTrip implements [http.RoundTripper].
func (m *Model) RoundTrip(q *http.Request) (*http.Response, error) {
	var first, last int64
	if _, err := fmt.Sscanf(q.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil {
		return nil, fmt.Errorf("model of a server: range %q: %w", q.Header.Get("Range"), err)
	}
	last = min(last, m.Size-1)
	n := max(0, last-first+1)
	wait := m.Latency
	if m.Rate > 0 {
		wait += time.Duration(float64(n) / m.Rate * float64(time.Second))
	}
	select {
	case <-time.After(wait):
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
	r := &http.Response{
		StatusCode: http.StatusPartialContent, ContentLength: n, Request: q, Header: http.Header{},
		Body: io.NopCloser(io.NewSectionReader(m.File, first, n)),
	}
	r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, m.Size))
	r.Header.Set("ETag", `"model"`)
	if n == 0 {
		r.StatusCode = http.StatusRequestedRangeNotSatisfiable
		r.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", m.Size))
	}
	return r, nil
}
