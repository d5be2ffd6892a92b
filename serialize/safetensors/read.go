package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/jsontext"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A tensor is an array as the header describes it.
type tensor struct {
	name       string
	dtype      string
	shape      []int
	begin, end int // from the first element of the file on
}

// A header is what the header of a file says.
type header struct {
	tensors []tensor // in the order of their elements
	meta    map[string]string
}

func open(in serialize.Input) (serialize.File, error) {
	h, data, err := readHeader(in)
	if err == nil {
		err = h.checkEnd(in.Size - data)
	}
	if err != nil {
		return nil, err
	}
	return h.list(in, data)
}

// salvage opens a file that was cut short after its header. Arrays that it does not have whole
// come with errors. No array has a checksum.
func salvage(in serialize.Input) (serialize.File, error) {
	h, data, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	return h.list(in, data)
}

// readHeader returns the header of a file, and where the elements begin.
func readHeader(in serialize.Input) (header, int64, error) {
	text, data, err := headerText(in)
	if err != nil {
		return header{}, 0, err
	}
	h, err := parse(text)
	if err == nil {
		err = h.check()
	}
	return h, data, err
}

// list lists the arrays, whose elements begin at data in the file.
func (h header) list(in serialize.Input, data int64) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	list := serialize.NewList(len(h.tensors), h.meta, sections.Close)
	aliased := map[string]bool{} // names that metadata may have other names for
	for _, name := range h.meta {
		aliased[name] = true
	}
	for i, t := range h.tensors {
		e, err := serialize.Entry{Name: t.name}, t.checkEnd(in.Size-data)
		if err == nil {
			e, err = t.entry(sections, data)
		}
		if aliased[t.name] {
			e.Shared = strconv.Itoa(i)
		}
		if err = list.Add(e, err); err != nil {
			sections.Release()
			return nil, err
		}
	}
	if err := addAliases(list, h.meta); err != nil {
		sections.Release()
		return nil, err
	}
	return list, nil
}

// parse reads a header, and checks each array by itself.
func parse(text string) (header, error) {
	h := header{meta: map[string]string{}}
	if text == "" || text[0] != '{' {
		return h, fmt.Errorf("the header does not begin with {: %w", jsontext.ErrSyntax)
	}
	const least = len(`"":{"dtype":"F4","shape":[],"data_offsets":[0,0]},`)
	h.tensors = make([]tensor, 0, min(strings.Count(text, "data_offsets"), len(text)/least))
	p := jsontext.New(text)
	p.Object(func(name string) {
		if name == metadataKey {
			h.meta = p.Strings()
			return
		}
		h.tensors = append(h.tensors, parseTensor(p, name))
	})
	if err := p.End(); err != nil {
		return h, fmt.Errorf("header: %w", err)
	}
	slices.SortStableFunc(h.tensors, func(a, b tensor) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end)) })
	return h, nil
}

func parseTensor(p *jsontext.Parser, name string) tensor {
	t := tensor{name: name}
	seen := 0
	p.Object(func(key string) {
		switch key {
		case "dtype":
			t.dtype = p.String()
		case "shape":
			t.shape = p.Ints()
		case "data_offsets":
			var offsets [2]int
			n := 0
			p.Array(func() {
				if offset := p.Int(); n < len(offsets) {
					offsets[n] = offset
				}
				n++
			})
			if n != len(offsets) {
				p.Fail("%q has %d data_offsets; want 2", name, n)
			}
			t.begin, t.end = offsets[0], offsets[1]
		default:
			p.Skip() // as the reference implementation
			return
		}
		seen++
	})
	if seen != 3 {
		p.Fail("%q has no dtype, shape or data_offsets", name)
	}
	return t
}

// check returns an error if the arrays do not follow each other without gaps.
func (h header) check() error {
	at := 0
	for _, t := range h.tensors {
		if t.begin != at || t.end < t.begin {
			return fmt.Errorf("%q is at bytes %d to %d, but the array before it ends at %d; arrays neither overlap nor leave gaps: %w", t.name, t.begin, t.end, at, storage.ErrState)
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("%q: %w", t.name, err)
		}
		at = t.end
	}
	return nil
}

// checkEnd returns an error if the arrays are not exactly the size bytes after the header.
func (h header) checkEnd(size int64) error {
	at := 0
	if n := len(h.tensors); n > 0 {
		at = h.tensors[n-1].end
	}
	switch {
	case int64(at) > size:
		return fmt.Errorf("arrays of %d bytes, but %d bytes follow the header; the file is truncated: %w", at, size, io.ErrUnexpectedEOF)
	case int64(at) < size:
		return fmt.Errorf("%d bytes after the last array: %w", size-int64(at), storage.ErrState)
	}
	return nil
}

// checkEnd returns an error if an array does not end within the size bytes after the header.
func (t tensor) checkEnd(size int64) error {
	if int64(t.end) > size {
		return fmt.Errorf("%d of its bytes are missing: %w", min(int64(t.end)-size, int64(t.end-t.begin)), io.ErrUnexpectedEOF)
	}
	return nil
}

// check compares the size of an array with what its type and shape take.
func (t tensor) check() error {
	k := t.element()
	if k < 0 {
		return nil // of a type that this package does not know the size of
	}
	need := uint64(elements[k].bits)
	for _, n := range t.shape {
		high, low := bits.Mul64(need, uint64(n))
		if high != 0 {
			return fmt.Errorf("shape %v is too large: %w", t.shape, views.ErrShape)
		}
		need = low
	}
	switch {
	case need%8 != 0:
		return fmt.Errorf("%s%v does not end at a whole byte: %w", t.dtype, t.shape, views.ErrShape)
	case need/8 != uint64(t.end-t.begin):
		return fmt.Errorf("%s%v takes %d bytes, not %d: %w", t.dtype, t.shape, need/8, t.end-t.begin, views.ErrShape)
	}
	return nil
}

// element returns the place of the type in elements, or -1.
func (t tensor) element() int {
	return slices.IndexFunc(elements, func(e element) bool { return e.name == t.dtype })
}

// entry returns the array, whose elements begin at data in the file.
func (t tensor) entry(sections *serialize.Sections, data int64) (serialize.Entry, error) {
	k := t.element()
	if k < 0 || !elements[k].typ.Valid() {
		return serialize.Unsupported(t.name, t.shape, t.dtype)
	}
	e := serialize.Entry{Name: t.name}
	source, err := sections.Section(data+int64(t.begin), int64(t.end-t.begin))
	if err != nil {
		return e, err
	}
	typ := elements[k].typ
	view, err := views.New(t.shape, t.end-t.begin)
	e.Array = storage.Array{Data: serialize.Normalize(source, typ, binary.LittleEndian), Type: typ, View: view}
	return e, err
}

// addAliases adds an entry for each name in the metadata whose value is the name of an
// array, and takes it out of the metadata. Where a value of other metadata is such a name,
// too, save lists the aliases.
func addAliases(list *serialize.List, meta map[string]string) error {
	text, listed := meta[aliasesKey]
	var aliases []string
	isAlias := map[string]bool{}
	if listed {
		if err := json.Unmarshal([]byte(text), &aliases); err != nil {
			return fmt.Errorf("metadata %s: %w", aliasesKey, err)
		}
		delete(meta, aliasesKey)
		for _, alias := range aliases {
			isAlias[alias] = true
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(meta)) {
		if list.Has(alias) || !list.Has(meta[alias]) || listed && !isAlias[alias] {
			continue
		}
		e, err := list.Lookup(meta[alias])
		e.Name = alias
		if err := list.Add(e, err); err != nil {
			return err
		}
		delete(meta, alias)
	}
	return nil
}
