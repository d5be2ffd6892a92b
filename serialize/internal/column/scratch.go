package column

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// scratchMemory is how many bytes of a Scratch are in memory before all are in a file. Tests
// change it.
var scratchMemory = 4 << 20

// A Scratch is bytes that are written in order and read in any: few of them are in memory,
// and more in an unnamed temporary file. The zero Scratch is empty.
type Scratch struct {
	mu     sync.RWMutex
	memory []byte
	file   *os.File // nil while all bytes are in memory
	size   int64
}

// Append writes b to the end and returns where it begins.
func (s *Scratch) Append(b []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = s.size
	switch {
	case s.file == nil && len(s.memory)+len(b) <= scratchMemory:
		s.memory = append(s.memory, b...)
	case s.file == nil:
		err = s.create()
		fallthrough
	default:
		if err == nil {
			_, err = s.file.WriteAt(b, at)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("decoded columns are written to a temporary file in %s, which TMPDIR names: %w", os.TempDir(), err)
	}
	s.size += int64(len(b))
	return at, nil
}

// create moves the bytes from memory to a file.
func (s *Scratch) create() error {
	f, err := os.CreateTemp("", "h5dnn-*.columns")
	if err != nil {
		return err
	}
	if err = os.Remove(f.Name()); err == nil {
		_, err = f.WriteAt(s.memory, 0)
	}
	if err != nil {
		f.Close()
		return err
	}
	s.file, s.memory = f, nil
	return nil
}

// ReadAt implements [io.ReaderAt].
func (s *Scratch) ReadAt(b []byte, at int64) (n int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file != nil {
		return s.file.ReadAt(b, at)
	}
	if at < int64(len(s.memory)) {
		n = copy(b, s.memory[at:])
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// Close frees the bytes.
func (s *Scratch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Bytes returns what is written to it, in its own order.
func (s *Scratch) Bytes() interface {
	io.Writer
	io.ReaderAt
} {
	return &extents{scratch: s}
}

// extents are bytes in several places of a Scratch, one after the other.
type extents struct {
	scratch *Scratch
	list    []extent
	size    int64
}

// An extent is bytes from one position on to that of the next extent, and where they are.
type extent struct{ first, at int64 }

// Write implements [io.Writer].
func (e *extents) Write(b []byte) (int, error) {
	at, err := e.scratch.Append(b)
	if n := len(e.list); err == nil && (n == 0 || e.list[n-1].at+e.size-e.list[n-1].first != at) {
		e.list = append(e.list, extent{e.size, at})
	}
	if err != nil {
		return 0, err
	}
	e.size += int64(len(b))
	return len(b), nil
}

// ReadAt implements [io.ReaderAt].
func (e *extents) ReadAt(b []byte, at int64) (n int, err error) {
	i, found := slices.BinarySearchFunc(e.list, at, func(x extent, at int64) int { return cmp.Compare(x.first, at) })
	if !found {
		i--
	}
	for ; n < len(b) && i >= 0 && i < len(e.list) && at < e.size; i++ {
		x, end := e.list[i], e.size
		if i+1 < len(e.list) {
			end = e.list[i+1].first
		}
		part := b[n:][:min(int64(len(b)-n), end-at)]
		if _, err := e.scratch.ReadAt(part, x.at+at-x.first); err != nil {
			return n, err
		}
		n, at = n+len(part), at+int64(len(part))
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// A Spool is the elements of a column in a Scratch. Spools of one Scratch may be appended to in
// turn.
type Spool struct {
	kind    Kind
	numbers extents // or the uint64 ends of strings
	texts   extents
}

// Spool returns an empty Spool.
func (s *Scratch) Spool(kind Kind) *Spool {
	return &Spool{kind, extents{scratch: s}, extents{scratch: s}}
}

// Append appends elements.
func (s *Spool) Append(v *Values) error {
	if s.kind.Type.Valid() {
		_, err := s.numbers.Write(v.Numbers)
		return err
	}
	var ends, all []byte
	for _, text := range v.Texts {
		all = append(all, text...)
		ends = binary.NativeEndian.AppendUint64(ends, uint64(s.texts.size)+uint64(len(all)))
	}
	if _, err := s.texts.Write(all); err != nil {
		return err
	}
	_, err := s.numbers.Write(ends)
	return err
}

// Source returns the numbers as a Source, whose errors name a file.
func (s *Spool) Source(name string, check func() error) (storage.Source, error) {
	sections, err := serialize.Input{ReaderAt: checked{&s.numbers, check}, Size: s.numbers.size, Name: name}.Sections()
	if err != nil {
		return nil, err
	}
	return sections.Section(0, s.numbers.size)
}

// A checked reader fails if its check does.
type checked struct {
	io.ReaderAt
	check func() error
}

func (c checked) ReadAt(b []byte, at int64) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	return c.ReaderAt.ReadAt(b, at)
}

// Strings returns the strings that v selects.
func (s *Spool) Strings(v views.View) ([]any, error) {
	const rows = 4096 // that are read at once
	n := int(s.numbers.size / 8)
	list := make([]any, 0, v.Len())
	var block []string
	first := 0
	for at := range v.Positions() {
		if at < first || at >= first+len(block) {
			first = at - at%rows
			var err error
			if block, err = s.strings(first, min(first+rows, n)); err != nil {
				return nil, err
			}
		}
		list = append(list, block[at-first])
	}
	return list, nil
}

// strings returns the strings of consecutive rows. They share memory.
func (s *Spool) strings(from, to int) ([]string, error) {
	b := make([]byte, 8*(to-from+1)) // the end of the row before, and their own
	ends := b
	if from == 0 {
		ends = b[8:]
	}
	if _, err := s.numbers.ReadAt(ends, int64(8*max(0, from-1))); err != nil {
		return nil, err
	}
	end := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) }
	content := make([]byte, end(to-from)-end(0))
	if _, err := s.texts.ReadAt(content, end(0)); err != nil {
		return nil, err
	}
	all, list := string(content), make([]string, to-from)
	for i := range list {
		list[i] = all[end(i)-end(0) : end(i+1)-end(0)]
	}
	return list, nil
}
