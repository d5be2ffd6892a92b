package storage

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Remote is a file that is read over a network, where every request costs a round trip. Small reads
// are cached in blocks; large ones are requests of exactly these bytes. Its methods may be called
// concurrently.
type Remote interface {
	io.ReaderAt
	io.Closer
	Size() int64
	// Prefetch starts to fetch ranges that will be read once each, soon and in this order. It does
	// not wait. Neighbours are merged. Ranges beyond the limit of memory are left out, and an error
	// is one of the reads.
	Prefetch(ranges []Range)
	// Cache fetches the blocks that ranges are in, many at a time, and waits. It is for structures
	// that are small, whose addresses are known, and which are read one after the other.
	Cache(ranges []Range) error
}

// A Range is Len bytes of a file from offset At on.
type Range struct{ At, Len int64 }

// OpenRemote opens the file at a URL. Packages register the schemes that they read: storage/remote reads
// http, https and s3. The context ends the requests of the file.
func OpenRemote(ctx context.Context, name string) (Remote, error) {
	scheme, _, _ := strings.Cut(name, "://")
	remotes.Lock()
	open, ok := remotes.open[scheme]
	known := strings.Join(slices.Sorted(maps.Keys(remotes.open)), ", ")
	remotes.Unlock()
	switch {
	case ok:
		return open(ctx, name)
	case known == "":
		return nil, fmt.Errorf("%s: no package that reads URLs is linked; import _ \"github.com/h5dnn/h5dnn/storage/remote\": %w", WithoutSecrets(name), ErrState)
	}
	return nil, fmt.Errorf("%s: URLs of %s are not read; known are %s: %w", WithoutSecrets(name), scheme, known, ErrState)
}

// RegisterRemote makes OpenRemote open URLs of a scheme.
func RegisterRemote(scheme string, open func(ctx context.Context, url string) (Remote, error)) {
	remotes.Lock()
	defer remotes.Unlock()
	remotes.open[scheme] = open
}

var remotes = struct {
	sync.Mutex
	open map[string]func(context.Context, string) (Remote, error)
	list map[string]func(context.Context, string) ([]string, error)
}{open: map[string]func(context.Context, string) (Remote, error){}, list: map[string]func(context.Context, string) ([]string, error){}}

// IsURL reports whether a name is a URL, such as https://example.org/x.h5, and not the name of a file.
func IsURL(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && scheme != "" && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// hidden stands for a secret of a URL, as in [url.URL.Redacted].
const hidden = "xxxxx"

// Secrets in URLs: passwords, and the parameters of signatures of S3, CloudFront, Google and Azure, which differ from
// one URL of a file to the next.
var (
	password  = regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^/?#\s:@]*:)[^/?#\s@]*@`)
	signature = regexp.MustCompile(`(?i)([?&](?:x-(?:amz|goog)-[a-z-]+|expires|awsaccesskeyid|googleaccessid|key-pair-id|signature|policy|sig|token|access_token)=)[^&#\s"':]+`)
)

// WithoutSecrets returns a text with xxxxx in the place of passwords and signatures of URLs: for messages and
// files.
func WithoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = password.ReplaceAllString(text, "${1}"+hidden+"@")
	return signature.ReplaceAllString(text, "${1}"+hidden)
}

// LacksSecrets reports whether a URL is one that WithoutSecrets returned in place of another.
func LacksSecrets(name string) bool {
	return (password.MatchString(name) || signature.MatchString(name)) && WithoutSecrets(name) == name
}

// Prefetch starts to fetch the elements of an array in a remote file, which are then read once, soon. It does
// nothing for other arrays.
func (a Array) Prefetch() {
	if s, ok := a.Data.(RemoteSource); ok && s.Remote() {
		s.PrefetchView(a.View)
	}
}

// RemoteSize returns the size in bytes of the file at a URL.
func RemoteSize(ctx context.Context, name string) (int64, error) {
	f, err := OpenRemote(ctx, name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Size(), nil
}

// Folder returns the folder of the named file, or its URL without the last name and the query.
func Folder(name string) string {
	if !IsURL(name) {
		return filepath.Dir(name)
	}
	name, _, _ = strings.Cut(name, "?")
	return name[:strings.LastIndexByte(name, '/')]
}

// InFolder returns the name of a file in a folder that Folder returned.
func InFolder(folder, name string) string {
	if !IsURL(folder) {
		return filepath.Join(folder, name)
	}
	return folder + "/" + (&url.URL{Path: name}).EscapedPath()
}
