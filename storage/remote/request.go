package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

// newHTTP returns an HTTP client for that many requests in flight to one server. It does not use HTTP/2, which
// would send them all through one connection.
func newHTTP(requests int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second,
			MaxIdleConns: 2 * smallRequests * requests, MaxIdleConnsPerHost: (1 + smallRequests) * requests,
			DisableCompression: true, // ranges are of what is stored
			TLSNextProto:       map[string]func(string, *tls.Conn) http.RoundTripper{},
		},
	}
}

// A validator is what tells whether a file has changed.
type validator struct {
	etag     string
	modified string // Last-Modified
}

func validatorOf(r *http.Response) validator {
	return validator{r.Header.Get("ETag"), r.Header.Get("Last-Modified")}
}

// strong reports whether the ETag may be a condition of a request for a range (RFC 9110, section 8.8.1).
func (v validator) strong() bool { return v.etag != "" && !strings.HasPrefix(v.etag, "W/") }

// ErrChanged is in the error of a read from a file that has changed since it was opened.
var ErrChanged = fmt.Errorf("the file has changed since it was opened; open it again: %w", storage.ErrState)

// fetch fills parts with the bytes of the file from an offset on, from the client's folder or else by requests,
// which it repeats if the network or the server fails: for the bytes that are still missing.
func (f *File) fetch(parts [][]byte, at int64) error {
	if f.kept.read(parts, at) {
		return nil
	}
	rest, from, failures := skip(parts, 0), at, 0
	for len(rest) > 0 { // answers may have fewer bytes (RFC 9110, section 15.3.7)
		n, err := f.request(rest, from)
		rest, from = skip(rest, n), from+int64(n)
		if err == nil {
			continue
		}
		if err := f.pause(failures, err); err != nil {
			return err
		}
		failures++
	}
	f.kept.write(parts, at)
	return nil
}

// skip returns what is left of parts after n bytes.
func skip(parts [][]byte, n int) [][]byte {
	for len(parts) > 0 && n >= len(parts[0]) {
		n -= len(parts[0])
		parts = parts[1:]
	}
	if n > 0 {
		parts = append([][]byte{parts[0][n:]}, parts[1:]...)
	}
	return parts
}

// pause waits before a failed request is repeated, or returns the error if it is not to be.
func (f *File) pause(attempt int, err error) error {
	var asked time.Duration
	var status *statusError
	if errors.As(err, &status) {
		asked = status.after
	}
	switch {
	case f.ctx.Err() != nil:
		return f.stopped()
	case !temporary(err):
		f.stale.CompareAndSwap(false, errors.Is(err, ErrChanged))
		return err
	case attempt >= f.client.o.Retries:
		if attempt > 0 {
			err = fmt.Errorf("%w (tried %d times)", err, attempt+1)
		}
		return err
	}
	const longest = 10 * time.Second
	delay := min(longest, f.client.o.Delay<<min(attempt, 16))
	delay = max(min(asked, longest), delay/2+rand.N(delay/2+1))
	f.client.stats.repeated.Add(1)
	select {
	case <-time.After(delay):
		return nil
	case <-f.ctx.Done():
		return f.stopped()
	}
}

// temporary reports whether a request that failed may succeed when it is repeated.
func temporary(err error) bool {
	var status *statusError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &status):
		return status.code == http.StatusRequestTimeout || status.code == http.StatusTooManyRequests || status.code >= 500 && status.code != http.StatusNotImplemented
	case errors.Is(err, ErrChanged), errors.Is(err, errNoRanges), errors.Is(err, storage.ErrState):
		return false
	case errors.As(err, &dns):
		return !dns.IsNotFound
	case errors.As(err, &certificate), errors.As(err, &authority):
		return false
	}
	return true
}

// errStalled ends a request during which no byte came for Options.Stall.
var errStalled = errors.New("the server sends nothing")

// request fills parts with the bytes of the file from an offset on by one request, and returns the number of
// bytes that it got. Without an error there are some, unless the file is empty.
func (f *File) request(parts [][]byte, at int64) (n int, err error) {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	stall := time.AfterFunc(f.client.o.Stall, func() { cancel(errStalled) })
	defer stall.Stop()
	response, err := f.send(ctx, at, at+int64(total(parts))-1)
	if err == nil {
		defer response.Body.Close()
		var length int64
		if length, err = f.check(response, at, int64(total(parts))); err == nil {
			n, err = f.receive(response.Body, parts, length, stall)
		}
	}
	if err != nil && context.Cause(ctx) == errStalled {
		err = fmt.Errorf("%w for %v", errStalled, f.client.o.Stall)
	}
	return n, withoutURL(err)
}

func total(parts [][]byte) (n int) {
	for _, b := range parts {
		n += len(b)
	}
	return n
}

// receive reads length bytes of a body into parts.
func (f *File) receive(body io.Reader, parts [][]byte, length int64, stall *time.Timer) (n int, err error) {
	body = io.LimitReader(body, length)
	for int64(n) < length {
		parts := skip(parts, n)
		k, err := body.Read(parts[0])
		n += k
		f.client.stats.received.Add(int64(k))
		stall.Reset(f.client.o.Stall)
		if int64(n) < length && err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return n, fmt.Errorf("the answer ended after %d bytes of %d: %w", n, length, err)
		}
	}
	return n, nil
}

// send requests bytes first to last, both included, and once more if the answer says where they are.
func (f *File) send(ctx context.Context, first, last int64) (*http.Response, error) {
	response, err := f.sendOnce(ctx, first, last)
	if err == nil && f.origin.moved(response) {
		response.Body.Close()
		response, err = f.sendOnce(ctx, first, last)
	}
	return response, err
}

func (f *File) sendOnce(ctx context.Context, first, last int64) (*http.Response, error) {
	q, err := f.origin.request(ctx)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, last))
	switch {
	case f.size < 0: // nothing is known yet
	case f.validator.strong():
		q.Header.Set("If-Match", f.validator.etag)
	case f.validator.modified != "":
		q.Header.Set("If-Unmodified-Since", f.validator.modified)
	}
	if q, err = f.origin.sign(q); err != nil {
		return nil, err
	}
	f.client.stats.requests.Add(1)
	return f.origin.httpClient(f.client.http).Do(q)
}

// errNoRanges is the error of servers that can only send whole files.
var errNoRanges = errors.New("the server sends whole files, not ranges of bytes (no HTTP range requests); download the file first")

// check returns the number of bytes in the body of an answer to a request for n bytes from an offset on, or why
// the answer cannot be used. The first answer has the size and version of the file.
func (f *File) check(r *http.Response, at, n int64) (length int64, err error) {
	size := r.ContentLength
	switch r.StatusCode {
	case http.StatusPartialContent:
		var first, last int64
		if first, last, size, err = contentRange(r.Header.Get("Content-Range")); err != nil {
			return 0, err
		}
		length = last - first + 1
		if first != at || length > n {
			return 0, fmt.Errorf("the server sends bytes %d to %d for bytes %d to %d: %w", first, last, at, at+n-1, storage.ErrState)
		}
	case http.StatusOK: // the whole file
		if f.size >= 0 && f.changed(r, size) {
			return 0, ErrChanged
		}
		if at > 0 || size < 0 || size > n {
			return 0, errNoRanges
		}
		length = size
	case http.StatusRequestedRangeNotSatisfiable:
		if _, _, size, err = contentRange(r.Header.Get("Content-Range")); err != nil || size == f.size || f.size < 0 && size != 0 {
			return 0, f.origin.fail(r)
		}
	case http.StatusPreconditionFailed:
		return 0, ErrChanged
	default:
		return 0, f.origin.fail(r)
	}
	if f.size < 0 {
		f.size, f.validator = size, validatorOf(r)
		return length, nil
	}
	if f.changed(r, size) {
		return 0, ErrChanged
	}
	return length, nil
}

// changed reports whether an answer is of another file than the first one was.
func (f *File) changed(r *http.Response, size int64) bool {
	v, now := f.validator, validatorOf(r)
	if v.etag != "" && now.etag != "" {
		return size != f.size || v.etag != now.etag
	}
	return size != f.size || v.modified != "" && now.modified != "" && v.modified != now.modified
}

// contentRange parses "bytes 0-99/1000" (RFC 9110, section 14.4) and, of an empty file, "bytes */0".
func contentRange(text string) (first, last, size int64, err error) {
	span, whole, _ := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	from, to, _ := strings.Cut(span, "-")
	size, bad := strconv.ParseInt(whole, 10, 64)
	if span == "*" && bad == nil && size >= 0 {
		return 0, -1, size, nil
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || bad != nil || first < 0 || last < first || size <= last {
		return 0, 0, 0, fmt.Errorf("the server sends a range of bytes as %q, which is not one of a file of known size: %w", text, storage.ErrState)
	}
	return first, last, size, nil
}
