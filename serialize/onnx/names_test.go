package onnx_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// message returns a field of bytes.
func message(number byte, parts ...string) string {
	text := strings.Join(parts, "")
	return string(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(text)))) + text
}

// branches returns a model of n nodes of one name, each with a graph of the given number of tensors.
func branches(name string, n, tensors int) []byte {
	var graph strings.Builder
	for i := range tensors { // w: a float
		graph.WriteString(message(5, "\x08\x01\x10\x01", message(8, "w"+strings.Repeat("x", i)), message(9, "\x00\x00\x00\x00")))
	}
	node := message(1, message(3, name), message(4, "If"), message(5, message(1, "then"), message(6, graph.String())))
	return []byte("\x08\x08" + message(7, strings.Repeat(node, n)))
}

// TestNodesOfOneName: arrays in them have names of their own, which take no quadratic time.
func TestNodesOfOneName(t *testing.T) {
	const n = 30_000
	b := branches("g", n, 1)
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.onnx")
	if err != nil {
		t.Fatal(err)
	}
	list, err := serialize.Collect(f)
	if err != nil || len(list) != n || list[0].Name != "g/then/w" || list[1].Name != "g/then/w'" || list[2].Name != "g/then/w'2" {
		t.Errorf("%d arrays, %v", len(list), err)
	}
}

// TestNamesFitTheBudget: the name of a node is part of those of all arrays in it.
func TestNamesFitTheBudget(t *testing.T) {
	b := branches(strings.Repeat("g", 1<<20), 1, 100)
	_, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.onnx", serialize.Options{Budget: storage.NewBudget(16 << 20)})
	if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "names: ") {
		t.Errorf("100 MiB of names in %d bytes: %v", len(b), err)
	}
}

// TestPartsOfFilesAreShared: two tensors may be the same part of a file.
func TestPartsOfFilesAreShared(t *testing.T) {
	pair := func(key, value string) string { return message(13, message(1, key), message(2, value)) }
	external := func(name string) string {
		return message(5, "\x08\x01\x10\x01", message(8, name), pair("location", "weights.data"), pair("offset", "0"), pair("length", "4"), "\x70\x01")
	}
	b := []byte("\x08\x08" + message(7, external("v"), external("w")))
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.onnx", serialize.Options{Follow: "testdata"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := serialize.Collect(f)
	if err != nil || len(list) != 2 || list[0].Shared == "" || list[0].Shared != list[1].Shared {
		t.Errorf("%v, %v", list, err)
	}
}

// TestOtherTensorsAreRead beside two of one name, one without a name, and two whose external data
// overlap.
func TestOtherTensorsAreRead(t *testing.T) {
	one := "\x08\x01\x10\x01" // one float
	inside := func(name, elements string) string {
		return message(5, one, message(8, name), message(9, elements))
	}
	pair := func(key, value string) string { return message(13, message(1, key), message(2, value)) }
	external := func(name, offset string) string {
		return message(5, one, message(8, name), pair("location", "weights.data"), pair("offset", offset), pair("length", "4"), "\x70\x01")
	}
	b := []byte("\x08\x08" + message(7,
		inside("twice", "\x00\x00\x00\x00"), inside("w", "\x00\x00\x80\x3f"), inside("twice", "\x00\x00\x00\x40"), message(5, one, message(9, "\x00\x00\x00\x40")),
		external("a", "0"), external("b", "2"), external("same", "2"), external("alone", "8")))
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.onnx", serialize.Options{Follow: "testdata"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for e, err := range f.All() {
		text := "read"
		if err != nil {
			text, _, _ = strings.Cut(err.Error(), ":")
		}
		got = append(got, e.Name+" "+text)
	}
	want := "twice duplicate name, w read, initializer 4 read, a external data, b external data, same external data, alone read"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s; want %s", text, want)
	}
	if a, err := serialize.Find(f, "initializer 4"); err != nil {
		t.Error(err)
	} else if x, err := storage.Read[float32](a); err != nil || x[0] != 2 {
		t.Errorf("initializer 4 is %v, %v; want 2", x, err)
	}
}
