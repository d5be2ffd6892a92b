package sharded

import (
	"context"
	"fmt"
	"iter"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// Verify implements serialize.Verifier: it compares the checksums of the shards whose formats
// have some, reads the others, and compares the size in the index with that of the arrays.
func (f *file) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, shard := range f.shards {
			for name, err := range serialize.Verify(ctx, shard) {
				if !yield(name, err) {
					return
				}
			}
		}
		if err := f.checkSize(); err != nil {
			yield("", err)
		}
	}
}

// checkSize compares total_size with the arrays, which programs count with or without other
// names of the same elements.
func (f *file) checkSize() error {
	all, once, distinct := 0, 0, counter{}
	for e, err := range f.All() {
		if err != nil || e.Elements != nil {
			return nil // of unknown size
		}
		all += e.Array.NBytes()
		once += distinct.bytes(e)
	}
	if f.size >= 0 && f.size != all && f.size != once {
		return fmt.Errorf("the index has a total_size of %d bytes, but the arrays take %d: %w", f.size, all, storage.ErrState)
	}
	return nil
}

// Omitted implements serialize.Omitter: it returns what the shards have beside arrays and metadata.
func (f *file) Omitted() loss.List {
	var all loss.List
	for _, shard := range f.shards {
		if o, ok := shard.(serialize.Omitter); ok {
			all = append(all, o.Omitted()...)
		}
	}
	return all
}
