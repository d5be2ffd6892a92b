package npy

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"unicode/utf8"
	"weak"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// matchNpz accepts a zip archive whose first file is an .npy, or that is empty:
// PyTorch and others have zip archives too.
//
//	P K 3 4      signature of a file in the archive
//	…            22 bytes
//	name length  2 bytes, little-endian
//	extra length 2 bytes
//	name
func matchNpz(r io.ReaderAt) bool {
	var head [30]byte
	n, _ := r.ReadAt(head[:], 0)
	if n >= 22 && string(head[:4]) == "PK\x05\x06" {
		return true
	}
	if n < len(head) || string(head[:4]) != "PK\x03\x04" {
		return false
	}
	name := make([]byte, binary.LittleEndian.Uint16(head[26:]))
	_, err := r.ReadAt(name, int64(len(head)))
	return err == nil && strings.HasSuffix(string(name), ".npy")
}

func openNpz(_ string, f *os.File) (serialize.File, error) {
	m, err := storage.Map(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	a := &archive{f: f, mapping: m}
	opened := &file{arrays: map[string]storage.Array{}, close: a.Close}
	if err := a.list(opened); err != nil {
		a.Close()
		return nil, err
	}
	return opened, nil
}

// An archive is an open zip file. Its directory and what is compressed are read
// from f, the rest from the mapping.
type archive struct {
	f       *os.File
	mapping *storage.Mapping
	closed  atomic.Bool
}

func (a *archive) Close() error {
	if a.closed.Swap(true) {
		return nil
	}
	return errors.Join(a.mapping.Close(), a.f.Close())
}

// list finds the arrays of a; other files in the archive are passed over.
func (a *archive) list(into *file) error {
	z, err := zip.NewReader(a.f, int64(a.mapping.Len()))
	if err != nil {
		return err
	}
	if into.meta, err = metaOf(z.Comment); err != nil {
		return err
	}
	for _, entry := range z.File {
		name, ok := strings.CutSuffix(entry.Name, ".npy")
		if !ok {
			continue
		}
		if _, twice := into.arrays[name]; twice {
			return fmt.Errorf("%q is there twice", name)
		}
		array, err := a.array(entry)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		into.names = append(into.names, name)
		into.arrays[name] = array
	}
	return nil
}

func (a *archive) array(entry *zip.File) (storage.Array, error) {
	if entry.Flags&1 != 0 {
		return storage.Array{}, errors.New("encrypted archives are not read")
	}
	if have := uint64(a.mapping.Len()); entry.CompressedSize64 > have {
		return storage.Array{}, fmt.Errorf("declares %d compressed bytes in a file of %d", entry.CompressedSize64, have)
	}
	r, err := entry.Open()
	if err != nil {
		return storage.Array{}, err
	}
	defer r.Close()
	h, err := readHeader(bufio.NewReaderSize(r, 512))
	if err != nil {
		return storage.Array{}, err
	}
	data, err := a.source(entry, h.size)
	if err != nil {
		return storage.Array{}, err
	}
	return h.array(data)
}

// source returns what follows the first skip bytes of an entry.
func (a *archive) source(entry *zip.File, skip int64) (storage.Source, error) {
	switch size := entry.UncompressedSize64; {
	case size > math.MaxInt64 || int64(size) < skip:
		return nil, fmt.Errorf("declares %d bytes, but its header has %d", size, skip)
	case entry.Method == zip.Store && entry.CompressedSize64 != size:
		return nil, fmt.Errorf("is stored as it is, in %d bytes, yet declares %d", entry.CompressedSize64, size)
	case entry.Method == zip.Store:
		at, err := entry.DataOffset()
		if err != nil {
			return nil, err
		}
		return a.stored(entry, at, skip)
	case size/maxRatio > entry.CompressedSize64:
		return nil, fmt.Errorf("declares %d bytes, more than %d can be decompressed to", size, entry.CompressedSize64)
	}
	return &deflated{archive: a, entry: entry, skip: int(skip)}, nil
}

// stored returns what follows the header of an entry that is not compressed.
func (a *archive) stored(entry *zip.File, at, skip int64) (storage.Source, error) {
	header, err := a.mapping.Range(at, skip)
	if err != nil {
		return nil, err
	}
	data, err := a.mapping.Range(at+skip, int64(entry.UncompressedSize64)-skip)
	if err != nil {
		return nil, err
	}
	s := &summed{Mapped: data, entry: entry}
	return s, header.WithBytes(func(b []byte) error {
		s.header = crc32.ChecksumIEEE(b)
		return nil
	})
}

// summed is a mapped Source that compares the checksum whenever it is read as a
// whole. Slices are not checked, as that would be to read all.
type summed struct {
	*storage.Mapped
	entry  *zip.File
	header uint32 // the checksum up to where the data begins
}

func (s *summed) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if err := s.Mapped.ReadView(dst, t, v); err != nil {
		return err
	}
	if n := v.Len() * t.Size(); v.Contiguous() && n == s.Len() {
		if got := crc32.Update(s.header, crc32.IEEETable, dst[:n]); got != s.entry.CRC32 {
			return fmt.Errorf("%v: %s: checksum %08x, want %08x: %w", s.Device(), s.entry.Name, got, s.entry.CRC32, zip.ErrChecksum)
		}
	}
	return nil
}

// maxRatio bounds what deflate makes of one byte: a match of 258 bytes takes two
// bits at the least (zlib.net/zlib_tech.html).
const maxRatio = 1032

// deflated is a Source that has to be decompressed as a whole. What was stays
// for the next read until memory is needed.
type deflated struct {
	archive *archive
	entry   *zip.File
	skip    int
	kept    atomic.Pointer[weak.Pointer[[]byte]]
}

func (d *deflated) Len() int               { return int(d.entry.UncompressedSize64) - d.skip }
func (d *deflated) Device() storage.Device { return storage.File(d.archive.f.Name()) }

func (d *deflated) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if !t.Valid() || !v.Within(d.Len()/t.Size()) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v reaches outside %d bytes: %w", d.entry.Name, t, v.Shape, d.Len(), views.ErrShape)
	}
	if d.archive.closed.Load() {
		return fmt.Errorf("%s: %s: was closed; open it again to read its arrays: %w", d.archive.f.Name(), d.entry.Name, storage.ErrState)
	}
	b, err := d.decode()
	if err != nil {
		return fmt.Errorf("%s: %s: %w", d.archive.f.Name(), d.entry.Name, err)
	}
	storage.Gather(dst, b, t, v)
	return nil
}

// decode returns the decompressed bytes after the header.
func (d *deflated) decode() ([]byte, error) {
	if kept := d.kept.Load(); kept != nil {
		if b := kept.Value(); b != nil {
			return *b, nil
		}
	}
	r, err := d.entry.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, d.entry.UncompressedSize64) // checked against the compressed size
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF { // at the end, the checksum is compared
		return nil, fmt.Errorf("more than the %d bytes it declares: %w", len(b), err)
	}
	b = b[d.skip:]
	kept := weak.Make(&b)
	d.kept.Store(&kept)
	return b, nil
}

func saveNpz(name string, c serialize.Contents) error {
	comment, err := commentOf(c.Meta)
	if err != nil {
		return err
	}
	return atomicfile.Write(name, func(f *os.File) error {
		buffered := bufio.NewWriterSize(f, 1<<20)
		z := zip.NewWriter(buffered)
		seen := map[string]bool{}
		for called, a := range c.Arrays {
			if seen[called] {
				return fmt.Errorf("%q: a name can be used once: %w", called, storage.ErrState)
			}
			seen[called] = true
			w, err := z.CreateHeader(&zip.FileHeader{Name: called + ".npy", Method: zip.Store})
			if err == nil {
				err = Write(w, a)
			}
			if err != nil {
				return fmt.Errorf("%q: %w", called, err)
			}
		}
		if err := z.SetComment(comment); err != nil {
			return err
		}
		return errors.Join(z.Close(), buffered.Flush())
	})
}

// An .npz has no place for metadata but the archive's comment. There it is a
// JSON object with one key.
type comment struct {
	Meta map[string]string `json:"h5dnn"`
}

func commentOf(meta map[string]string) (string, error) {
	if len(meta) == 0 {
		return "", nil
	}
	for key, value := range meta {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return "", fmt.Errorf("metadata %q is not UTF-8, as an .npz needs it: %w", key, storage.ErrState)
		}
	}
	b, err := json.Marshal(comment{meta})
	if err == nil && len(b) > math.MaxUint16 {
		err = fmt.Errorf("%d bytes of metadata do not fit an .npz, which takes %d: %w", len(b), math.MaxUint16, storage.ErrState)
	}
	return string(b), err
}

// metaOf reads a comment of ours; any other is nobody's metadata.
func metaOf(text string) (map[string]string, error) {
	if !strings.HasPrefix(text, `{"h5dnn":`) {
		return map[string]string{}, nil
	}
	var c comment
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return c.Meta, nil
}
