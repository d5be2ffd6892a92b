// Package h5ck reads and writes checkpoints as HDF5 files of one profile: contiguous
// datasets at aligned offsets, which h5py, MATLAB and HDFView open as any other, with
// checksums and an index by which all arrays are found without reading other metadata.
//
// docs/hdf5-checkpoints.md describes the profile. Files are written in Go, without libhdf5,
// in one pass and with the memory of one array. A file whose index does not fit what HDF5
// says, because another program changed it, is read as HDF5.
package h5ck

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/hdf5probe"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

var format = serialize.Format{
	Name: "h5ck", Extensions: []string{".ckpt.h5", ".h5ck"}, Meta: true, Attrs: true, Shares: true, Match: match,
}

// exactFormat writes views that differ as views of shared storages. Readers of the profile
// restore them; other programs see the storages.
var exactFormat = serialize.Format{Name: "h5ck-exact", Extensions: []string{".exact.ckpt.h5"}, Meta: true, Attrs: true, Shares: true, Views: true}

// fits returns an error for arrays that the profile cannot hold.
func fits(e serialize.Entry) error {
	if rank := len(e.Shape()); rank > hdf5.MaxRank {
		return fmt.Errorf("%d axes; HDF5 has at most %d: %w", rank, hdf5.MaxRank, storage.ErrState)
	}
	return index.CheckName(e)
}

// fitsMeta refuses names that HDF5 does not have, and our own.
func fitsMeta(meta map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key == "" || strings.HasPrefix(key, prefix) || strings.ContainsRune(key, 0) {
			return fmt.Errorf("metadata %q: empty names, names with zeros, and those that begin with %s, cannot be written: %w", key, prefix, storage.ErrState)
		}
	}
	return nil
}

func init() {
	format.Fits, format.FitsMeta = fits, fitsMeta
	exactFormat.Fits, exactFormat.FitsMeta = fits, fitsMeta
	format.Open = open
	format.SaveFile = func(name string, c serialize.Contents) error { return Save(name, c, Options{}) }
	exactFormat.SaveFile = func(name string, c serialize.Contents) error { return Save(name, c, Options{Exact: true}) }
	serialize.Register(format)
	serialize.Register(exactFormat)
}

// Names of attributes and objects.
const (
	prefix        = "h5ck:" // of attributes that are not those of the array
	attrVersion   = "h5ck:version"
	attrIndex     = "h5ck:index"
	attrCRC       = "h5ck:crc32c"
	attrDType     = "h5ck:dtype"
	attrStorage   = "h5ck:storage"
	attrOffset    = "h5ck:offset"
	attrShape     = "h5ck:shape"
	attrStrides   = "h5ck:strides"
	indexName     = "__index__"
	modelGroup    = "model"
	storageGroup  = "storage"
	version       = 1
	headSize      = 4096 // of what is read first
	maxRegion     = 1 << 30
	superblockEnd = 48
)

// sections are the groups beside that of the model's parameters. An array called
// optim/exp_avg/fc.weight is dataset fc.weight of group /optim/exp_avg, and one called
// rng/dropout dataset dropout of group /rng. Any other name is that of a dataset in /model.
var sections = map[string]int{"optim": 2, "rng": 1, "train": 1, "data": 1} // groups before the name

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// match fits HDF5 files whose root group has the attribute h5ck:version.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	head := make([]byte, min(size, headSize))
	if n, _ := r.ReadAt(head, 0); n < len(head) || !bytes.HasPrefix(head, []byte("\x89HDF\r\n\x1a\n")) {
		return serialize.NoMatch
	}
	if _, err := parseHead(head); err == nil {
		return serialize.ExactMatch
	}
	f, err := hdf5probe.Open(r, size)
	if err != nil {
		return serialize.NoMatch
	}
	if root, err := f.Root(); err == nil && hasVersion(root) {
		return serialize.ExactMatch
	}
	return serialize.NoMatch
}

func hasVersion(root *hdf5.Object) bool {
	attrs, _ := root.Attributes()
	for _, a := range attrs {
		if a.Name == attrVersion {
			return true
		}
	}
	return false
}

// place returns the groups and the name of the dataset of an array.
func place(name string) (groups []string, dataset string) {
	section, _, ok := strings.Cut(name, "/")
	depth := sections[section]
	if parts := strings.SplitN(name, "/", depth+1); ok && depth > 0 && len(parts) == depth+1 {
		groups = []string{section}
		for _, part := range parts[1:depth] {
			groups = append(groups, escape(part))
		}
		return groups, escape(parts[depth])
	}
	return []string{modelGroup}, escape(name)
}

// nameAt returns the name of the array at the path of a dataset, or false for a dataset that
// has none.
func nameAt(path string) (string, bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if parts[0] == modelGroup && len(parts) == 2 {
		return unescape(parts[1]), true
	}
	if depth := sections[parts[0]]; depth > 0 && len(parts) == depth+1 {
		for i, part := range parts[1:] {
			parts[i+1] = unescape(part)
		}
		return strings.Join(parts, "/"), true
	}
	return strings.TrimPrefix(path, "/"), parts[0] != storageGroup && path != "/"+indexName
}

var (
	escapes   = strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "%00")
	unescapes = strings.NewReplacer("%25", "%", "%2F", "/", "%00", "\x00", "%2E", ".")
)

// escape returns a name without slashes and zeros: these and "%" become "%2F", "%00" and
// "%25", the names "" and "." "%" and "%2E".
func escape(name string) string {
	switch name {
	case "":
		return "%"
	case ".":
		return "%2E"
	}
	return escapes.Replace(name)
}

func unescape(name string) string {
	if name == "%" {
		return ""
	}
	return unescapes.Replace(name)
}

// storedType returns the type under which HDF5 has elements: bytes for those that it has no
// type for.
func storedType(t dtype.Type) dtype.Type {
	if t == dtype.Float8E4M3 {
		return dtype.Uint8
	}
	return t
}

func errNotProfile(what string) error {
	return fmt.Errorf("not a file of the HDF5 checkpoint profile: %s: %w", what, serialize.ErrFormat)
}
