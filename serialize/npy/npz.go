package npy

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

// matchNpz fits a zip archive whose first file is an .npy, or an early one of few files. An empty
// archive may be one: PyTorch, Keras and others use zip too.
func matchNpz(r io.ReaderAt, size int64) serialize.Confidence {
	var head [ziparchive.EndSize]byte
	if n, _ := r.ReadAt(head[:], 0); n == len(head) && string(head[:4]) == ziparchive.EndSignature {
		return serialize.ContainerMatch
	}
	name, ok := ziparchive.FirstName(r)
	if ok && (strings.HasSuffix(name, ".npy") || hasArray(r, size)) {
		return serialize.ContentMatch
	}
	return serialize.NoMatch
}

// hasArray reports whether a zip archive that is small, or has few files, has an .npy in its
// root.
func hasArray(r io.ReaderAt, size int64) bool {
	const largest = 1 << 16 // bytes of the directory, about: 66 for a file with a name of 20 bytes
	tail := make([]byte, min(size, largest))
	if n, _ := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) {
		return false
	}
	end := bytes.LastIndex(tail, []byte(ziparchive.EndSignature))
	if end < 0 || len(tail)-end < ziparchive.EndSize || int64(binary.LittleEndian.Uint32(tail[end+12:])) > int64(end) {
		return false
	}
	z, err := zip.NewReader(r, size)
	return err == nil && slices.ContainsFunc(z.File, func(f *zip.File) bool {
		return strings.HasSuffix(f.Name, ".npy") && !strings.Contains(f.Name, "/")
	})
}

func openNpz(in serialize.Input) (serialize.File, error) {
	d, err := in.Sections()
	if err != nil {
		return nil, err
	}
	a := newArchive(d)
	list, err := a.list(a.Close)
	if err != nil {
		d.Release()
		return nil, err
	}
	return &file{list, a}, nil
}

// A file is an open archive, which has checksums.
type file struct {
	*serialize.List
	archive *archive
}

// Verify reads every array, and compares its checksum.
func (o *file) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		buffer := make([]byte, 1<<20) // for all files, of which there may be hundreds of thousands
		in := o.archive.Input()
		if err := ziparchive.Check(in, in.Size); err != nil && !yield("", err) {
			return
		}
		for in, size := range o.archive.parts {
			if !o.archive.verifyPart(ctx, in, size, buffer, yield) {
				return
			}
		}
	}
}

// verifyPart is Verify of a part of the archive.
func (a *archive) verifyPart(ctx context.Context, in io.ReaderAt, size int64, buffer []byte, yield func(string, error) bool) bool {
	z, err := zip.NewReader(in, size)
	if err != nil {
		yield("", err)
		return false
	}
	for i, file := range z.File {
		z.File[i] = nil
		name, ok := strings.CutSuffix(file.Name, ".npy")
		if (ok || beginsLikeArray(file)) && !yield(name, a.verify(ctx, file, buffer)) || ctx.Err() != nil {
			return false
		}
	}
	return true
}

// verify reads a file of an archive into a buffer, to its end, where its checksum is compared.
func (a *archive) verify(ctx context.Context, file *zip.File, buffer []byte) error {
	r, err := file.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	at, err := file.DataOffset()
	if err = cmp.Or(err, a.checkName(file, at)); err != nil {
		return err
	}
	for err == nil {
		if err = errors.Join(a.Check(), ctx.Err()); err == nil {
			_, err = r.Read(buffer)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// An archive is an open zip file.
type archive struct {
	*serialize.Sections
	arrays *serialize.List
	sums   []uint32 // of the arrays
	stored serialize.Checksums

	// parts yields the archive with directories of some files each, and the size of both.
	parts iter.Seq2[io.ReaderAt, int64]
	count int // of files, if it is known
}

func newArchive(d *serialize.Sections) *archive {
	a := &archive{Sections: d}
	a.parts, a.count = ziparchive.Parts(d.Input(), d.Input().Size)
	a.stored = serialize.Checksums{Table: crc32.IEEETable, Compare: a.compare}
	return a
}

// compare compares the checksum of array i.
func (a *archive) compare(i int, sum uint32) error {
	return serialize.CompareChecksums(a.arrays.Name(i), sum, a.sums[i])
}

// list finds the arrays of a. Those whose elements cannot be read, and other files in the
// archive, come with an error. Closing the list calls close.
func (a *archive) list(close func() error) (*serialize.List, error) {
	var places []serialize.Extent
	for in, size := range a.parts {
		z, err := zip.NewReader(in, size)
		if errors.Is(err, zip.ErrFormat) {
			err = fmt.Errorf("the archive has no directory; if the file is truncated, h5dnn repair saves its intact arrays: %w", err)
		}
		if err != nil {
			return nil, err
		}
		meta, err := metaOf(z.Comment)
		if err != nil {
			return nil, err
		}
		if a.arrays == nil {
			a.arrays = serialize.NewList(max(a.count, len(z.File))+1, meta, close) // salvage adds what is lost
		}
		a.sums = append(a.sums, make([]uint32, len(z.File))...)
		for i, file := range z.File {
			z.File[i] = nil  // only sources that decompress it need it
			file.Extra = nil // a part of the bytes that have the name, too
			place, err := a.add(file)
			if err != nil {
				return nil, err
			}
			if place.At > 0 {
				places = append(places, place)
			}
		}
	}
	return a.arrays, serialize.CheckOverlap(places)
}

// add adds a file of the archive to the list, and returns where it is.
func (a *archive) add(file *zip.File) (place serialize.Extent, err error) {
	name, ok := strings.CutSuffix(file.Name, ".npy")
	if !ok && strings.HasSuffix(name, "/") {
		return place, nil
	}
	if !ok && !beginsLikeArray(file) {
		e, _ := serialize.Unsupported(name, nil, "file")
		a.arrays.AddMarkingDuplicates(e, fmt.Errorf("not an .npy file: %w", dtype.ErrType))
		return place, nil
	}
	name = a.arrays.Keep(name) // for its place, too
	e, err := a.entry(name, file)
	if err != nil && !errors.Is(err, dtype.ErrType) {
		return place, fmt.Errorf("%q: %w", name, err)
	}
	at, failed := file.DataOffset()
	if failed != nil {
		return place, fmt.Errorf("%q: %w", name, failed)
	}
	a.arrays.AddMarkingDuplicates(e, cmp.Or(a.checkName(file, at), err))
	return serialize.Extent{Name: name, At: at, Size: int64(file.CompressedSize64)}, nil
}

// checkName returns an error if the name of a file in the directory is not the one before its bytes,
// which begin at an offset, as NumPy does.
func (a *archive) checkName(file *zip.File, at int64) error {
	le := binary.LittleEndian
	const usual, longest = 64, 2 << 16 // bytes of extra fields, and of these and the name
	for _, n := range []int64{int64(ziparchive.LocalSize + len(file.Name) + usual), ziparchive.LocalSize + longest} {
		b := make([]byte, min(n, at))
		if _, err := a.Input().ReadAt(b, at-int64(len(b))); err != nil {
			return err
		}
		for i := len(b) - ziparchive.LocalSize; i >= 0; i-- {
			head, name := b[i:i+ziparchive.LocalSize], b[i+ziparchive.LocalSize:]
			length := int(le.Uint16(head[26:]))
			if string(head[:4]) != ziparchive.LocalSignature || length+int(le.Uint16(head[28:])) != len(name) {
				continue
			}
			if other := string(name[:length]); other != file.Name {
				return fmt.Errorf("before its bytes its name is %q: %w", other, storage.ErrState)
			}
			return nil
		}
	}
	return fmt.Errorf("no header with its name before its bytes: %w", storage.ErrState)
}

// beginsLikeArray reports whether a file with another name begins like an .npy file, as NumPy
// finds out: not all programs add the extension.
func beginsLikeArray(file *zip.File) bool {
	r, err := file.Open()
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(r, head)
	return err == nil && string(head) == magic
}

func (a *archive) entry(name string, file *zip.File) (serialize.Entry, error) {
	e := serialize.Entry{Name: name}
	if file.Flags&1 != 0 {
		return e, errors.New("encrypted archives are not read")
	}
	if have := uint64(a.Input().Size); file.CompressedSize64 > have {
		return e, fmt.Errorf("declares %d compressed bytes in a file of %d", file.CompressedSize64, have)
	}
	r, err := file.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return e, fmt.Errorf("compression method %d is not read; in NumPy, save it with savez_compressed: %w", file.Method, dtype.ErrType)
	}
	if err != nil {
		return e, err
	}
	defer r.Close()
	limit := maxHeader
	if file.Method != zip.Store {
		limit = maxCompressedHeader
	}
	h, err := readHeader(bufio.NewReaderSize(r, 512), limit)
	if err != nil {
		return e, err
	}
	data, err := a.source(file, h.size)
	if err != nil {
		return e, err
	}
	if need := h.view.Len() * h.typ.size; need < data.Len() {
		return e, fmt.Errorf("%s%v takes %d bytes, but there are %d: its header or the archive is damaged: %w", h.typ.name(), h.view.Shape, need, data.Len(), storage.ErrState)
	}
	return h.entry(name, data, a.Input())
}

// source returns what follows the first skip bytes of the entry of the array that is listed next.
func (a *archive) source(entry *zip.File, skip int64) (storage.Source, error) {
	switch size := entry.UncompressedSize64; {
	case size > math.MaxInt64 || int64(size) < skip:
		return nil, fmt.Errorf("declares %d bytes, but its header has %d", size, skip)
	case entry.Method == zip.Store && entry.CompressedSize64 != size:
		return nil, fmt.Errorf("is stored without compression in %d bytes, but declares %d", entry.CompressedSize64, size)
	case entry.Method == zip.Store:
		at, err := entry.DataOffset()
		if err != nil {
			return nil, err
		}
		return a.section(entry, at, skip)
	}
	return a.Inflated(entry.Name, entry.Open, entry.CompressedSize64, entry.UncompressedSize64, int(skip))
}

// section is source for an entry that is not compressed and begins at an offset.
func (a *archive) section(entry *zip.File, at, skip int64) (storage.Source, error) {
	header := make([]byte, skip)
	if _, err := a.Input().ReadAt(header, at); err != nil {
		return nil, err
	}
	elements, err := a.Section(at+skip, int64(entry.UncompressedSize64)-skip)
	if err != nil {
		return nil, err
	}
	if entry.CRC32 == 0 { // unknown
		return elements, nil
	}
	i := a.arrays.Len()
	a.sums[i] = entry.CRC32
	return a.stored.Verified(elements, crc32.ChecksumIEEE(header), i), nil
}

func saveNpz(w io.Writer, c serialize.Contents) error {
	comment, err := commentOf(c.Meta)
	if err != nil {
		return err
	}
	members, descrs, err := membersOf(c)
	if err == nil {
		err = serialize.CheckSpace(w, bytesOf(members))
	}
	if err != nil {
		return err
	}
	z := ziparchive.NewWriter(w, ziparchive.Options{})
	for i := range members.Len() {
		e := members.At(i)
		if err := addArray(z, e, descrs[i]); err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	return cmp.Or(members.Err(), z.Close(comment))
}

// membersOf collects contents without the attributes of types, which are by number.
func membersOf(c serialize.Contents) (members *serialize.Collection, descrs map[int]string, err error) {
	descrs = map[int]string{}
	entries, at := c.Entries, c.At
	c.Entries = func(yield func(serialize.Entry, error) bool) {
		i := 0
		for e, err := range entries {
			if descr := takeDescr(&e); descr != "" {
				descrs[i] = descr
			}
			if i++; !yield(e, err) {
				return
			}
		}
	}
	if at != nil {
		c.At = func(i int) (serialize.Entry, error) {
			e, err := at(i)
			takeDescr(&e)
			return e, err
		}
	}
	members, err = npzFormat.Collect(c)
	return members, descrs, err
}

// bytesOf returns the number of bytes of the numbers of entries, which an .npz has once for each
// name.
func bytesOf(members *serialize.Collection) (size int64) {
	for i := range members.Len() {
		alone := members.At(i)
		alone.Shared = ""
		n := serialize.ElementBytes(slices.Values([]serialize.Entry{alone}))
		size += min(n, math.MaxInt64-size)
	}
	return size
}

// checkName refuses names that lead somewhere else where an archive is unpacked.
func checkName(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" && name != "" || part == "." || part == ".." || strings.ContainsAny(part, "\\\x00") {
			return fmt.Errorf("no name for an array in an .npz: programs that unpack it could write elsewhere: %w", storage.ErrState)
		}
	}
	return nil
}

func addArray(z *ziparchive.Writer, e serialize.Entry, descr string) error {
	most := int64(math.MaxInt64) // of strings, whose length only writing them tells
	if e.Elements == nil {
		most = int64(e.Array.Len())*int64(e.Array.Type.Size()) + maxHeader
	}
	z.Begin(e.Name+".npy", most)
	if err := write(z, e, descr); err != nil {
		return err
	}
	_, err := z.End()
	return err
}

// A comment is the archive's comment, the only place of an .npz for metadata. It is a
// JSON object with the metadata and a checksum, which older versions did not write.
type comment struct {
	Meta     map[string]string `json:"h5dnn"`
	Checksum string            `json:"crc32c,omitempty"` // of the JSON of Meta
}

// commentEnd begins the end of a comment, before the checksum.
const commentEnd = `,"crc32c":"`

func commentOf(meta map[string]string) (string, error) {
	if len(meta) == 0 {
		return "", nil
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if value := meta[key]; !utf8.ValidString(key) || !utf8.ValidString(value) {
			return "", fmt.Errorf("metadata %q is not UTF-8, as an .npz needs it: %w", key, storage.ErrState)
		}
	}
	b, err := json.Marshal(comment{meta, metaChecksum(meta)})
	if err == nil && len(b) > math.MaxUint16 {
		err = fmt.Errorf("%d bytes of metadata do not fit an .npz, which takes %d: %w", len(b), math.MaxUint16, storage.ErrState)
	}
	return string(b), err
}

func metaChecksum(meta map[string]string) string {
	b, _ := json.Marshal(meta) // strings in the order of keys
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// metaOf reads the comment that Save writes. Any other comment is not metadata.
func metaOf(text string) (map[string]string, error) {
	begins := strings.HasPrefix(text, `{"h5dnn":`)
	end := max(0, len(text)-len(commentEnd)-len(`01234567"}`))
	if ends := strings.HasPrefix(text[end:], commentEnd); !begins && !ends {
		return map[string]string{}, nil
	}
	var c comment
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if want := metaChecksum(c.Meta); !begins || c.Checksum != "" && c.Checksum != want {
		return nil, fmt.Errorf("metadata: checksum %q, want %s; h5dnn repair saves the arrays: %w", c.Checksum, want, serialize.ErrChecksum)
	}
	return c.Meta, nil
}
