package npy

import (
	"bufio"
	"context"
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

// hasArray reports whether a zip archive has an .npy in its root.
func hasArray(r io.ReaderAt, size int64) bool {
	records, _, err := ziparchive.Directory(r, size)
	return err == nil && slices.ContainsFunc(records, func(x ziparchive.Record) bool {
		return strings.HasSuffix(x.Name, ".npy") && !strings.Contains(x.Name, "/")
	})
}

func openNpz(in serialize.Input) (serialize.File, error) {
	records, comment, err := ziparchive.Directory(in, in.Size)
	if err != nil {
		return nil, err
	}
	meta, err := metaOf(comment)
	if err != nil {
		return nil, err
	}
	return openArchive(in, records, meta)
}

// An archive is an open zip file, which has checksums.
type archive struct {
	*serialize.List
	sections *serialize.Sections
	records  []ziparchive.Record
}

// openArchive lists the arrays of records. Those that cannot be read, and other files, come with an error.
func openArchive(in serialize.Input, records []ziparchive.Record, meta map[string]string) (*archive, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	a := &archive{List: serialize.NewList(len(records)+1, meta, sections.Close), sections: sections, records: records} // salvage adds what is lost
	for i := range records {
		if err := a.add(&records[i]); err != nil {
			sections.Release()
			return nil, fmt.Errorf("%q: %w", records[i].Name, err)
		}
	}
	return a, nil
}

// Verify reads every array, and compares its checksum.
func (a *archive) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		buffer := make([]byte, 1<<20) // for all files, of which there may be hundreds of thousands
		in := a.sections.Input()
		if err := ziparchive.Check(in, in.Size); err != nil && !yield("", err) {
			return
		}
		for i := range a.records {
			x := &a.records[i]
			name, ok := strings.CutSuffix(x.Name, ".npy")
			if (ok || a.beginsLikeArray(x)) && !yield(name, a.verify(ctx, x, buffer)) || ctx.Err() != nil {
				return
			}
		}
	}
}

// verify reads a file of an archive into a buffer, to its end, where its checksum is compared.
func (a *archive) verify(ctx context.Context, x *ziparchive.Record, buffer []byte) error {
	if err := x.Locate(a.sections.Input(), a.sections.Input().Size); err != nil {
		return err
	}
	r := x.Open(a.sections.Input())
	defer r.Close()
	var err error
	for err == nil {
		if err = errors.Join(a.sections.Check(), ctx.Err()); err == nil {
			_, err = r.Read(buffer)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// add adds a file of the archive to the list.
func (a *archive) add(x *ziparchive.Record) error {
	name, ok := strings.CutSuffix(x.Name, ".npy")
	if !ok && strings.HasSuffix(name, "/") {
		return nil
	}
	if err := x.Locate(a.sections.Input(), a.sections.Input().Size); err != nil {
		a.AddMarkingDuplicates(serialize.Entry{Name: name}, err)
		return nil
	}
	if !ok && !a.beginsLikeArray(x) {
		e, _ := serialize.Unsupported(name, nil, "file")
		a.AddMarkingDuplicates(e, fmt.Errorf("not an .npy file: %w", dtype.ErrType))
		return nil
	}
	e, err := a.entry(name, x)
	if err != nil && !errors.Is(err, dtype.ErrType) {
		return err
	}
	a.AddMarkingDuplicates(e, err)
	return nil
}

// beginsLikeArray reports whether a file with another name begins like an .npy file, as NumPy
// finds out: not all programs add the extension.
func (a *archive) beginsLikeArray(x *ziparchive.Record) bool {
	r := x.Open(a.sections.Input())
	defer r.Close()
	head := make([]byte, len(magic))
	_, err := io.ReadFull(r, head)
	return err == nil && string(head) == magic
}

func (a *archive) entry(name string, x *ziparchive.Record) (serialize.Entry, error) {
	e := serialize.Entry{Name: name}
	r := x.Open(a.sections.Input())
	defer r.Close()
	limit := maxHeader
	if x.Method != 0 {
		limit = maxCompressedHeader
	}
	h, err := readHeader(bufio.NewReaderSize(r, 512), limit)
	if err != nil {
		return e, err
	}
	data, err := a.source(x, h.size)
	if err != nil {
		return e, err
	}
	if need := h.view.Len() * h.typ.size; need < data.Len() {
		return e, fmt.Errorf("%s%v takes %d bytes, but there are %d: its header or the archive is damaged: %w", h.typ.name(), h.view.Shape, need, data.Len(), storage.ErrState)
	}
	return h.entry(name, data, a.sections.Input())
}

// source returns what follows the first skip bytes of the entry of the array that is listed next.
func (a *archive) source(x *ziparchive.Record, skip int64) (storage.Source, error) {
	if x.Whole < skip {
		return nil, fmt.Errorf("declares %d bytes, but its header has %d", x.Whole, skip)
	}
	if x.Method != 0 {
		open := func() io.ReadCloser { return x.Open(a.sections.Input()) }
		return a.sections.Inflated(x.Name, open, x.Size, x.Whole, int(skip))
	}
	header := make([]byte, skip)
	if _, err := a.sections.Input().ReadAt(header, x.Data); err != nil {
		return nil, err
	}
	elements, err := a.sections.Section(x.Data+skip, x.Size-skip)
	if err != nil || x.CRC == 0 { // unknown
		return elements, err
	}
	compare := func(sum uint32) error {
		return serialize.CompareChecksums(strings.TrimSuffix(x.Name, ".npy"), sum, x.CRC)
	}
	return serialize.Verified(elements, crc32.IEEETable, crc32.ChecksumIEEE(header), compare), nil
}

func saveNpz(w io.Writer, c serialize.Contents) error {
	comment, err := commentOf(c.Meta)
	if err != nil {
		return err
	}
	descrs := takeDescrs(&c)
	members, err := npzFormat.Collect(c)
	if err == nil {
		err = serialize.CheckSpace(w, bytesOf(members))
	}
	if err != nil {
		return err
	}
	z := ziparchive.NewWriter(w, ziparchive.Options{})
	for i, e := range members {
		if err := addArray(z, e, descrs[i]); err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	return z.Close(comment)
}

// bytesOf returns the number of bytes of the numbers of entries, which an .npz has once for each
// name.
func bytesOf(members []serialize.Entry) (size int64) {
	for _, alone := range members {
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
