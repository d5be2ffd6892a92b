package remotetest_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// Example serves a file whose first answer fails.
func Example() {
	s, end := remotetest.Serve(map[string][]byte{"x": []byte("elements")}, remotetest.Settings{
		Fault: func(r remotetest.Request) remotetest.Fault {
			if r.Number == 0 {
				return remotetest.Fault{Status: 503}
			}
			return remotetest.Fault{}
		},
	})
	defer end()
	for range 2 {
		q, _ := http.NewRequest(http.MethodGet, s.URL+"x", nil)
		q.Header.Set("Range", "bytes=0-3")
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		fmt.Println(r.StatusCode, len(body) == 4)
	}
	requests, bytes := s.Requests()
	fmt.Println(len(requests), "requests", bytes, "bytes")
	// Output:
	// 503 false
	// 206 true
	// 2 requests 4 bytes
}
