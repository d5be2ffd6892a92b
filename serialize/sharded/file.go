package sharded

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/h5dnn/h5dnn/internal/nameindex"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// A file is a checkpoint whose shards are open. Its arrays are those of the lists of the shards, one
// after the other.
type file struct {
	shards []serialize.File
	lists  []list
	ends   []int // of the arrays of each shard
	index  nameindex.Index
	meta   map[string]string
	size   int // bytes of all arrays by the index, or -1 if it does not say
	close  func() error
}

// A list has the entries of a shard by number, as a [serialize.List].
type list interface {
	Len() int
	At(i int) (serialize.Entry, error)
	Name(i int) string
}

// listOf returns the entries of a shard by number.
func listOf(shard serialize.File) (list, error) {
	if list, ok := shard.(list); ok {
		return list, nil
	}
	list := serialize.NewList(0, nil, shard.Close)
	for e, err := range shard.All() {
		if err := list.AddKept(e, err); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// add adds a shard, which is closed with the file. Arrays that the index of the checkpoint does not name are added, too,
// such as other names of the elements of one that it names.
func (f *file) add(shard serialize.File) error {
	f.shards = append(f.shards, shard)
	list, err := listOf(shard)
	if err != nil {
		return err
	}
	first := f.Len()
	f.lists, f.ends = append(f.lists, list), append(f.ends, first+list.Len())
	for i := range list.Len() {
		name := list.Name(i)
		if _, again := f.Index(name); again {
			return fmt.Errorf("duplicate name %q: %w", name, storage.ErrState)
		}
		f.index.Add(name, int32(first+i), f.name)
	}
	return nil
}

// place returns the shard of array i, and its number there.
func (f *file) place(i int) (shard, number int) {
	shard, _ = slices.BinarySearch(f.ends, i+1)
	if shard > 0 {
		i -= f.ends[shard-1]
	}
	return shard, i
}

// name returns the name of array i.
func (f *file) name(i int) string {
	shard, number := f.place(i)
	return f.lists[shard].Name(number)
}

// Len returns the number of arrays.
func (f *file) Len() int {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// At returns array i, in the order of All, and the error that comes with it. Elements are shared within a shard.
func (f *file) At(i int) (serialize.Entry, error) {
	shard, number := f.place(i)
	e, err := f.lists[shard].At(number)
	if e.Shared != "" {
		e.Shared = strconv.Itoa(shard+1) + ":" + e.Shared
	}
	return e, err
}

// All implements [serialize.File].
func (f *file) All() iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) {
		for i := range f.Len() {
			if !yield(f.At(i)) {
				return
			}
		}
	}
}

// Index returns the place of the named array in the order of All.
func (f *file) Index(name string) (i int, ok bool) {
	k, ok := f.index.Find(name, f.name)
	return int(k), ok
}

// Lookup returns the named array. A name that is not there is an error of kind fs.ErrNotExist.
func (f *file) Lookup(name string) (serialize.Entry, error) {
	if i, ok := f.Index(name); ok {
		e, err := f.At(i)
		return e, e.Wrap(err)
	}
	names := make([]string, f.Len())
	for i := range names {
		names[i] = f.name(i)
	}
	return serialize.Entry{}, serialize.Missing(name, names)
}

// Meta returns a copy of the metadata of the shards and of the index.
func (f *file) Meta() map[string]string { return maps.Clone(f.meta) }

// Close implements [serialize.File].
func (f *file) Close() error { return f.close() }

func (f *file) closeShards() error {
	var errs []error
	for _, shard := range f.shards {
		errs = append(errs, shard.Close())
	}
	return errors.Join(errs...)
}
