package zipwriter_test

import (
	"archive/zip"
	"bytes"
	"fmt"

	"github.com/h5dnn/h5dnn/serialize/internal/zipwriter"
)

// Example writes an archive of one record.
func Example() {
	var b bytes.Buffer
	z := zipwriter.New(&b, zipwriter.Options{Alignment: 64})
	if _, err := z.Add("a.txt", []byte("text")); err != nil {
		fmt.Println(err)
		return
	}
	if err := z.Close("a comment"); err != nil {
		fmt.Println(err)
		return
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := r.File[0].DataOffset()
	fmt.Println(r.File[0].Name, r.File[0].UncompressedSize64, at%64, err, r.Comment)
	// Output: a.txt 4 0 <nil> a comment
}
