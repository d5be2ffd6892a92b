// Package torch reads and writes the files of torch.save: .pt, .pth and .bin.
//
// Their pickle is read as data by package internal/pickle. Nothing in it is imported or
// called: tensors, NumPy arrays and plain values are understood, and all else is named in
// the metadata and left alone. Strides and shared storages are kept, and lists, tuples and the
// types of values that names and texts do not tell are noted, so that save makes them again.
//
// The format is described by torch/serialization.py and caffe2/serialize/inline_container.cc
// of PyTorch. The layout of zip archives (since PyTorch 1.6) is read and written, the flat
// one before it is read; the tar archives of PyTorch before 0.1.10 and TorchScript are not.
package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

var format = serialize.Format{
	Name: "torch", Extensions: []string{".pt", ".pth", ".t", ".ckpt"}, Meta: true, Shares: true, Views: true, Match: match,
}

func init() {
	format.Open, format.Salvage, format.Save = open, salvage, save
	serialize.Register(format)
}

const previewSignature = "PYTORCH1"

// packageRecord is in the archives of torch.package.
const packageRecord = ".data/extern_modules"

// exportRecord is in the archives of torch.export.save, .pt2.
const exportRecord = "archive_format"

// isLegacy reports whether a file begins as those before the zip format: with a pickle of
// the number 0x1950a86a20f9469cfc6c, of any protocol.
func isLegacy(head []byte) bool {
	const number = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
	if len(head) < 2 || head[0] != 0x80 || head[1] < 2 || head[1] > 5 {
		return false
	}
	rest := head[2:]
	if len(rest) >= 9 && rest[0] == 0x95 { // FRAME and its length, from protocol 4 on
		rest = rest[9:]
	}
	return bytes.HasPrefix(rest, []byte(number))
}

// match fits zip archives with a record data.pkl, and the older formats.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	head := make([]byte, 512)
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	switch {
	case isLegacy(head), bytes.HasPrefix(head, []byte(previewSignature)), isTar(head):
		return serialize.ExactMatch
	}
	name, ok := ziparchive.FirstName(r)
	if !ok {
		return serialize.NoMatch
	}
	if strings.HasSuffix(name, "/data.pkl") || strings.HasSuffix(name, "/constants.pkl") {
		return serialize.ExactMatch
	}
	if !strings.Contains(name, "/") {
		return serialize.NoMatch
	}
	records, _, err := ziparchive.Directory(r, size)
	known := func(x ziparchive.Record) bool {
		name, ok := strings.CutPrefix(x.Name, rootOf(records))
		return ok && (name == "data.pkl" || name == exportRecord || name == packageRecord)
	}
	if err == nil && slices.ContainsFunc(records, known) {
		return serialize.ExactMatch
	}
	return serialize.NoMatch
}

// isTar reports whether a file begins as the tar archives of torch.save did.
func isTar(head []byte) bool {
	if len(head) < 512 || string(head[257:262]) != "ustar" {
		return false
	}
	name, _, _ := strings.Cut(string(head[:100]), "\x00")
	return slices.Contains([]string{"storages", "tensors", "pickle", "sys_info"}, strings.TrimPrefix(name, "./"))
}

// A file is an open file.
type file struct {
	*serialize.List
	in       serialize.Input
	sections *serialize.Sections
	order    binary.ByteOrder
	place    func(key string) (ziparchive.Record, error) // of a storage; nil for archives with a directory once they are open
	sources  map[string]typedSource                      // of storages, by key; nil once the file is open
	count    int                                         // about how many storages there are
	root     any                                         // the value of the pickle
	pickled  int64                                       // bytes of pickles
	memory   int                                         // of names and texts; see memoryOf
	omitted  loss.List                                   // see Omitted

	isArchive bool // with a directory, which Verify reads again
}

// section returns the bytes of a record, decompressed, as a Source.
func (f *file) section(name string, x ziparchive.Record) (storage.Source, error) {
	if x.Method == 0 {
		return f.sections.Section(x.Data, x.Size)
	}
	return f.sections.Inflated(name, func() io.ReadCloser { return x.Open(f.in) }, x.Size, x.Whole, 0)
}

// A typedSource is the elements of a storage as a type.
type typedSource struct {
	source storage.Source
	typ    dtype.Type
}

func open(in serialize.Input) (serialize.File, error) {
	head := make([]byte, min(in.Size, 512))
	if _, err := in.ReadAt(head, 0); err != nil {
		return nil, err
	}
	read := (*file).readZip
	switch {
	case strings.HasSuffix(in.Name, ".distcp"):
		return nil, errors.New("a part of a checkpoint of torch.distributed.checkpoint, which is not read; python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE converts the checkpoint")
	case bytes.HasPrefix(head, []byte(previewSignature)):
		return nil, errors.New("a preview of the zip format of PyTorch 1.6, which no release reads")
	case isTar(head):
		return nil, errors.New("the tar format of PyTorch before 0.1.10, which is not read; load the file with that release and save it with a newer one")
	case isLegacy(head):
		read = (*file).readLegacy
	}
	return load(in, read)
}

// load opens a file whose pickle and storages are found by read.
func load(in serialize.Input, read func(*file) error) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	f := &file{in: in, sections: sections, order: binary.LittleEndian, sources: map[string]typedSource{}}
	if err = read(f); err == nil {
		f.List, err = f.walk()
	}
	if err != nil {
		sections.Release()
		return nil, err
	}
	if f.sources = nil; f.isArchive {
		f.place = nil // which keeps the directory
	}
	return f, nil
}

// rootOf returns the prefix of all names in an archive, which PyTorch takes from the
// first record.
func rootOf(records []ziparchive.Record) string {
	if len(records) == 0 {
		return ""
	}
	root, _, _ := strings.Cut(records[0].Name, "/")
	return root + "/"
}

// An archive has the records of a zip archive by name, without their common prefix:
//
//	ROOT/data.pkl      the pickle
//	ROOT/data/KEY      the bytes of a storage
//	ROOT/byteorder     "little" or "big"; since PyTorch 2.1
//	ROOT/version       of the format
type archive struct {
	in      io.ReaderAt // of size bytes
	size    int64
	prefix  string // ROOT/
	inOrder []ziparchive.Record
	records map[string]*ziparchive.Record // by name without prefix
}

// pickled returns the record of the pickle. Archives without one, and programs, are refused by name.
func (a *archive) pickled() (*ziparchive.Record, error) {
	pickled := a.records["data.pkl"]
	switch {
	case a.records["constants.pkl"] != nil:
		return nil, errors.New("a TorchScript program, which is not read; save model.state_dict() with torch.save instead")
	case pickled != nil:
		return pickled, nil
	case a.records[exportRecord] != nil:
		return nil, errors.New("a program of torch.export, which is not read; save torch.export.load(NAME).state_dict with torch.save instead")
	case a.records[packageRecord] != nil:
		return nil, errors.New("a package of torch.package, which is not read; load its model with torch.package.PackageImporter(NAME).load_pickle and save model.state_dict() with torch.save")
	}
	return nil, fmt.Errorf("no record %sdata.pkl in the archive", a.prefix)
}

// readArchive reads the directory of an archive.
func (f *file) readArchive() (*archive, error) {
	records, _, err := ziparchive.Directory(f.in, f.in.Size)
	if err != nil {
		return nil, err
	}
	a := &archive{in: f.in, size: f.in.Size, prefix: rootOf(records), inOrder: records, records: make(map[string]*ziparchive.Record, len(records))}
	for i := range records {
		name := strings.TrimPrefix(records[i].Name, a.prefix)
		if a.records[name] != nil {
			return nil, fmt.Errorf("duplicate record %q", records[i].Name)
		}
		a.records[name] = &records[i]
	}
	return a, nil
}

// readZip reads an archive.
func (f *file) readZip() error {
	a, err := f.readArchive()
	if err != nil {
		return err
	}
	pickled, err := a.pickled()
	if err != nil {
		return err
	}
	if f.order, err = f.byteOrder(a.records["byteorder"]); err != nil {
		return err
	}
	f.isArchive, f.count, f.place = true, len(a.records), a.place
	if err := pickled.Locate(f.in, f.in.Size); err != nil {
		return err
	}
	// While the pickle is read, storages are located: either takes milliseconds for 2000 tensors.
	// Errors are left to place, which locates again.
	var located sync.WaitGroup
	defer located.Wait()
	located.Go(func() {
		for i := range a.inOrder {
			if x := &a.inOrder[i]; strings.HasPrefix(x.Name, a.prefix+"data/") {
				x.Locate(a.in, a.size)
			}
		}
	})
	f.root, err = f.pickleOf(*pickled)
	return err
}

// place returns the place of a storage.
func (a *archive) place(key string) (ziparchive.Record, error) {
	x := a.records["data/"+key]
	if x == nil {
		return ziparchive.Record{}, fmt.Errorf("no record %sdata/%s: %w", a.prefix, key, storage.ErrState)
	}
	err := x.Locate(a.in, a.size)
	return *x, err
}

// byteOrder reads the record of that name, if there is one.
func (f *file) byteOrder(x *ziparchive.Record) (binary.ByteOrder, error) {
	if x == nil {
		return binary.LittleEndian, nil
	}
	text, err := f.content(x)
	switch {
	case err != nil:
		return nil, err
	case string(text) == "little":
		return binary.LittleEndian, nil
	case string(text) == "big":
		return binary.BigEndian, nil
	}
	return nil, fmt.Errorf("byte order %q", text)
}

// content reads a short record.
func (f *file) content(x *ziparchive.Record) ([]byte, error) {
	if err := x.Locate(f.in, f.in.Size); err != nil {
		return nil, err
	}
	if x.Whole > 100 {
		return nil, fmt.Errorf("record %q of %d bytes; want at most 100: %w", x.Name, x.Whole, storage.ErrState)
	}
	b, err := io.ReadAll(io.LimitReader(x.Open(f.in), x.Whole+1))
	if err == nil && int64(len(b)) != x.Whole {
		err = fmt.Errorf("record %q has not the %d bytes it declares: %w", x.Name, x.Whole, storage.ErrState)
	}
	return b, err
}

// memoryOf returns how many bytes of memory the values of a pickle may take by its bytes in the file.
// PyTorch's take up to 64 for each, and compress to a quarter at the least. The names and texts made of
// them may take as much as those of the largest pickle.
func (f *file) memoryOf(stored int64) int {
	const least, ratio = 64 << 20, 256
	limit := int(min(int64(f.in.Budget.Limit()), least+ratio*stored))
	f.memory = max(f.memory, limit)
	return limit
}

// pickleOf reads the pickle of an archive to its end, where the checksum is compared. What it
// takes is bounded by the bytes in the file, if it is compressed, too.
func (f *file) pickleOf(p ziparchive.Record) (value any, err error) {
	limit := f.memoryOf(p.Size)
	if p.Method != 0 && p.Whole > int64(limit) {
		return nil, fmt.Errorf("data.pkl has %d bytes and declares %d, more than the %d that are allowed for it; "+
			"if you trust the file, unzip it and zip it with -0: %w", p.Size, p.Whole, limit, storage.ErrState)
	}
	r := io.LimitReader(p.Open(f.in), p.Whole+1)
	value, n, err := pickle.Load(r, p.Whole, limit)
	f.pickled += n
	if _, rest := io.Copy(io.Discard, r); rest != nil { // which explains what is wrong with the values
		err = rest
	}
	return value, err
}

// pickle reads a pickle of at most size bytes and returns where it ends.
func (f *file) pickle(at, size int64) (value any, end int64, err error) {
	value, n, err := pickle.Load(io.NewSectionReader(f.in, at, size), size, f.memoryOf(size))
	f.pickled += n
	return value, at + n, err
}

// storage returns the elements of s as type t.
func (f *file) storage(s storageRef, t dtype.Type) (storage.Source, error) {
	if kept := f.sources[s.key]; kept.source != nil && kept.typ == t && kept.source.Len() == s.bytes() {
		return kept.source, nil
	}
	p, err := f.place(s.key)
	if err != nil {
		return nil, err
	}
	if p.Whole != int64(s.bytes()) {
		return nil, fmt.Errorf("storage %s has %d bytes, but %d elements of type %s take %d: %w", s.key, p.Whole, s.numel, s.element.name, s.bytes(), storage.ErrState)
	}
	section, err := f.section("data/"+s.key, p)
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", s.key, err)
	}
	if p.CRC != 0 && p.Method == 0 {
		section = serialize.Verified(section, crc32.IEEETable, 0, func(sum uint32) error { return compare("data/"+s.key, sum, p.CRC) })
	}
	source := serialize.Normalize(section, t, f.order)
	f.sources[s.key] = typedSource{source, t}
	return source, nil
}

// compare compares the checksum of a record.
func compare(key string, got, want uint32) error {
	return serialize.CompareChecksums("record "+key, got, want)
}
