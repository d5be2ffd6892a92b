package torch

import (
	"context"
	"hash/crc32"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
)

// Verify implements serialize.Verifier: it compares the checksums of an archive, and its directory
// with the headers of the records. Files of the format before PyTorch 1.6 have none, and are read.
func (f *file) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		find := f.place
		if f.isArchive {
			a, err := f.readArchive()
			if err == nil {
				err = f.verifyArchive(ctx, a)
			}
			if !yield("", err) || a == nil {
				return
			}
			find = a.place
		}
		seen := map[string]error{} // by storage
		verify := func(key string) error {
			err, known := seen[key]
			if known {
				return err
			}
			p, err := find(key)
			if err == nil {
				err = f.verify(ctx, p, "data/"+key)
			}
			seen[key] = err
			return err
		}
		for e, err := range f.All() {
			if key := keyOfStorage(e); err == nil && key != "" {
				err = verify(key)
			}
			if !yield(e.Name, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// verifyArchive checks the structure of the archive, and the checksums of records that are the storage
// of no array.
func (f *file) verifyArchive(ctx context.Context, a *archive) error {
	if err := ziparchive.Check(f.in, f.in.Size); err != nil {
		return err
	}
	used := map[string]bool{}
	for e := range f.All() {
		used[keyOfStorage(e)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(a.records)) {
		if key, isStorage := strings.CutPrefix(name, "data/"); isStorage && used[key] {
			continue
		}
		x := *a.records[name]
		if err := x.Locate(f.in, f.in.Size); err != nil {
			return err
		}
		if err := f.verify(ctx, x, name); err != nil {
			return err
		}
	}
	return nil
}

// keyOfStorage returns the key of the storage of an array, or "" if it has none.
func keyOfStorage(e serialize.Entry) string {
	if n, ok := e.Array.Data.(*negatedSource); ok {
		return n.key
	}
	return e.Shared
}

// verify reads the bytes of a record.
func (f *file) verify(ctx context.Context, p ziparchive.Record, key string) error {
	section, err := f.section(key, p)
	if err != nil {
		return err
	}
	sum, err := serialize.Checksum(ctx, section, crc32.IEEETable)
	if err != nil || p.CRC == 0 {
		return err
	}
	return compare(key, sum, p.CRC)
}
