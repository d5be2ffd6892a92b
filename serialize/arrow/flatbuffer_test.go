package arrow

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// TestFieldsAreWrittenAndRead: integers of all sizes, aligned, and missing ones.
func TestFieldsAreWrittenAndRead(t *testing.T) {
	inner := object{"größe", nil, int64(-7)}
	b := &buffer{b: encode(object{true, int16(-3), uint8(200), int32(-5), nil, inner, []object{inner, {}}, structs{2, binary.LittleEndian.AppendUint64(make([]byte, 8), 9)}})}
	root := b.table(0)
	if root.int(0, 1) != 1 || root.int(1, 2) != -3 || uint8(root.int(2, 1)) != 200 || root.int(3, 4) != -5 || root.sub(4).buffer != nil || root.int(9, 8) != 0 {
		t.Errorf("% x", b.b)
	}
	list := root.tables(6)
	if len(list) != 2 || list[1].text(0) != "" {
		t.Fatalf("%d tables, %v", len(list), b.err)
	}
	for _, o := range []table{root.sub(5), list[0]} {
		if o.text(0) != "größe" || o.int(2, 8) != -7 || o.field(2)%8 != 0 {
			t.Errorf("%q, %d at byte %d", o.text(0), o.int(2, 8), o.field(2))
		}
	}
	at, n := root.vector(7, 8)
	if n != 2 || at%8 != 0 || b.uint(at+8, 8) != 9 || b.err != nil {
		t.Errorf("%d structures at byte %d, %v", n, at, b.err)
	}
}

// TestMetadataOfAttackers is what only damaged or hostile programs write.
func TestMetadataOfAttackers(t *testing.T) {
	field := func(kind uint8, typ object, children ...object) object {
		return object{"x", false, kind, typ, nil, children}
	}
	number := object{int32(32), true}
	deep := field(12, object{})
	for range 100 {
		deep = field(12, object{}, deep)
	}
	schema := func(fields ...object) []byte {
		return encode(object{version5, uint8(schemaMessage), object{int16(0), fields}, int64(0)})
	}
	message := func(b []byte) []byte {
		b = append(b, make([]byte, -len(b)&7)...)
		head := binary.LittleEndian.AppendUint32(nil, continuation)
		return append(binary.LittleEndian.AppendUint32(head, uint32(len(b))), b...)
	}
	batch := func(compression any) []byte {
		one := binary.LittleEndian.AppendUint64(nil, 1)
		node, buffers := append(slices.Clone(one), make([]byte, 8)...), make([]byte, 32)
		buffers[24] = 16
		b := encode(object{version5, uint8(batchMessage), object{int64(1), structs{1, node}, structs{2, buffers}, compression}, int64(16)})
		return append(message(b), append(make([]byte, 8), 1, 0, 0, 0, 0, 0, 0, 0)...)
	}
	strings := func(from, to byte) []byte { // a row, which has these offsets in 8 bytes
		node, buffers := append(binary.LittleEndian.AppendUint64(nil, 1), make([]byte, 8)...), make([]byte, 48)
		buffers[24], buffers[32], buffers[40] = 8, 8, 8
		b := encode(object{version5, uint8(batchMessage), object{int64(1), structs{1, node}, structs{3, buffers}}, int64(16)})
		return append(message(b), from, 0, 0, 0, to, 0, 0, 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
	}
	long := schema(object{"name of a field", false, uint8(typeInt), number}) // longer than the buffer
	binary.LittleEndian.PutUint32(long[bytes.Index(long, []byte("name of a field"))-4:], uint32(len(long)))
	encoded := message(schema(object{"x", false, uint8(typeInt), number, object{int64(5)}}))
	var values []byte // a dictionary of one
	{
		node, buffers := append(binary.LittleEndian.AppendUint64(nil, 1), make([]byte, 8)...), make([]byte, 32)
		buffers[24] = 8
		inner := object{int64(1), structs{1, node}, structs{2, buffers}}
		values = append(message(encode(object{version5, uint8(dictionaryMessage), object{int64(5), inner}, int64(8)})), 7, 0, 0, 0, 0, 0, 0, 0)
	}
	index := func(x byte) []byte { // of a row
		b := batch(nil)
		b[len(b)-16] = x
		return b
	}
	views := func(rows, length int, parts ...int) []byte { // rows that are all one string, and where buffers of strings begin
		node := append(binary.LittleEndian.AppendUint64(nil, uint64(rows)), make([]byte, 8)...)
		var buffers []byte
		for _, x := range append([]int{0, 0, 0, 16 * rows}, parts...) {
			buffers = binary.LittleEndian.AppendUint64(buffers, uint64(x))
		}
		count := binary.LittleEndian.AppendUint64(nil, uint64(len(parts)/2))
		body := bytes.Repeat(append(binary.LittleEndian.AppendUint32(nil, uint32(length)), make([]byte, 12)...), rows)
		body = append(body, make([]byte, length)...)
		b := encode(object{version5, uint8(batchMessage), object{int64(rows), structs{1, node}, structs{len(parts)/2 + 2, buffers}, nil, structs{1, count}}, int64(len(body))})
		return slices.Concat(message(schema(field(typeUTF8View, object{}))), message(b), body)
	}
	large := field(typeFixedList, object{int32(0)}, field(typeInt, number))
	for range 3 {
		large = field(typeFixedList, object{int32(math.MaxInt32)}, large)
	}
	inOne := field(typeList, object{}, field(typeFixedList, object{int32(math.MaxInt32)}, field(typeFixedList, object{int32(1 << 28)},
		field(typeFixedList, object{int32(0)}, field(typeInt, number)))))
	nested := func(nodes ...int) []byte { // one row, and the rows of the fields below it
		var b, buffers []byte
		for _, n := range nodes {
			b = append(binary.LittleEndian.AppendUint64(b, uint64(n)), make([]byte, 8)...)
		}
		buffers = make([]byte, 16*(len(nodes)+2))
		buffers[24] = 8 // the offsets
		head := encode(object{version5, uint8(batchMessage), object{int64(1), structs{len(nodes), b}, structs{len(nodes) + 2, buffers}}, int64(8)})
		return append(message(head), 0, 0, 0, 0, 8, 0, 0, 0)
	}
	for name, attack := range map[string]struct {
		reason string
		b      []byte
	}{
		"one string often":   {"beyond the limit", views(1<<16, 1<<20, 16<<16, 1<<20)},
		"one buffer often":   {"its buffers overlap", views(1, 64, 16, 64, 16, 64)},
		"view outside":       {"a string of 65 bytes", views(1, 65, 16, 64)},
		"big-endian":         {"big-endian", message(encode(object{version5, uint8(schemaMessage), object{int16(1)}, int64(0)}))},
		"deep":               {"metadata are damaged", message(schema(deep))},
		"children of number": {"metadata are damaged", message(schema(field(typeInt, number, field(typeInt, number))))},
		"unknown type":       {"unknown (99)", message(schema(field(99, object{})))},
		"long name":          {"metadata are damaged", message(long)},
		"index outside":      {"value 1 of a dictionary of 1", slices.Concat(encoded, values, index(1))},
		"negative index":     {"of a dictionary of 1", slices.Concat(encoded, values, append(index(255)[:len(index(0))-16], bytes.Repeat([]byte{255}, 16)...))},
		"backwards":          {"a string from byte 2 to 1", append(message(schema(field(typeUTF8, object{}))), strings(2, 1)...)},
		"large body":         {"may be truncated", append(message(schema(field(typeInt, number))), message(encode(object{version5, uint8(batchMessage), object{int64(1)}, int64(1) << 60}))...)},
		"no nodes":           {"has 0 nodes", append(message(schema(field(typeInt, number))), message(encode(object{version5, uint8(batchMessage), object{int64(1)}, int64(0)}))...)},
		"columns too many":   {"instead of 0 and 0", append(message(schema()), batch(nil)...)},
		"large lists":        {"fixed_size_list of 2147483647 times 2147483647", message(schema(field(typeList, object{}, large)))},
		"large lists, none":  {"from element 0 to 8 of 0", slices.Concat(message(schema(inOne)), nested(1, 0, 0, 0, 0))},
		"unknown codec":      {"compression 9", append(message(schema(field(typeInt, number))), batch(object{uint8(9)})...)},
		"unknown method":     {"compression method 3", append(message(schema(field(typeInt, number))), batch(object{uint8(0), uint8(3)})...)},
		"dictionary missing": {"dictionary 5 is missing", append(message(schema(object{"x", false, uint8(typeInt), number, object{int64(5)}})), batch(nil)...)},
	} {
		file := filepath.Join(t.TempDir(), "attack.arrows")
		if err := os.WriteFile(file, attack.b, 0o666); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { serializetest.TestAttack(t, "arrow-stream", file, attack.reason) })
	}
}

// TestBlocksOfOneMessage: a footer that refers to a message again and again is refused, so
// that small files cannot declare many rows.
func TestBlocksOfOneMessage(t *testing.T) {
	for _, rows := range []int{3, 100_000} { // of which metadata are most, and a small part
		testBlocksOfOneMessage(t, rows)
	}
}

func testBlocksOfOneMessage(t *testing.T, rows int) {
	var whole bytes.Buffer
	err := serialize.Write(&whole, "arrow", serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
		yield("x", storage.From(make([]int32, rows), rows))
	})})
	if err != nil {
		t.Fatal(err)
	}
	b := whole.Bytes()
	end := len(b) - tailSize
	footer := &buffer{b: b[end-int(binary.LittleEndian.Uint32(b[end:])) : end]}
	at, _ := footer.table(0).vector(3, 24)
	block := footer.b[at : at+24]
	field := object{"x", false, uint8(typeInt), object{int32(32), true}, nil, []object{}}
	hostile := encode(object{version5, object{int16(0), []object{field}}, structs{}, structs{1000, bytes.Repeat(block, 1000)}})
	b = append(bytes.Clone(b[:end-len(footer.b)]), hostile...)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(hostile))), magic...)
	name := filepath.Join(t.TempDir(), "blocks.arrow")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	serializetest.TestAttack(t, "arrow", name, "messages overlap")
}
