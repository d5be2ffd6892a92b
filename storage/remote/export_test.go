package remote

import (
	"net/url"
)

// AddressOf returns the URL of HTTP at which the file at a URL of S3 is requested.
func AddressOf(name string) (string, error) {
	u, err := url.Parse(name)
	if err != nil {
		return "", err
	}
	b, err := newBucket(u, &identity{})
	if err != nil {
		return "", err
	}
	at, err := b.(*bucket).url()
	return at.String(), err
}
