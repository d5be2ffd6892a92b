package remote

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
)

// mostListed limits the number of keys that are looked at.
const mostListed = 10 << 20

// A keyPage is a part of a list of keys (Amazon S3 API Reference, "ListObjectsV2").
type keyPage struct {
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct{ Key string }
}

// list lists the files of a bucket that match s3://BUCKET/PATTERN, in the order of their bytes. A star stands for a
// part of a name between slashes.
func (c *Client) list(ctx context.Context, pattern string) (all []string, err error) {
	name, key, _ := strings.Cut(strings.TrimPrefix(pattern, "s3://"), "/")
	if _, err := path.Match(key, ""); err != nil || name == "" || strings.ContainsAny(name, "*?[") {
		return nil, fmt.Errorf("%s: want s3://BUCKET/PATTERN, where * is a part of a name and [a-z] a character: %w", pattern, storage.ErrState)
	}
	b := &bucket{name: name, who: &c.who}
	if b.settings, err = readSettings(); err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	b.region = b.settings.region
	f := &File{url: pattern, name: pattern, client: c, origin: b}
	f.ctx, f.cancel = context.WithCancel(ctx)
	defer f.cancel()
	query := url.Values{"list-type": {"2"}, "prefix": {key[:strings.IndexAny(key+"*", "*?[\\")]}}
	for looked := 0; ; {
		page, err := f.keys(b, query)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		for _, found := range page.Contents {
			if ok, _ := path.Match(key, found.Key); ok {
				all = append(all, "s3://"+name+"/"+escapedKey(found.Key))
			}
		}
		looked += len(page.Contents)
		switch {
		case looked > mostListed:
			return nil, fmt.Errorf("%s: more than %d files have the beginning %q; name more of it: %w", pattern, mostListed, query.Get("prefix"), storage.ErrState)
		case !page.IsTruncated && len(all) == 0:
			return nil, fmt.Errorf("%s: no file matches: %w", pattern, fs.ErrNotExist)
		case !page.IsTruncated:
			return all, nil
		case page.NextContinuationToken == "" || page.NextContinuationToken == query.Get("continuation-token"):
			return nil, fmt.Errorf("%s: the server's list of files does not go on: %w", pattern, storage.ErrState)
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

// escapedKey returns a key as a URL has it: characters that mean something else there are escaped.
func escapedKey(key string) string {
	if strings.ContainsAny(key, "%#?") {
		return (&url.URL{Path: key}).EscapedPath()
	}
	return key
}

// keys requests a part of the list of keys, again if the network or the server fails.
func (f *File) keys(b *bucket, query url.Values) (page keyPage, err error) {
	b.query = strings.ReplaceAll(query.Encode(), "+", "%20")
	for attempt := 0; ; attempt++ {
		if page, err = f.keysOnce(); err == nil {
			return page, nil
		}
		if err := f.pause(attempt, err); err != nil {
			return page, err
		}
	}
}

// keysOnce is one request of keys, and another one if the answer names another region.
func (f *File) keysOnce() (page keyPage, err error) {
	ctx, cancel := context.WithTimeoutCause(f.ctx, f.client.o.Stall, errStalled)
	defer cancel()
	for again := true; ; again = false {
		q, err := f.origin.request(ctx)
		if err == nil {
			q, err = f.origin.sign(q)
		}
		if err != nil {
			return page, err
		}
		f.client.stats.requests.Add(1)
		r, err := f.origin.httpClient(f.client.http).Do(q)
		if err != nil {
			return page, withoutURL(err)
		}
		moved := again && f.origin.moved(r)
		if r.StatusCode != http.StatusOK && !moved {
			defer r.Body.Close()
			return page, f.origin.fail(r)
		}
		if moved {
			r.Body.Close()
			continue
		}
		defer r.Body.Close()
		const most = 16 << 20
		body, err := io.ReadAll(io.LimitReader(r.Body, most))
		f.client.stats.received.Add(int64(len(body)))
		if err == nil {
			if xml.Unmarshal(body, &page) != nil {
				err = fmt.Errorf("the server's list of files is no XML of S3: %w", storage.ErrState)
			}
		}
		return page, err
	}
}
