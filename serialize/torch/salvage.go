package torch

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

// salvage opens a file that [serialize.Open] refuses because its end is missing or its
// directory is damaged. Records are found by what precedes each of them. Tensors that are
// incomplete come with an error. In a file of the format before PyTorch 1.6, whose
// storages are last, Open itself yields those that are complete.
func salvage(in serialize.Input) (serialize.File, error) {
	head := make([]byte, min(in.Size, 32))
	if _, err := in.ReadAt(head, 0); err != nil {
		return nil, err
	}
	read := (*file).salvageZip
	if isLegacy(head) {
		read = (*file).readLegacy
	}
	return load(in, read)
}

// salvageZip is readZip without the directory: it goes from record to record. PyTorch writes
// their sizes behind them, in descriptors, so the ends of records are where the next one
// begins. Archives of other programs have the sizes in front.
func (f *file) salvageZip() error {
	found, twice := map[string]ziparchive.Record{}, map[string]bool{} // by name without the root
	for at := int64(0); ; {
		x, sized, ok := ziparchive.RecordAt(f.in, f.in.Size, at)
		if !ok || x.Method != 0 && (x.Method != ziparchive.Deflated || !sized) {
			break
		}
		_, name, _ := strings.Cut(x.Name, "/")
		if _, again := found[name]; again {
			twice[name] = true
		}
		if at = x.Data + x.Size; !sized {
			at, _ = x.FindEnd(f.in, f.in.Size)
		}
		found[name] = x
	}
	pickled, ok := found["data.pkl"]
	if !ok {
		return fmt.Errorf("no record data.pkl is left, which has the names of all tensors: %w", storage.ErrState)
	}
	if order, ok := found["byteorder"]; ok {
		b := make([]byte, min(order.Size, 3))
		if _, err := f.in.ReadAt(b, order.Data); err == nil && string(b) == "big" {
			f.order = binary.BigEndian
		}
	}
	f.place = func(key string) (ziparchive.Record, error) {
		p, ok := found["data/"+key]
		if twice["data/"+key] {
			return p, fmt.Errorf("two records are named data/%s, so one of the names is damaged: %w", key, storage.ErrState)
		}
		if !ok {
			return ziparchive.Record{}, fmt.Errorf("the file ends before storage %s: %w", key, storage.ErrState)
		}
		return p, nil
	}
	var err error
	if f.root, err = f.pickleOf(pickled); err != nil {
		return fmt.Errorf("data.pkl, which has the names of all tensors, is damaged: %w", err)
	}
	return nil
}
