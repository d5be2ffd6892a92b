package kerasfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// IndexExtension ends the names of indexes of shards.
const IndexExtension = ".weights.json"

// DefaultShardSize is the largest size of a shard in bytes, as in Keras.
const DefaultShardSize = 5 << 30

// ShardOptions configure SaveShards.
type ShardOptions struct {
	// Size is the largest number of bytes of elements in a shard, unless one array is
	// larger. The default is DefaultShardSize.
	Size int
	// Check is called with the name of each shard, without a folder, before any is
	// written. Its error ends SaveShards. By default it is an error if a shard is there
	// and the index is not.
	Check func(file string) error
	// Old is called with the name of each shard of the index that is replaced, if the new one has no such
	// shard, when all files are written. Without it, old shards stay where they are.
	Old func(file string) error
}

// A target is where the weights of a model are written: an HDF5 file, or a plan of several.
type target interface {
	Group(path string, attrs ...hdf5write.Attr) error
	Write(path string, a storage.Array) error
}

// A shardPlan lists the groups of a file in the order in which they are written.
type shardPlan struct{ groups []plannedGroup }

type plannedGroup struct {
	path  string
	attrs []hdf5write.Attr
	paths []string // of datasets
	data  []storage.Array
}

// Group plans a group.
func (p *shardPlan) Group(path string, attrs ...hdf5write.Attr) error {
	p.groups = append(p.groups, plannedGroup{path: path, attrs: attrs})
	return nil
}

// Write plans a dataset. Groups of variables that were not planned, such as those of
// objects within layers, have no name.
func (p *shardPlan) Write(path string, a storage.Array) error {
	group := path[:strings.LastIndexByte(path, '/')]
	at := slices.IndexFunc(p.groups, func(g plannedGroup) bool { return g.path == group })
	if at < 0 {
		at = len(p.groups)
		p.groups = append(p.groups, plannedGroup{path: group})
	}
	p.groups[at].paths = append(p.groups[at].paths, path)
	p.groups[at].data = append(p.groups[at].data, a)
	return nil
}

// split divides the groups into shards of at most size bytes. Groups that are larger are
// divided; arrays are not. Groups without arrays are left out, as Keras does.
func (p *shardPlan) split(size int) (shards [][]plannedGroup, total int) {
	shards = [][]plannedGroup{nil}
	used := 0
	add := func(g plannedGroup, bytes int) {
		if used > 0 && used+bytes > size {
			shards, used = append(shards, nil), 0
		}
		shards[len(shards)-1] = append(shards[len(shards)-1], g)
		used, total = used+bytes, total+bytes
	}
	for _, g := range p.groups {
		all := 0
		for _, a := range g.data {
			all += a.NBytes()
		}
		switch {
		case len(g.data) == 0:
		case all <= size:
			add(g, all)
		default:
			for i, a := range g.data {
				add(plannedGroup{g.path, g.attrs, g.paths[i : i+1], g.data[i : i+1]}, a.NBytes())
			}
		}
	}
	return shards, total
}

// SaveShards writes an index, NAME.weights.json, and the weights beside it in files
// NAME_00000.weights.h5 and so on, which Keras loads by the index. Files are replaced
// when all are written. A program that is killed meanwhile leaves an index whose shards are all
// old or all new.
func SaveShards(name string, c serialize.Contents, o ShardOptions) error {
	base, ok := strings.CutSuffix(filepath.Base(name), IndexExtension)
	if !ok {
		return fmt.Errorf("the name of an index ends in %s: %w", IndexExtension, serialize.ErrFormat)
	}
	if o.Size <= 0 {
		o.Size = DefaultShardSize
	}
	s, err := newSaver(c)
	if err != nil {
		return err
	}
	plan := &shardPlan{}
	s.target = plan
	if err := s.weights(); err != nil {
		return err
	}
	shards, total := plan.split(o.Size)
	if o.Check == nil {
		o.Check = func(file string) error { return checkOrphan(name, file) }
	}
	for i := range shards {
		if err := o.Check(shardName(base, i)); err != nil {
			return err
		}
	}
	old := oldShards(name, base, len(shards))
	in := map[string][]string{}
	var set atomicfile.Set
	defer set.Discard()
	for i, shard := range shards {
		path := filepath.Join(filepath.Dir(name), shardName(base, i))
		if err := set.Write(path, func(f *atomicfile.File) error { return writeShard(f.Name(), shard) }); err != nil {
			return err
		}
		for _, g := range shard {
			if files := in[g.path]; !slices.Contains(files, shardName(base, i)) {
				in[g.path] = append(files, shardName(base, i))
			}
		}
	}
	err = set.Commit(name, func(w io.Writer, named func(string) string) error { return encodeIndex(w, in, named, total) })
	for _, file := range old {
		if err == nil && o.Old != nil {
			err = o.Old(file)
		}
	}
	return err
}

// oldShards returns the shards of the index of a name, if there is one, that are called as those after
// the last of n.
func oldShards(name, base string, shards int) (files []string) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var x index
	if json.Unmarshal(text, &x) != nil {
		return nil
	}
	list, _ := x.shards()
	for _, file := range list {
		var i int
		end, ok := strings.CutPrefix(file, base)
		if n, _ := fmt.Sscanf(end, "_%d.weights.h5", &i); ok && n == 1 && i >= shards && file == shardName(base, i) {
			files = append(files, file)
		}
	}
	return files
}

func shardName(base string, i int) string { return fmt.Sprintf("%s_%05d.weights.h5", base, i) }

// checkOrphan fails if there is a shard without its index.
func checkOrphan(index, file string) error {
	_, missing := os.Stat(index)
	_, err := os.Stat(filepath.Join(filepath.Dir(index), file))
	if err == nil && errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("%s exists; move it or choose another name: %w", file, storage.ErrState)
	}
	return nil
}

func writeShard(name string, groups []plannedGroup) error {
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	made := map[string]bool{}
	for _, g := range groups {
		if !made[g.path] {
			made[g.path] = true
			if err := w.Group(g.path, g.attrs...); err != nil {
				return err
			}
		}
		for i, path := range g.paths {
			if err := w.Write(path, g.data[i]); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return w.Close()
}

// encodeIndex writes an index, in which files have the names that named returns.
func encodeIndex(w io.Writer, in map[string][]string, named func(string) string, total int) error {
	files := map[string]any{}
	for group, list := range in {
		var names []string
		for _, file := range list {
			names = append(names, named(file))
		}
		if files[group] = names; len(names) == 1 {
			files[group] = names[0]
		}
	}
	text, err := json.MarshalIndent(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": files}, "", "    ")
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
