package protowire_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/internal/protowire"
)

// Example lists the fields of a message.
func Example() {
	message := []byte("\x08\x96\x01\x12\x07testing\x1d\x01\x00\x00\x00")
	r := protowire.NewReader(bytes.NewReader(message), 0, int64(len(message)))
	for r.More() {
		f, err := r.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		text := ""
		if f.Type == 2 {
			text, err = r.Text(f)
		}
		fmt.Println(f.Number, f.Value, text, err)
	}
	// Output:
	// 1 150  <nil>
	// 2 0 testing <nil>
	// 3 1  <nil>
}

// TestDamagedMessagesAreErrors: fields that end after their message, and unknown types.
func TestDamagedMessagesAreErrors(t *testing.T) {
	for _, message := range []string{"\x08", "\x08\xff", "\x12\x05abc", "\x1d\x01", "\x19\x01\x02", "\x0b", "\x00\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		r := protowire.NewReader(bytes.NewReader([]byte(message)), 0, int64(len(message)))
		if f, err := r.Next(); err == nil {
			t.Errorf("%q: %+v", message, f)
		}
	}
}

// TestFieldsAreReadAcrossBuffers reads many fields, more than are in memory at a time.
func TestFieldsAreReadAcrossBuffers(t *testing.T) {
	var message []byte
	for i := range 3000 {
		message = append(message, 0x08, byte(i)|0x80, byte(i>>7))
	}
	r := protowire.NewReader(bytes.NewReader(message), 0, int64(len(message)))
	for i := range 3000 {
		f, err := r.Next()
		if err != nil || f.Value != uint64(i&0x7f|i>>7<<7) {
			t.Fatalf("field %d: %+v, %v", i, f, err)
		}
	}
	if r.More() {
		t.Error("more fields than written")
	}
}
