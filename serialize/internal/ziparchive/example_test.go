package ziparchive_test

import (
	"bytes"
	"fmt"

	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
)

// Example writes an archive of one record and finds its bytes.
func Example() {
	var b bytes.Buffer
	z := ziparchive.NewWriter(&b, ziparchive.Options{Alignment: 64})
	if _, err := z.Add("a.txt", []byte("text")); err != nil {
		fmt.Println(err)
		return
	}
	if err := z.Close("a comment"); err != nil {
		fmt.Println(err)
		return
	}
	r := bytes.NewReader(b.Bytes())
	records, _, err := ziparchive.Directory(r, r.Size())
	if err != nil {
		fmt.Println(err)
		return
	}
	x := records[0]
	err = x.Locate(r, r.Size())
	fmt.Println(x.Name, x.Size, x.Data%64, err)
	// Output: a.txt 4 0 <nil>
}
