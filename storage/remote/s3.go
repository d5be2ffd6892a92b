package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/h5dnn/h5dnn/storage"
)

// A bucket is a file in a bucket of S3, or of a server with its protocol.
type bucket struct {
	name, key string
	query     string // of requests for lists of keys
	settings  awsSettings
	who       *identity

	mu     sync.Mutex
	region string
}

// defaultRegion is the region of buckets without a known region.
const defaultRegion = "us-east-1"

func newBucket(u *url.URL, who *identity) (origin, error) {
	b := &bucket{name: u.Host, key: strings.TrimPrefix(u.Path, "/"), who: who}
	if u.RawQuery != "" { // a key may have question marks
		b.key += "?" + u.RawQuery
	}
	if b.key == "" || u.User != nil || u.Port() != "" {
		return nil, fmt.Errorf("%w: %w", errNoKey, storage.ErrState)
	}
	var err error
	if b.settings, err = readSettings(); err != nil {
		return nil, err
	}
	b.region = b.settings.region
	return b, nil
}

// url returns the URL of the file. The name of the bucket is a part of the host's name, or the beginning of the
// path.
func (b *bucket) url() (*url.URL, error) {
	b.mu.Lock()
	region := b.region
	b.mu.Unlock()
	endpoint := b.settings.endpoint
	if endpoint == "" {
		endpoint = "https://s3." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			endpoint += ".cn"
		}
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the endpoint %q of S3 is not a URL: %w", endpoint, storage.ErrState)
	}
	path := strings.TrimSuffix(u.Path, "/") + "/" + b.key
	if b.settings.virtual && !strings.Contains(b.name, ".") { // certificates are not of names with dots
		u.Host = b.name + "." + u.Host
	} else {
		path = strings.TrimSuffix(u.Path, "/") + "/" + b.name + "/" + b.key
	}
	u.Path, u.RawPath, u.RawQuery = path, s3utils.EncodePath(path), b.query
	return u, nil
}

func (b *bucket) request(ctx context.Context) (*http.Request, error) {
	u, err := b.url()
	if err != nil {
		return nil, err
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
}

// emptyHash is the SHA-256 of the empty body.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// sign signs a request with version 4 of the signature.
func (b *bucket) sign(q *http.Request) (*http.Request, error) {
	who, err := b.who.get(q.Context())
	if err != nil || who.AccessKeyID == "" {
		return q, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	q.Header.Set("X-Amz-Content-Sha256", emptyHash)
	return signer.SignV4(*q, who.AccessKeyID, who.SecretAccessKey, who.SessionToken, b.region), nil
}

// httpClient returns a client that does not follow redirections, which need another signature.
func (b *bucket) httpClient(c *http.Client) *http.Client {
	return &http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// moved takes the region of the bucket from the answer to a request to another region.
func (b *bucket) moved(r *http.Response) bool {
	region := r.Header.Get("X-Amz-Bucket-Region")
	b.mu.Lock()
	defer b.mu.Unlock()
	if region == "" || region == b.region || r.StatusCode < 300 || r.StatusCode >= 500 {
		return false
	}
	b.region = region
	return true
}

func (b *bucket) fail(r *http.Response) error {
	if r.StatusCode >= 300 && r.StatusCode < 400 {
		return fmt.Errorf("the bucket is at another endpoint than %s; set AWS_REGION: %w", r.Request.URL.Host, storage.ErrState)
	}
	return failed(r, b.who.advice())
}

// An identity finds credentials as the tools of AWS do, when they are first needed and when they have expired.
type identity struct {
	mu        sync.Mutex
	found     *credentials.Credentials
	anonymous bool
	failure   error // why a provider had no credentials that should have
}

// get returns the credentials, which are zero for anonymous requests.
func (i *identity) get(ctx context.Context) (credentials.Value, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.anonymous || isSet("AWS_NO_SIGN_REQUEST") {
		i.anonymous = true
		return credentials.Value{}, nil
	}
	if i.found != nil {
		return i.found.GetWithContext(credentialContext(ctx))
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if !isSet("AWS_EC2_METADATA_DISABLED") {
		providers = append(providers, &credentials.IAM{})
	}
	for _, p := range providers {
		found := credentials.New(p)
		value, err := found.GetWithContext(credentialContext(ctx))
		if err == nil && value.AccessKeyID != "" {
			i.found = found
			return value, nil
		}
		if _, file := p.(*credentials.FileAWSCredentials); file && err != nil && i.failure == nil && os.Getenv("AWS_PROFILE") != "" {
			i.failure = err
		}
	}
	i.anonymous = ctx.Err() == nil
	return credentials.Value{}, ctx.Err()
}

// credentialContext limits how long a provider may ask its server: with no such server, as outside of EC2, it
// would wait.
func credentialContext(ctx context.Context) *credentials.CredContext {
	const longest = 2 * time.Second
	return &credentials.CredContext{Client: &http.Client{Timeout: longest}, Context: ctx}
}

// advice says what to do where access is denied.
func (i *identity) advice() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.failure != nil:
		return fmt.Sprintf("; the request was anonymous, because profile %s has no credentials: %v", os.Getenv("AWS_PROFILE"), i.failure)
	case i.anonymous:
		return "; the request was anonymous: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	}
	return "; the credentials found may not read it"
}

// isSet reports whether a variable of the environment is true.
func isSet(name string) bool {
	switch strings.ToLower(os.Getenv(name)) {
	case "", "0", "no", "false":
		return false
	}
	return true
}
