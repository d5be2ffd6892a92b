package remote_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/remote"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// TestPatternsOfURLs: servers of S3 list their files, a few in each answer, signed, in any region and after failures.
func TestPatternsOfURLs(t *testing.T) {
	key := remotetest.Credentials{AccessKey: "AKID", SecretKey: "secret"}
	data := content(1000)
	server := remotetest.NewServer(t, map[string][]byte{
		"lab/a/demo_1.h5": data, "lab/a/demo_2.h5": data, "lab/a/demo_10.h5": data, "lab/a/b/demo_3.h5": data, "lab/a/x#1%.h5": data,
		"lab/a/demo_1.txt": data, "lab/b/demo_4.h5": data, "other/a/demo_5.h5": data,
	}, remotetest.Settings{Signed: key, Region: "eu-west-3", Fault: func(r remotetest.Request) remotetest.Fault {
		if r.Number == 1 {
			return remotetest.Fault{Status: 503}
		}
		return remotetest.Fault{}
	}})
	awsHome(t, nil, map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": server.URL})
	c := remote.NewClient(remote.Options{Delay: time.Millisecond})
	defer c.Close()
	ctx := remote.NewContext(t.Context(), c)
	for _, test := range []struct {
		pattern string
		want    string // names, or a part of the error
		kind    error
	}{
		{"s3://lab/a/demo_*.h5", "s3://lab/a/demo_1.h5 s3://lab/a/demo_10.h5 s3://lab/a/demo_2.h5", nil},
		{"s3://lab/*/demo_?.h5", "s3://lab/a/demo_1.h5 s3://lab/a/demo_2.h5 s3://lab/b/demo_4.h5", nil},
		{"s3://lab/a/x*", "s3://lab/a/x%231%25.h5", nil},
		{"s3://lab/{b,a}/demo_[12].h5", "no file matches", fs.ErrNotExist},
		{"s3://lab/a/demo_{1,2}.h5", "s3://lab/a/demo_1.h5 s3://lab/a/demo_2.h5", nil},
		{"https://host/x-{008..011}.h5?sig=a*", "https://host/x-008.h5?sig=a* https://host/x-009.h5?sig=a* https://host/x-010.h5?sig=a* https://host/x-011.h5?sig=a*", nil},
		{"https://host/{a,b}/{1..2}", "https://host/a/1 https://host/a/2 https://host/b/1 https://host/b/2", nil},
		{"https://host/{a}.h5", "https://host/{a}.h5", nil},
		{"https://host/*.h5", "do not list files", storage.ErrState},
		{"https://host/{9..1}.h5", "from a smaller one to a larger one", storage.ErrState},
		{"https://host/{0..99999999}.h5", "", storage.ErrState},
		{"https://host/{0..99999}{0..99999}.h5", "more than", storage.ErrState},
		{"s3://l*/x", "want s3://BUCKET/PATTERN", storage.ErrState},
		{"s3://lab/a/[", "want s3://BUCKET/PATTERN", storage.ErrState},
	} {
		got, err := storage.GlobURLs(ctx, test.pattern)
		if test.kind != nil {
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", test.pattern, err, test.want)
			}
			continue
		}
		if err != nil || !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %v, %v, want %s", test.pattern, got, err, test.want)
		}
	}
	if f, err := c.Open(ctx, "s3://lab/a/x%231%25.h5"); err != nil || f.Size() != 1000 {
		t.Errorf("a file of a list cannot be opened: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := storage.GlobURLs(ended, "s3://lab/*"); !errors.Is(err, context.Canceled) {
		t.Errorf("a list after the context ended: %v", err)
	}
}
