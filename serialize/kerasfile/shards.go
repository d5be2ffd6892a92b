package kerasfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// An index of shards, NAME.weights.json, says which files beside it have which groups:
//
//	{"metadata": {"total_size": 1234}, "weight_map": {"/layers/dense/vars": "NAME_00000.weights.h5"}}
//
// A group that is in several files has a list of them.
type index struct {
	Map map[string]files `json:"weight_map"`
}

type files []string

// UnmarshalJSON reads a name or a list of names.
func (f *files) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*f = files{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(f))
}

const (
	maxIndex  = 100 << 20
	maxShards = 1 << 16
)

// matchIndex reports whether r is an index of shards.
func matchIndex(r io.ReaderAt, size int64) bool {
	head := make([]byte, min(size, 1<<16))
	n, _ := r.ReadAt(head, 0)
	head = bytes.TrimSpace(head[:n])
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"weight_map"`)) && bytes.Contains(head, []byte(`.weights.h5"`))
}

func openShards(in serialize.Input) (serialize.File, error) {
	if in.Size > maxIndex {
		return nil, fmt.Errorf("index of %d bytes; at most %d are read: %w", in.Size, maxIndex, storage.ErrState)
	}
	text := make([]byte, in.Size)
	if err := in.ReadFull(text, 0); err != nil {
		return nil, err
	}
	var x index
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, err
	}
	folder := in.Folder()
	if folder == "" {
		return nil, fmt.Errorf("an index of shards in memory or in an archive: the shards are beside a file: %w", storage.ErrState)
	}
	names, err := x.shards()
	if err != nil {
		return nil, err
	}
	var opened []*hdf5.File
	closeAll := func() error {
		var errs []error
		for _, f := range opened {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	f := newFile(nil, func() error { return errors.Join(closeAll(), in.Close()) })
	f.tree = newTree()
	for _, name := range names {
		path := storage.InFolder(folder, name)
		h5, err := hdf5.Open(path, hdf5.Options{Budget: in.Budget, Context: in.Context})
		if err != nil {
			closeAll()
			return nil, err
		}
		in.NoteOpened(path)
		opened = append(opened, h5)
		f.tree.shards[h5] = strconv.Itoa(len(opened)) + ":"
		if err := f.tree.add(h5); err != nil {
			closeAll()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := f.listWeights(false); err != nil {
		closeAll()
		return nil, err
	}
	return f, nil
}

// shards lists the files of the index. They are beside it.
func (x index) shards() ([]string, error) {
	seen := map[string]bool{}
	for _, group := range slices.Sorted(maps.Keys(x.Map)) {
		for _, name := range x.Map[group] {
			if name != filepath.Base(name) || !filepath.IsLocal(name) || !strings.HasSuffix(name, ".weights.h5") {
				return nil, fmt.Errorf("the index names the file %q; want one ending in .weights.h5 beside it: %w", name, storage.ErrState)
			}
			seen[name] = true
		}
	}
	if len(seen) == 0 || len(seen) > maxShards {
		return nil, fmt.Errorf("an index of %d files; want 1 to %d: %w", len(seen), maxShards, storage.ErrState)
	}
	return slices.Sorted(maps.Keys(seen)), nil
}
