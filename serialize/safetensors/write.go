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
	tensors, meta, err := plan(c)
	if err != nil {
		return err
	}
	header, err := encode(tensors, meta)
	if err != nil {
		return err
	}
	size := int64(len(header))
	for _, e := range tensors {
		size += int64(e.Array.Len() * e.Array.Type.Size())
	}
	if err := serialize.CheckSpace(w, size); err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<20)
	if _, err := b.Write(header); err != nil {
		return err
	}
	for _, e := range tensors {
		if err := serialize.WriteLittleEndian(b, e.Array); err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	return b.Flush()
}

// plan returns the arrays to write in their order, and the metadata with the names of
// arrays that share the elements of another.
func plan(c serialize.Contents) (list []serialize.Entry, meta map[string]string, err error) {
	meta = map[string]string{}
	maps.Copy(meta, c.Meta)
	names := map[string]bool{}
	var known serialize.Aliases
	aliases := map[string]string{}
	for e, err := range format.Checked(c) {
		if err != nil {
			return nil, nil, err
		}
		names[e.Name] = true
		if _, taken := meta[e.Name]; !taken {
			if first := known.Of(e); first != "" {
				aliases[e.Name] = first
				continue
			}
		}
		list = append(list, e)
	}
	if err := fitsMeta(meta); err != nil {
		return nil, nil, err
	}
	for _, value := range meta {
		if names[value] { // it would be read as another name of an array
			b, _ := json.Marshal(slices.Sorted(maps.Keys(aliases)))
			meta[aliasesKey] = string(b)
			break
		}
	}
	maps.Copy(meta, aliases)
	slices.SortFunc(list, func(a, b serialize.Entry) int {
		return cmp.Or(cmp.Compare(rank(b.Array.Type), rank(a.Array.Type)), cmp.Compare(a.Name, b.Name))
	})
	return list, meta, nil
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

// encode returns the header, padded so that elements begin at a multiple of 4096, or of 64
// in a small file.
func encode(tensors []serialize.Entry, meta map[string]string) ([]byte, error) {
	b := append(make([]byte, 8, 1<<12), '{')
	if len(meta) > 0 {
		b = append(jsontext.Append(b, metadataKey), ':', '{')
		for i, key := range slices.Sorted(maps.Keys(meta)) {
			b = jsontext.Append(append(jsontext.Append(comma(b, i), key), ':'), meta[key])
		}
		b = append(b, '}')
	}
	at := 0
	for i, e := range tensors {
		if len(meta) > 0 {
			i++
		}
		end := at + e.Array.Len()*e.Array.Type.Size()
		b = append(jsontext.Append(comma(b, i), e.Name), `:{"dtype":"`...)
		b = append(append(b, elements[rank(e.Array.Type)].name...), `","shape":`...)
		b = append(jsontext.AppendInts(b, e.Array.Shape...), `,"data_offsets":`...)
		b = append(jsontext.AppendInts(b, at, end), '}')
		at = end
	}
	b = append(b, '}')
	align := 4096
	if at < 1<<16 {
		align = 64
	}
	b = append(b, bytes.Repeat([]byte{' '}, -len(b)&(align-1))...)
	if len(b)-8 > maxHeader {
		return nil, fmt.Errorf("header of %d bytes; safetensors allows %d: %w", len(b)-8, maxHeader, storage.ErrState)
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	return b, nil
}

// comma separates what comes after the first of a list.
func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}
