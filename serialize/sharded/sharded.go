// Package sharded reads and writes checkpoints of several files with an index, such as
// model.safetensors.index.json and pytorch_model.bin.index.json of Hugging Face:
//
//	{"metadata": {"total_size": 24}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors", …}}
//
// The shards may be in any format of package serialize. They lie in the folder of the
// index, or in that of serialize.Options.Follow, and are named without a folder: an index
// cannot refer to a file elsewhere. Symbolic links are followed: the cache of Hugging Face
// consists of them.
package sharded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/h5dnn/h5dnn/internal/jsontext"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// Extension ends the names of indexes, after the name of the checkpoint.
const Extension = ".index.json"

func init() {
	serialize.Register(serialize.Format{
		Name: "sharded", Extensions: []string{Extension}, Meta: true,
		Match: match, Open: open, SaveFile: func(name string, c serialize.Contents) error { return Save(name, c, Options{}) },
	})
}

const (
	maxIndex  = 100_000_000 // bytes
	maxShards = 100_000
)

// match fits JSON whose beginning has a weight_map of files. Values of the map that are not
// names of files of this kind, such as lists, are other formats.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	head := make([]byte, min(size, 1<<16))
	if n, _ := r.ReadAt(head, 0); n < len(head) || !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) || !bytes.Contains(head, []byte(`"weight_map"`)) {
		return serialize.NoMatch
	}
	return serialize.ContentMatch
}

// An Index says in which file each array is.
type Index struct {
	Meta  map[string]string // of the checkpoint
	Files []string          // of shards, sorted
	In    map[string]string // the file of each array
	Size  int               // bytes of all arrays, or -1 if the index does not say
}

// ParseIndex reads an index, and checks the names of files. Names of arrays are parts of the text.
func ParseIndex(text string) (Index, error) {
	index := Index{Meta: map[string]string{}, Size: -1}
	p := jsontext.New(text)
	p.Object(func(key string) {
		switch key {
		case "metadata":
			p.Object(func(key string) {
				value := value(p)
				if key != "total_size" {
					index.Meta[strings.Clone(key)] = strings.Clone(value)
				} else if size, err := strconv.Atoi(value); err == nil {
					index.Size = size
				}
			})
		case "weight_map":
			index.In = p.Strings()
		default:
			p.Skip()
		}
	})
	if err := p.End(); err != nil {
		return index, fmt.Errorf("index: %w", err)
	}
	if index.In == nil {
		return index, fmt.Errorf("index without a weight_map: %w", storage.ErrState)
	}
	files := map[string]bool{}
	for _, file := range index.In {
		if !files[file] {
			files[strings.Clone(file)] = true
		}
	}
	index.Files = slices.Sorted(maps.Keys(files))
	if len(index.Files) > maxShards {
		return index, fmt.Errorf("%d shards; at most %d are allowed: %w", len(index.Files), maxShards, storage.ErrState)
	}
	for _, file := range index.Files {
		if file == "" || file == "." || file == ".." || strings.ContainsAny(file, "/\\") || strings.ContainsFunc(file, unicode.IsControl) {
			return index, fmt.Errorf("shard %q is not the name of a file in the folder of the index: %w", file, storage.ErrState)
		}
	}
	return index, nil
}

// value reads a string, or any other value as its JSON.
func value(p *jsontext.Parser) string {
	if p.Next() == '"' {
		return p.String()
	}
	return p.Skip()
}

func open(in serialize.Input) (serialize.File, error) {
	if in.Size > maxIndex {
		return nil, fmt.Errorf("index of %d bytes; at most %d are allowed: %w", in.Size, maxIndex, storage.ErrState)
	}
	index, err := readIndex(in)
	if err != nil {
		return nil, err
	}
	folder := in.Follow
	if folder == "" {
		folder = in.Folder()
	}
	if folder == "" && len(index.Files) > 0 {
		return nil, fmt.Errorf("the index is not a file in a folder; Options.Follow names the folder of its shards: %w", storage.ErrState)
	}
	return openShards(in, index, folder)
}

// readIndex reads the index of a checkpoint.
func readIndex(in serialize.Input) (Index, error) {
	text, err := in.ReadText(0, in.Size)
	if err != nil {
		return Index{}, fmt.Errorf("index: %w", err)
	}
	return ParseIndex(text)
}

// openShards opens all shards and lists their arrays, in the order of files.
func openShards(in serialize.Input, index Index, folder string) (serialize.File, error) {
	meta := map[string]string{}
	f := &file{size: index.Size}
	f.List = serialize.NewList(len(index.In), meta, func() error { return errors.Join(f.closeShards(), in.Close()) })
	if err := f.addShards(in, index, folder, meta); err != nil {
		f.closeShards()
		return nil, err
	}
	maps.Copy(meta, index.Meta)
	return f, nil
}

// addShards opens the shards, and adds their arrays and metadata. It is an error if an array that the index
// names is not in the shard that it says.
func (f *file) addShards(in serialize.Input, index Index, folder string, meta map[string]string) error {
	options := in.Options
	options.Format, options.Follow = "", ""
	ends := make([]int, len(index.Files)) // of the arrays of each shard
	for i, name := range index.Files {
		shard, err := openShard(storage.InFolder(folder, name), options)
		if err != nil {
			return fmt.Errorf("shard %s: %w", name, err)
		}
		in.NoteOpened(storage.InFolder(folder, name))
		if err := f.add(shard); err != nil {
			return fmt.Errorf("shard %s: %w", name, err)
		}
		ends[i] = f.Len()
		maps.Copy(meta, shard.Meta())
	}
	for _, name := range slices.Sorted(maps.Keys(index.In)) {
		want := index.In[name]
		i, ok := f.Index(name)
		if !ok {
			return fmt.Errorf("%q is not in shard %s, where the index says it is: %w", name, want, storage.ErrState)
		}
		shard, _ := slices.BinarySearch(ends, i+1)
		if have := index.Files[shard]; have != want {
			return fmt.Errorf("%q is in shard %s, but the index says %s: %w", name, have, want, storage.ErrState)
		}
	}
	return nil
}

// openShard opens a file that is not an index itself.
func openShard(name string, options serialize.Options) (serialize.File, error) {
	format, err := serialize.FormatOf(name)
	if err != nil {
		return nil, err
	}
	if format.Name == "sharded" {
		return nil, fmt.Errorf("an index cannot be a shard: %w", storage.ErrState)
	}
	return serialize.Open(name, options)
}
