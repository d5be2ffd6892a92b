package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/h5dnn/h5dnn/storage/remote"
)

// Example reads the end of a file of 1 MiB. The first request of a file gets its size and 64 KiB.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(make([]byte, 1<<20)))
	}))
	defer server.Close()
	client := remote.NewClient(remote.Options{})
	f, err := client.Open(context.Background(), server.URL+"/x.h5")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	n, err := f.ReadAt(make([]byte, 100), f.Size()-100)
	fmt.Println(n, err, client.Stats().Requests, client.Stats().Bytes)
	// Output: 100 <nil> 2 81920
}
