package prefetch_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/internal/prefetch"
)

// TestCopy copies memory of many sizes, whose ends lie anywhere in a cache line, with
// shorter and longer memory to prefetch.
func TestCopy(t *testing.T) {
	src := make([]byte, 9000)
	for i := range src {
		src[i] = byte(i*i>>3 + i)
	}
	for _, n := range []int{0, 1, 63, 64, 65, 1023, 1024, 1025, 4096, 5000} {
		for _, ahead := range []int{0, 1, 64, 1024, 1025, 3000} {
			dst := bytes.Repeat([]byte{0xaa}, n+8)
			prefetch.Copy(dst[:n], src[7:7+n], src[6000:6000+ahead])
			if !bytes.Equal(dst[:n], src[7:7+n]) {
				t.Errorf("%d bytes, %d to prefetch: the copy differs", n, ahead)
			}
			if !bytes.Equal(dst[n:], bytes.Repeat([]byte{0xaa}, 8)) {
				t.Errorf("%d bytes, %d to prefetch: bytes after the copy changed: % x", n, ahead, dst[n:])
			}
		}
	}
	if dst := make([]byte, 10); true {
		prefetch.Copy(dst, src, nil)
		prefetch.Copy(dst[:4], src[5:], nil)
		if !bytes.Equal(dst[:4], src[5:9]) || !bytes.Equal(dst[4:], src[4:10]) {
			t.Errorf("a copy into less memory differs: % x", dst)
		}
	}
}

func ExampleCopy() {
	rows := [][]byte{[]byte("first "), []byte("second "), []byte("third ")}
	batch := make([]byte, 0, 20)
	for k, row := range rows {
		next := rows[min(k+1, len(rows)-1)]
		prefetch.Copy(batch[len(batch):len(batch)+len(row)], row, next)
		batch = batch[:len(batch)+len(row)]
	}
	fmt.Println(string(batch))
	// Output: first second third
}
