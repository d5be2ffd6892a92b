package ziparchive_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
)

// A countingReader counts the bytes that it is asked for.
type countingReader struct {
	io.ReaderAt
	bytes int
}

func (c *countingReader) ReadAt(b []byte, at int64) (int, error) {
	c.bytes += len(b)
	return c.ReaderAt.ReadAt(b, at)
}

// salvageAll goes from record to record, and returns their sizes and how many bytes that read.
func salvageAll(t *testing.T, archive []byte) (sizes []int64, read int) {
	t.Helper()
	r, size := &countingReader{ReaderAt: bytes.NewReader(archive)}, int64(len(archive))
	for at, ok := int64(0), true; ok; {
		var x ziparchive.Record
		if x, _, ok = ziparchive.RecordAt(r, size, at); ok {
			if at, ok = x.FindEnd(r, size); !ok {
				t.Fatalf("no end of record %q", x.Name)
			}
			sizes = append(sizes, x.Size)
		}
	}
	return sizes, r.bytes
}

func archiveOf(t *testing.T, records ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := ziparchive.NewWriter(&b, ziparchive.Options{})
	for i, content := range records {
		if _, err := z.Add(fmt.Sprint(i), content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(""); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFindEndReadsLittleForSmallRecords holds that the ends of many small records are found without
// reading what follows each of them.
func TestFindEndReadsLittleForSmallRecords(t *testing.T) {
	const count, most = 5000, 5 << 10 // bytes for each record
	records := make([][]byte, count)
	for i := range records {
		records[i] = []byte("sixteen bytes...")
	}
	sizes, read := salvageAll(t, archiveOf(t, records...))
	if len(sizes) != count {
		t.Fatalf("%d records, want %d", len(sizes), count)
	}
	if read > count*most {
		t.Errorf("%d bytes read for each record, want at most %d", read/count, most)
	}
}

// TestFindEndOfEachSize has records that end before, across and after the ends of what is read at once.
func TestFindEndOfEachSize(t *testing.T) {
	var records [][]byte
	var want []int64
	for window, end := 4<<10, 4<<10; window <= 1<<20; {
		for around := -30; around <= 5; around += 5 {
			records = append(records, bytes.Repeat([]byte("P"), end+around))
			want = append(want, int64(end+around))
		}
		window *= 4
		end += window
	}
	if sizes, _ := salvageAll(t, archiveOf(t, records...)); fmt.Sprint(sizes) != fmt.Sprint(want) {
		t.Errorf("records of %v bytes, want %v", sizes, want)
	}
}
