package torch

import (
	"errors"
	"fmt"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

// readLegacy reads the format of PyTorch 0.1.10 to 1.5, which is five pickles and the
// storages:
//
//	0x1950a86a20f9469cfc6c
//	1001                     the version of the format
//	{'little_endian': True, ...}
//	the object
//	[key, ...]               of the storages, in order
//	int64, bytes             of each storage: its number of elements, and these
func (f *file) readLegacy() error {
	var values [5]any
	at := int64(0)
	for i := range values {
		value, end, err := f.pickle(at, f.in.Size-at)
		if err != nil {
			return fmt.Errorf("pickle %d of 5: %w", i+1, err)
		}
		values[i], at = value, end
	}
	if version, ok := values[1].(int64); !ok || version != 1001 {
		return fmt.Errorf("version %s of the format before PyTorch 1.6; this reader knows version 1001", pickle.Describe(values[1]))
	}
	// values[2] says whether the machine was little-endian. PyTorch wrote little-endian elements on
	// others, too, and does not look at it.
	keys, ok := values[4].(*pickle.List)
	if !ok {
		return errors.New("no list of storages")
	}
	f.root = values[3]
	sizes := map[string]storageRef{} // as the object refers to them
	err := visit(f.root, 10*f.visits(), func(value any) error {
		p, ok := value.(*pickle.Persistent)
		if !ok {
			return nil
		}
		s, err := storageOf(p)
		if err == nil {
			sizes[s.key] = s
		} else if id, _ := p.ID.(pickle.Tuple); argument(id, 0) != "storage" {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return f.placeLegacy(at, keys.Items, sizes)
}

// placeLegacy finds the storages, the first of which is at the given offset.
func (f *file) placeLegacy(at int64, keys []any, sizes map[string]storageRef) error {
	places, failed := map[string]ziparchive.Record{}, map[string]error{}
	for i, k := range keys {
		key, ok := k.(string)
		s, used := sizes[key]
		if !ok || !used {
			return fmt.Errorf("storage %s of %d is not used by any tensor, so its size is unknown", pickle.Describe(k), len(keys))
		}
		if _, twice := places[key]; twice {
			return fmt.Errorf("duplicate storage %s", key)
		}
		var head [8]byte
		_, err := f.in.ReadAt(head[:], at)
		if numel := int64(f.order.Uint64(head[:])); err == nil && numel != int64(s.numel) {
			return fmt.Errorf("storage %s has %d elements, but its tensors say %d: %w", key, numel, s.numel, storage.ErrState)
		}
		if at += 8; err != nil || int64(s.bytes()) > f.in.Size-at {
			for _, lost := range keys[i:] {
				if key, ok := lost.(string); ok {
					failed[key] = fmt.Errorf("the file is truncated before the end of storage %s: %w", key, storage.ErrState)
				}
			}
			break
		}
		places[key] = ziparchive.Record{Data: at, Size: int64(s.bytes()), Whole: int64(s.bytes())}
		at += int64(s.bytes())
	}
	f.count = len(places)
	f.place = func(key string) (ziparchive.Record, error) {
		if err, ok := failed[key]; ok {
			return ziparchive.Record{}, err
		}
		p, ok := places[key]
		if !ok {
			return ziparchive.Record{}, fmt.Errorf("storage %s is not in the file: %w", key, storage.ErrState)
		}
		return p, nil
	}
	return nil
}
