package torch

import (
	"context"
	"hash/crc32"
	"iter"

	"github.com/h5dnn/h5dnn/serialize"
)

// Verify implements serialize.Verifier: it compares the checksums of an archive. Files of
// the format before PyTorch 1.6 have none, and are read.
func (f *file) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if f.pickleAt != nil && !yield("", f.verify(ctx, f.pickleAt(), "data.pkl")) {
			return
		}
		seen := map[string]error{} // by storage
		for e, err := range f.All() {
			key := e.Shared
			if n, ok := e.Array.Data.(*negatedSource); ok {
				key = n.key
			}
			if err == nil && key != "" {
				known := false
				if err, known = seen[key]; !known {
					var p place
					if p, err = f.find(key); err == nil {
						err = f.verify(ctx, p, "data/"+key)
					}
					seen[key] = err
				}
			}
			if !yield(e.Name, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// verify reads the bytes of a record.
func (f *file) verify(ctx context.Context, p place, key string) error {
	section, err := f.section(key, p)
	if err != nil {
		return err
	}
	sum, err := serialize.Checksum(ctx, section, crc32.IEEETable)
	if err != nil || p.crc == 0 {
		return err
	}
	return compare(key, sum, p.crc)
}
