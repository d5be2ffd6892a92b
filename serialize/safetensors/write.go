package safetensors

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/internal/jsontext"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

func save(w io.Writer, c serialize.Contents) error {
	l, err := layOut(c)
	if err != nil {
		return err
	}
	var h counter
	if err := l.encode(&h, 0); err != nil {
		return err
	}
	header := l.padded(8 + int(h))
	if header-8 > maxHeader {
		return fmt.Errorf("header of %d bytes; safetensors allows %d: %w", header-8, maxHeader, storage.ErrState)
	}
	if err := serialize.CheckSpace(w, int64(header+l.size)); err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<20)
	if err := l.encode(b, header); err != nil {
		return err
	}
	for _, t := range l.tensors {
		if err := serialize.WriteLittleEndian(b, t.array); err != nil {
			return fmt.Errorf("%q: %w", t.name, err)
		}
	}
	return b.Flush()
}

// A counter counts what is written.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// A layout has the arrays to write in their order, and the metadata with the names of arrays
// that share the elements of another.
type layout struct {
	tensors []savedTensor
	meta    map[string]string
	size    int // bytes of all elements
}

// A savedTensor is an array to write.
type savedTensor struct {
	name  string
	rank  int // of its type in elements, by which the file is ordered
	array storage.Array
}

func layOut(c serialize.Contents) (*layout, error) {
	l := &layout{meta: map[string]string{}}
	maps.Copy(l.meta, c.Meta)
	var known serialize.Aliases
	aliases, values := map[string]string{}, map[string]bool{}
	for _, value := range l.meta {
		values[value] = true
	}
	ambiguous := false // whether a value of the metadata is the name of an array
	for e, err := range format.Checked(c) {
		if err != nil {
			return nil, err
		}
		ambiguous = ambiguous || values[e.Name]
		if _, taken := l.meta[e.Name]; !taken {
			if first := known.Of(e); first != "" {
				aliases[e.Name] = first
				continue
			}
		}
		l.tensors = append(l.tensors, savedTensor{e.Name, rank(e.Array.Type), e.Array})
		l.size += e.Array.NBytes()
	}
	if err := fitsMeta(l.meta); err != nil {
		return nil, err
	}
	if ambiguous { // it would be read as another name of an array
		b, _ := json.Marshal(slices.Sorted(maps.Keys(aliases)))
		l.meta[aliasesKey] = string(b)
	}
	maps.Copy(l.meta, aliases)
	slices.SortFunc(l.tensors, func(a, b savedTensor) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.name, b.name))
	})
	return l, nil
}

// fits refuses names that the header cannot have.
func fits(e serialize.Entry) error {
	switch {
	case e.Name == metadataKey:
		return fmt.Errorf("the name %s is reserved for metadata: %w", metadataKey, storage.ErrState)
	case !utf8.ValidString(e.Name):
		return fmt.Errorf("the name is not UTF-8: %w", storage.ErrState)
	}
	return nil
}

// fitsMeta refuses what is not UTF-8.
func fitsMeta(meta map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if value := meta[key]; !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("metadata %q is not UTF-8: %w", key, storage.ErrState)
		}
		if key == aliasesKey {
			return fmt.Errorf("metadata %q is reserved: %w", key, storage.ErrState)
		}
	}
	return nil
}

// encode writes the header of a number of bytes with its length or, if that is 0, its JSON alone.
// It may be most of a file, and is not collected.
func (l *layout) encode(w io.Writer, header int) error {
	const block = 32 << 10
	b, written := make([]byte, 0, block+1<<10), 0
	var err error
	flush := func(least int) {
		if err == nil && len(b) > least {
			written += len(b)
			_, err = w.Write(b)
			b = b[:0]
		}
	}
	if header > 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(header-8))
	}
	b = append(b, '{')
	if len(l.meta) > 0 {
		b = append(jsontext.Append(b, metadataKey), ':', '{')
		for i, key := range slices.Sorted(maps.Keys(l.meta)) {
			b = jsontext.Append(append(jsontext.Append(jsontext.Comma(b, i), key), ':'), l.meta[key])
			flush(block)
		}
		b = append(b, '}')
	}
	at := 0
	for i, t := range l.tensors {
		if len(l.meta) > 0 {
			i++
		}
		end := at + t.array.NBytes()
		b = append(jsontext.Append(jsontext.Comma(b, i), t.name), `:{"dtype":"`...)
		b = append(append(b, elements[t.rank].name...), `","shape":`...)
		b = append(jsontext.AppendInts(b, t.array.Shape...), `,"data_offsets":`...)
		b = append(jsontext.AppendInts(b, at, end), '}')
		at = end
		flush(block)
	}
	b = append(b, '}')
	b = append(b, bytes.Repeat([]byte{' '}, max(0, header-written-len(b)))...)
	flush(0)
	return err
}

// padded returns the size of a header of at least n bytes, after which elements begin: at a
// multiple of 4096, or of 64 in a small file.
func (l *layout) padded(n int) int {
	align := 4096
	if l.size < 1<<16 {
		align = 64
	}
	return (n + align - 1) &^ (align - 1)
}
