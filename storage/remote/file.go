package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/h5dnn/h5dnn/storage"
)

var _ storage.Remote = (*File)(nil)

// A File is a file at a URL. It implements [storage.Remote].
type File struct {
	url    string      // as it was given
	name   string      // for messages: without secrets
	stale  atomic.Bool // it has changed
	client *Client
	origin origin
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex // guards closed, and fetching from being waited for while it grows
	closed   bool
	fetching sync.WaitGroup

	size      int64
	validator validator
	blocks    *blockCache
	fetched   fetched
	kept      *kept // in the client's folder; nil without
}

// firstRequest is the number of bytes of the first request, which also gets the size and the ETag.
const firstRequest = 64 << 10

// Open opens the file at a URL of http, https or s3. The context ends its requests.
func (c *Client) Open(ctx context.Context, name string) (*File, error) {
	if f := c.reopened(ctx, name); f != nil {
		return f, nil
	}
	f := &File{url: name, name: storage.WithoutSecrets(name), client: c}
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.name, errors.Unwrap(err))
	case storage.LacksSecrets(name):
		return nil, fmt.Errorf("%s: this URL was written without its password or signature; name the file by the whole URL: %w", name, storage.ErrState)
	}
	f.ctx, f.cancel = context.WithCancel(ctx)
	if f.origin, err = c.newOrigin(u); err == nil {
		err = f.start()
	}
	if err != nil {
		f.cancel()
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sizes[name], c.open[f] = f.size, true
	return f, nil
}

// start gets the size, the validator and the first bytes.
func (f *File) start() error {
	head := make([]byte, firstRequest)
	f.size = -1
	var n int
	var err error
	for attempt := 0; ; attempt++ {
		if n, err = f.request([][]byte{head}, 0); err == nil {
			break
		}
		if err := f.pause(attempt, err); err != nil {
			return err
		}
		f.size = -1
	}
	head = head[:min(firstRequest, f.size)]
	if err = f.fetch([][]byte{head[n:]}, int64(n)); err != nil {
		return err
	}
	f.blocks = &blockCache{limit: f.client.o.Memory / 2, known: map[int64]*block{}}
	f.fetched.limit = f.client.o.Memory / 2
	f.blocks.put(0, head)
	f.kept = f.client.keep(f)
	return nil
}

// Size returns the size of the file in bytes when it was opened.
func (f *File) Size() int64 { return f.size }

// Name returns the URL, without a password or a signature.
func (f *File) Name() string { return f.name }

// Close ends the requests of the file.
func (f *File) Close() error {
	f.mu.Lock()
	again := f.closed
	f.closed = true
	f.mu.Unlock()
	if again {
		return nil
	}
	f.cancel()
	f.fetching.Wait()
	f.fetched.clear()
	if dropped := f.client.keepClosed(f); dropped != nil {
		dropped.kept.close()
	}
	return nil
}

// smallRequest is the number of bytes up to which the time of a request is mostly the round trip, so that more of them are
// in flight.
const smallRequest = 256 << 10

// fetchAhead calls fetch, which requests n bytes, on another goroutine when a slot of the client is free. If the file is closed or its
// context has ended, fetch is called too, and fails.
func (f *File) fetchAhead(n int, fetch func()) {
	slots := f.client.slots
	if n <= smallRequest {
		slots = f.client.small
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		fetch()
		return
	}
	f.fetching.Go(func() {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-f.ctx.Done():
		}
		fetch()
	})
}

// largeRead is the number of bytes from which on a read is a request of exactly these bytes.
const largeRead = 64 << 10

// ReadAt implements [io.ReaderAt]. It reads from ranges that were prefetched, from cached blocks, or else
// requests the bytes.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("%s: read at %d: %w", f.name, off, storage.ErrState)
	}
	n := int(min(int64(len(p)), max(0, f.size-off)))
	err := f.read(p[:n], off)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: bytes %d to %d: %w", f.name, off, off+int64(n), err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

func (f *File) read(p []byte, off int64) error {
	if f.ctx.Err() != nil {
		return f.stopped()
	}
	if len(p) == 0 {
		return nil
	}
	for part := f.fetched.take(off); part != nil; part = f.fetched.take(off) {
		n := min(int64(len(p)), part.end()-off)
		<-part.done
		if part.err == nil {
			copy(p[:n], part.data[off-part.at:])
		}
		f.fetched.release(part, n)
		if p, off = p[n:], off+n; part.err != nil || len(p) == 0 {
			return part.err
		}
	}
	if len(p) < largeRead {
		return f.readBlocks(p, off)
	}
	if all := f.blocks.cached(off/blockSize, (off+int64(len(p))-1)/blockSize+1); all != nil {
		return copyBlocks(p, off, all)
	}
	return f.readLarge(p, off)
}

// readLarge reads exactly the bytes of p, by several requests at a time if they are many.
func (f *File) readLarge(p []byte, off int64) error {
	if len(p) <= mergedBytes {
		return f.fetch([][]byte{p}, off)
	}
	failures := make(chan error, len(p)/mergedBytes+1)
	for part := range slices.Chunk(p, mergedBytes) {
		at := off
		f.fetchAhead(len(part), func() { failures <- f.fetch([][]byte{part}, at) })
		off += int64(len(part))
	}
	var failure error
	for range (len(p) + mergedBytes - 1) / mergedBytes {
		failure = cmp.Or(failure, <-failures)
	}
	return failure
}

// stopped returns why requests are no longer made.
func (f *File) stopped() error {
	if err := f.ctx.Err(); err != nil && context.Cause(f.ctx) == err {
		return fmt.Errorf("the file was closed, or its context has ended: %w", err)
	}
	return context.Cause(f.ctx)
}
