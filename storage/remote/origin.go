package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// An origin is where a file is: how it is requested and what failed answers mean.
type origin interface {
	// request returns a request for the file, to which headers are added.
	request(ctx context.Context) (*http.Request, error)
	// sign returns the request with what authorizes it. No header is added after it.
	sign(q *http.Request) (*http.Request, error)
	// httpClient returns the client that sends requests.
	httpClient(c *http.Client) *http.Client
	// moved reports whether an answer says that the file is elsewhere, where the next request asks for it.
	moved(r *http.Response) bool
	// fail returns the error that an answer is.
	fail(r *http.Response) error
}

// newOrigin returns the origin of a URL.
func (c *Client) newOrigin(u *url.URL) (origin, error) {
	switch {
	case u.Host == "":
		return nil, fmt.Errorf("the URL names no host: %w", storage.ErrState)
	case u.Scheme == "s3":
		return newBucket(u, &c.who)
	}
	return &webPage{url: u}, nil
}

// A webPage is a file at a URL of http or https.
type webPage struct {
	url *url.URL

	mu     sync.Mutex
	target *url.URL // where url was redirected to; nil if it was not
}

func (w *webPage) request(ctx context.Context) (*http.Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.url
	if w.target != nil {
		at = w.target
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
}

func (w *webPage) sign(q *http.Request) (*http.Request, error) { return q, nil }

func (w *webPage) httpClient(c *http.Client) *http.Client { return c }

// moved remembers where the file was redirected to, so that later requests need no redirection. The permission
// that is in such a URL may expire, after which the original one is asked again.
func (w *webPage) moved(r *http.Response) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := r.Request.URL.String()
	switch {
	case r.StatusCode < 300 && sent != w.url.String():
		w.target = r.Request.URL
	case r.StatusCode >= 400 && r.StatusCode < 500 && r.StatusCode != http.StatusPreconditionFailed && w.target != nil && sent == w.target.String():
		w.target = nil
		return true
	}
	return false
}

func (w *webPage) fail(r *http.Response) error { return failed(r, "") }

var errNoKey = errors.New("want s3://BUCKET/KEY")
