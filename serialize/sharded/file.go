package sharded

import (
	"errors"
	"strconv"

	"github.com/h5dnn/h5dnn/serialize"
)

// A file is a checkpoint whose shards are open.
type file struct {
	*serialize.List
	shards []serialize.File
	size   int // bytes of all arrays by the index, or -1 if it does not say
}

// add adds the arrays of a shard. Arrays that the index of the checkpoint does not name are added, too,
// such as other names of the elements of one that it names. Elements are shared within a shard.
func (f *file) add(shard serialize.File) error {
	f.shards = append(f.shards, shard)
	for e, err := range shard.All() {
		if e.Shared != "" {
			e.Shared = strconv.Itoa(len(f.shards)) + ":" + e.Shared
		}
		if err := f.Add(e, err); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) closeShards() error {
	var errs []error
	for _, shard := range f.shards {
		errs = append(errs, shard.Close())
	}
	return errors.Join(errs...)
}
