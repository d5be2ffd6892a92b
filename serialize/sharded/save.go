package sharded

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/internal/jsontext"
	"github.com/h5dnn/h5dnn/serialize"
)

// DefaultSize is the largest size of a shard in bytes, as in the library of Hugging Face.
const DefaultSize = 5_000_000_000

// Options configure Save. The zero value is right for most checkpoints.
type Options struct {
	// Size is the largest number of bytes of elements in a shard, unless one array is
	// larger. The default is DefaultSize.
	Size int
	// Check is called with the name of each shard, without a folder, before any is
	// written. Its error ends Save.
	Check func(file string) error
	// Old is called with the name of each shard of the index that is replaced, if the new one has no such
	// shard, when all files are written. Without it, old shards stay where they are.
	Old func(file string) error
}

// Save writes an index, such as model.safetensors.index.json, and its shards beside it,
// such as model-00001-of-00003.safetensors. Arrays that share elements go into one shard. Files are
// replaced when all are written. A program that is killed meanwhile leaves an index whose shards
// are all old or all new.
func Save(name string, c serialize.Contents, o Options) error {
	base := strings.TrimSuffix(filepath.Base(name), Extension)
	if base == filepath.Base(name) {
		return fmt.Errorf("the name of an index ends in %s, after that of the checkpoint, as in model.safetensors%s: %w", Extension, Extension, serialize.ErrFormat)
	}
	format, err := FormatOf(name)
	if err != nil {
		return err
	}
	if o.Size <= 0 {
		o.Size = DefaultSize
	}
	var distinct counter
	if format.Shares {
		distinct = counter{}
	}
	entries, err := format.Collect(c)
	if err != nil {
		return err
	}
	shards, total := split(entries, o.Size, distinct)
	if o.Check != nil {
		for i := range shards {
			if err := o.Check(FileName(base, i+1, len(shards))); err != nil {
				return err
			}
		}
	}
	old := oldShards(name, base, len(shards))
	in := make([]indexed, 0, len(entries))
	var set atomicfile.Set
	defer set.Discard()
	for i, shard := range shards {
		file := FileName(base, i+1, len(shards))
		for _, e := range shard {
			in = append(in, indexed{e.Name, file})
		}
		path := filepath.Join(filepath.Dir(name), file)
		if err := set.Write(path, func(f *atomicfile.File) error { return writeShard(f, format, shard, c) }); err != nil {
			return fmt.Errorf("save %s: %w", path, err)
		}
	}
	slices.SortFunc(in, func(a, b indexed) int { return strings.Compare(a.name, b.name) })
	err = set.Commit(name, func(w io.Writer, named func(string) string) error { return encode(w, in, named, c.Meta, total) })
	for _, file := range old {
		if err == nil && o.Old != nil {
			err = o.Old(file)
		}
	}
	return err
}

// oldShards returns the shards of the index of a name, if there is one, that are called as those of a
// checkpoint of another number of shards. The index, which may be large, is read if there are such files.
func oldShards(name, base string, shards int) (files []string) {
	list, _ := os.ReadDir(filepath.Dir(name)) // an error is that of writing
	for _, file := range list {
		var i, n int
		end, ok := strings.CutPrefix(file.Name(), strings.TrimSuffix(base, filepath.Ext(base)))
		if k, _ := fmt.Sscanf(end, "-%d-of-%d", &i, &n); ok && k == 2 && n != shards && file.Name() == FileName(base, i, n) {
			files = append(files, file.Name())
		}
	}
	if files == nil {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	index, err := ParseIndex(string(text))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(files, func(file string) bool { return !slices.Contains(index.Files, file) })
}

// FormatOf returns the format of the shards of an index that Save writes: that of their
// extension, or PyTorch's for pytorch_model.bin, as Hugging Face called its files.
func FormatOf(name string) (serialize.Format, error) {
	base := strings.TrimSuffix(filepath.Base(name), Extension)
	if filepath.Ext(base) == ".bin" {
		return serialize.ByName("torch")
	}
	format, err := serialize.ByExtension(base)
	if err == nil && format.Single {
		err = fmt.Errorf("%s files hold one array and cannot be shards: %w", format.Name, serialize.ErrFormat)
	}
	return format, err
}

// writeShard writes some of the entries of c, with its metadata if the format has any.
func writeShard(f *atomicfile.File, format serialize.Format, entries []serialize.Entry, c serialize.Contents) error {
	if c.Entries = serialize.Entries(entries...); !format.Meta {
		c.Meta = nil
	}
	return serialize.Write(f, format.Name, c)
}

// FileName returns the name of shard i of n of a checkpoint called base.
func FileName(base string, i, n int) string {
	ext := filepath.Ext(base)
	return fmt.Sprintf("%s-%05d-of-%05d%s", strings.TrimSuffix(base, ext), i, n, ext)
}

// split distributes the entries in their order. Those that share elements go where the
// first of them went.
func split(entries []serialize.Entry, size int, distinct counter) (shards [][]serialize.Entry, total int) {
	place := map[string]int{} // shards by what entries share
	filled := 0
	for _, e := range entries {
		n := distinct.bytes(e)
		total += n
		if k, ok := place[e.Shared]; ok && e.Shared != "" {
			if shards[k] = append(shards[k], e); k == len(shards)-1 {
				filled += n
			}
			continue
		}
		if len(shards) == 0 || filled > 0 && filled+n > size {
			shards, filled = append(shards, nil), 0
		}
		last := len(shards) - 1
		shards[last] = append(shards[last], e)
		filled += n
		if e.Shared != "" {
			place[e.Shared] = last
		}
	}
	return shards, total
}

// A counter counts the bytes of arrays. Those with the same elements in the same order as an
// earlier one have none of their own; other views of shared elements do. A nil counter counts
// all bytes, as for formats that write shared elements again.
type counter map[string]bool

func (c counter) bytes(e serialize.Entry) int {
	n := e.Array.NBytes()
	if c == nil || e.Shared == "" {
		return n
	}
	elements := e.SharedElements()
	if c[elements] {
		return 0
	}
	c[elements] = true
	return n
}

// An indexed array has a file.
type indexed struct{ name, file string }

// encode writes an index of arrays, laid out as the library of Hugging Face does, in which
// files have the names that named returns.
func encode(w io.Writer, in []indexed, named func(string) string, meta map[string]string, total int) error {
	b := []byte("{\n  \"metadata\": {\n")
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		b = append(jsontext.Append(append(b, "    "...), key), ": "...)
		b = append(jsontext.Append(b, meta[key]), ",\n"...)
	}
	b = append(strconv.AppendInt(append(b, "    \"total_size\": "...), int64(total), 10), "\n  },\n  \"weight_map\": {"...)
	for i, array := range in {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.Append(append(b, "\n    "...), array.name), ": "...)
		b = jsontext.Append(b, named(array.file))
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := w.Write(append(b, "\n  }\n}\n"...))
	return err
}
