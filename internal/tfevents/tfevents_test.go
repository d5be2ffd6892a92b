package tfevents_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/internal/protowire"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/internal/tfevents"
)

// file is two events.
func file() []byte {
	start := time.UnixMilli(1_700_000_000_250)
	b := tfevents.AppendRecord(nil, tfevents.Event{Time: start, Version: tfevents.Version})
	return tfevents.AppendRecord(b, tfevents.Event{Time: start.Add(time.Second), Step: 300, Scalars: []tfevents.Scalar{{"loss/train", 0.25}, {"loss/val", math.Inf(1)}}})
}

// Example prints the first bytes of a record.
func Example() {
	b := tfevents.AppendRecord(nil, tfevents.Event{Time: time.Unix(0, 0), Step: 1})
	fmt.Printf("%d bytes, % x\n", len(b), b[:8])
	// Output: 27 bytes, 0b 00 00 00 00 00 00 00
}

// TestRecords: lengths and data have their masked checksums, computed here from the definition, and the messages have the
// fields of event.proto and summary.proto.
func TestRecords(t *testing.T) {
	unmask := func(sum uint32) uint32 {
		sum -= 0xa282ead8
		return sum>>17 | sum<<15
	}
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	var events []string
	for b := file(); len(b) > 0; {
		n := binary.LittleEndian.Uint64(b)
		data := b[12 : 12+n]
		if got, want := unmask(binary.LittleEndian.Uint32(b[8:])), sum(b[:8]); got != want {
			t.Errorf("checksum %x of the length, want %x", got, want)
		}
		if got, want := unmask(binary.LittleEndian.Uint32(b[12+n:])), sum(data); got != want {
			t.Errorf("checksum %x of the data, want %x", got, want)
		}
		events = append(events, message(t, protowire.NewReader(bytes.NewReader(data), 0, int64(n)), "5", "1"))
		if size, err := tfevents.RecordSize(bufio.NewReader(bytes.NewReader(b))); err != nil || size != int64(16+n) {
			t.Errorf("a record of %d bytes has size %d, %v", 16+n, size, err)
		}
		b = b[16+n:]
	}
	if size, err := tfevents.RecordSize(bufio.NewReader(bytes.NewReader(file()[:20]))); err == nil {
		t.Errorf("a record that is cut off has size %d", size)
	}
	want := []string{
		`1=1.70000000025e+09 2=0 3="brain.Event:2" `,
		`1=1.70000000125e+09 2=300 5={1={1="loss/train" 2=0.25 } 1={1="loss/val" 2=+Inf } } `,
	}
	if fmt.Sprintf("%q", events) != fmt.Sprintf("%q", want) {
		t.Errorf("events %q, want %q", events, want)
	}
}

// message returns a message as text. The fields that inside names, one for each level, are messages.
func message(t *testing.T, r *protowire.Reader, inside ...string) (text string) {
	for r.More() {
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		var value string
		switch {
		case f.Type == 1:
			value = fmt.Sprint(math.Float64frombits(f.Value))
		case f.Type == 5:
			value = fmt.Sprint(math.Float32frombits(uint32(f.Value)))
		case f.Type == 0:
			value = fmt.Sprint(f.Value)
		case len(inside) > 0 && inside[0] == fmt.Sprint(f.Number):
			value = "{" + message(t, r.Sub(f), inside[1:]...) + "}"
		default:
			name, err := r.Text(f)
			if err != nil {
				t.Fatal(err)
			}
			value = fmt.Sprintf("%q", name)
		}
		text += fmt.Sprintf("%d=%s ", f.Number, value)
	}
	return text
}

// TestTensorBoardReads: the reader of TensorBoard finds the steps, times and numbers.
func TestTensorBoardReads(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "events.out.tfevents.0.h5dnn"), file(), 0o666); err != nil {
		t.Fatal(err)
	}
	out := pythontest.Run(t, []string{"tensorboard"}, `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]); events.Reload()
print(json.dumps({tag: [[e.wall_time, e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"] if tag == "loss/train"}))
`, folder)
	got := map[string][][]float64{}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "map[loss/train:[[1.70000000125e+09 300 0.25]]]"; fmt.Sprint(got) != want {
		t.Errorf("TensorBoard reads %v, want %s", got, want)
	}
}
