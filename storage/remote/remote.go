// Package remote reads files by URL: http://, https:// and s3://bucket/key. A file is never downloaded as
// a whole, only the ranges that are read.
//
// Programs import it for its effect; functions that open files by name then take URLs:
//
//	import _ "github.com/h5dnn/h5dnn/storage/remote"
//
// S3 requests are signed with the credentials that the tools of AWS find: environment variables, the
// profiles of ~/.aws, and the roles of containers and instances. AWS_ENDPOINT_URL names another server,
// such as MinIO. Without credentials, or with AWS_NO_SIGN_REQUEST=yes, requests are anonymous.
//
// What the bytes are is left to the formats.
package remote

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/h5dnn/h5dnn/storage"
)

func init() {
	for _, scheme := range []string{"http", "https", "s3"} {
		storage.RegisterRemote(scheme, open)
	}
	storage.RegisterLister("s3", func(ctx context.Context, pattern string) ([]string, error) { return clientOf(ctx).list(ctx, pattern) })
}

// Options configure a Client. The zero value means the defaults.
type Options struct {
	// Memory limits the bytes in memory of a file: half for cached blocks, half for ranges that were
	// fetched and not yet read. 0 means 128 MiB.
	Memory int64

	// Folder keeps what was fetched on disk, for later processes. A file is validated by its ETag and
	// its size. Nothing removes ranges but a file that has changed. "" keeps nothing.
	Folder string

	// Requests is the number of requests in flight for ranges that are fetched ahead; of requests
	// for at most 256 KiB there are six times as many. 0 means 16.
	Requests int

	// Retries is the number of times that a request is repeated if the server or the network fails.
	// 0 means 5; a negative number means none.
	Retries int

	// Delay is the time before the first repetition. It doubles with each. 0 means 100 ms.
	Delay time.Duration

	// Linger keeps the last files that were closed, with their cached blocks, for the next Open of the same
	// URL: in a process that ends before they change.
	Linger bool

	// Transport sends the requests, such as those to a [Model]. nil stands for connections to servers.
	Transport http.RoundTripper

	// Stall is the time without any byte after which a request is repeated. 0 means 30 s.
	Stall time.Duration
}

// A Client opens remote files, which share its connections and are counted together.
type Client struct {
	o     Options
	http  *http.Client
	slots chan struct{} // limits requests that fetch ahead
	small chan struct{} // limits small requests that fetch ahead
	who   identity      // for S3

	mu     sync.Mutex
	open   map[*File]bool
	closed []*File // with Options.Linger, last closed last
	sizes  map[string]int64

	stats struct{ requests, repeated, received, fromFolder atomic.Int64 }
	fault atomic.Pointer[error] // of the folder
}

// smallRequests is the number of small requests in flight for each large one.
const smallRequests = 6

// NewClient returns a client.
func NewClient(o Options) *Client {
	o.Memory, o.Requests = cmp.Or(o.Memory, 128<<20), cmp.Or(o.Requests, 16)
	o.Retries, o.Delay, o.Stall = cmp.Or(o.Retries, 5), cmp.Or(o.Delay, 100*time.Millisecond), cmp.Or(o.Stall, 30*time.Second)
	client := newHTTP(o.Requests)
	if o.Transport != nil {
		client.Transport = o.Transport
	}
	return &Client{o: o, http: client, slots: make(chan struct{}, o.Requests), small: make(chan struct{}, smallRequests*o.Requests), open: map[*File]bool{}, sizes: map[string]int64{}}
}

// Stats are what the files of a client have cost so far.
type Stats struct {
	Files    int   // opened, by URL
	Size     int64 // of these files, in bytes
	Requests int64 // repeated ones included
	Repeated int64 // requests, after failures
	Bytes    int64 // received
	Reused   int64 // bytes read from Options.Folder
	// Fault is why the folder is not used any more, or nil.
	Fault error
}

// Stats returns what the files of c have cost so far.
func (c *Client) Stats() Stats {
	s := &c.stats
	stats := Stats{Requests: s.requests.Load(), Repeated: s.repeated.Load(), Bytes: s.received.Load(), Reused: s.fromFolder.Load()}
	if fault := c.fault.Load(); fault != nil {
		stats.Fault = *fault
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stats.Files = len(c.sizes)
	for _, size := range c.sizes {
		stats.Size += size
	}
	return stats
}

type clientKey struct{}

// NewContext returns a context in which functions that open files by name use c.
func NewContext(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

var defaultClient atomic.Pointer[Client]

func init() { SetDefault(NewClient(Options{})) }

// Default returns the client that opens files where a context has none.
func Default() *Client { return defaultClient.Load() }

// SetDefault makes c the default client.
func SetDefault(c *Client) { defaultClient.Store(c) }

// clientOf returns the client of a context, or the default one.
func clientOf(ctx context.Context) *Client {
	if c, ok := ctx.Value(clientKey{}).(*Client); ok {
		return c
	}
	return Default()
}

// open implements [storage.OpenRemote].
func open(ctx context.Context, url string) (storage.Remote, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	f, err := clientOf(ctx).Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Size returns the size in bytes of a file that was opened, by its URL.
func (c *Client) Size(url string) (size int64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, known = c.sizes[url]
	return size, known
}

// mostClosed is the number of closed files that are kept.
const mostClosed = 4

// reopened returns a file with the cached blocks of a closed one that is kept, or nil.
func (c *Client) reopened(ctx context.Context, name string) *File {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := slices.IndexFunc(c.closed, func(f *File) bool { return f.url == name })
	if k < 0 || ctx.Err() != nil {
		return nil
	}
	was := c.closed[k]
	c.closed = slices.Delete(c.closed, k, k+1)
	f := &File{url: was.url, name: was.name, client: c, origin: was.origin, size: was.size, validator: was.validator, blocks: was.blocks, kept: was.kept}
	f.fetched.limit = was.fetched.limit
	f.ctx, f.cancel = context.WithCancel(ctx)
	c.open[f] = true
	return f
}

// keepClosed keeps a file that was closed. It returns one that is not kept any more, or nil.
func (c *Client) keepClosed(f *File) (dropped *File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, f)
	if !c.o.Linger || f.stale.Load() {
		return f
	}
	if c.closed = append(c.closed, f); len(c.closed) > mostClosed {
		dropped = c.closed[0]
		c.closed = slices.Delete(c.closed, 0, 1)
	}
	return dropped
}

// Close closes all files, those included that are kept, and idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	open := slices.Collect(maps.Keys(c.open))
	c.mu.Unlock()
	for _, f := range open {
		f.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.closed {
		f.kept.close()
	}
	c.closed = nil
	c.http.CloseIdleConnections()
}
