package torch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
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
	found, twice := map[string]place{}, map[string]bool{} // by name without the root
	for at := int64(0); ; {
		x, ok := f.recordAt(at)
		if !ok {
			break
		}
		_, name, _ := strings.Cut(x.name, "/")
		if _, again := found[name]; again {
			twice[name] = true
		}
		if next := x.data + x.size; x.sized {
			found[name] = x.place()
			at = next
			continue
		}
		size, crc, next := f.endOf(x.record)
		found[name] = place{at: x.data, size: size, crc: crc}
		at = next
	}
	pickled, ok := found["data.pkl"]
	if !ok {
		return fmt.Errorf("no record data.pkl is left, which has the names of all tensors: %w", storage.ErrState)
	}
	if order, ok := found["byteorder"]; ok {
		b := make([]byte, min(order.size, 3))
		if _, err := f.in.ReadAt(b, order.at); err == nil && string(b) == "big" {
			f.order = binary.BigEndian
		}
	}
	f.find = func(key string) (place, error) {
		p, ok := found["data/"+key]
		if twice["data/"+key] {
			return p, fmt.Errorf("two records are named data/%s, so one of the names is damaged: %w", key, storage.ErrState)
		}
		if !ok {
			return place{}, fmt.Errorf("the file ends before storage %s: %w", key, storage.ErrState)
		}
		return p, nil
	}
	var err error
	if f.root, err = f.pickleOf(pickled); err != nil {
		return fmt.Errorf("data.pkl, which has the names of all tensors, is damaged: %w", err)
	}
	return nil
}

// A salvaged record was found by its local header, which may have its size.
type salvaged struct {
	record
	sized bool
}

// recordAt reads the local header at an offset.
func (f *file) recordAt(at int64) (x salvaged, ok bool) {
	var local [localSize]byte
	if _, err := f.in.ReadAt(local[:], at); err != nil || string(local[:4]) != localSignature {
		return x, false
	}
	rest := make([]byte, int(le.Uint16(local[26:]))+int(le.Uint16(local[28:])))
	if _, err := f.in.ReadAt(rest, at+localSize); err != nil {
		return x, false
	}
	name, extra := rest[:le.Uint16(local[26:])], rest[le.Uint16(local[26:]):]
	x.record = record{name: string(name), header: at, data: at + localSize + int64(len(rest)), method: le.Uint16(local[8:]), crc: le.Uint32(local[14:])}
	packed, whole := int64(le.Uint32(local[18:])), int64(le.Uint32(local[22:]))
	sizes64(extra, &whole, &packed)
	x.size, x.whole = packed, whole
	x.sized = le.Uint16(local[6:])&followedBySize == 0 && packed >= 0 && packed <= f.in.Size-x.data
	return x, x.method == 0 || x.method == deflated && x.sized
}

// endOf returns the size and the checksum of a record, 0 if it is unknown, and where the next
// header begins. The end is the first descriptor whose size is that of the bytes before it.
func (f *file) endOf(x record) (size int64, crc uint32, next int64) {
	const window = 1 << 20
	buffer := make([]byte, min(window+24, f.in.Size-x.data))
	for from := x.data; from < f.in.Size; from += window {
		n, err := f.in.ReadAt(buffer, from)
		if err != nil && err != io.EOF {
			break
		}
		block := buffer[:n]
		for i := 0; i < min(n, window); i++ {
			k := bytes.Index(block[i:], []byte("PK"))
			if k < 0 {
				break
			}
			i += k
			if at := from + int64(i); i < window {
				if end, ok := endsAt(block[i:], at-x.data); ok {
					if end > 0 {
						crc = le.Uint32(block[i+4:])
					}
					return at - x.data, crc, at + end
				}
			}
		}
	}
	return f.in.Size - x.data, 0, f.in.Size
}

// endsAt reports whether a record of size bytes ends before b: with a descriptor of that
// size, or with the next record if it is empty. The next header is length bytes later.
func endsAt(b []byte, size int64) (length int64, ok bool) {
	if size == 0 && (bytes.HasPrefix(b, []byte(localSignature)) || bytes.HasPrefix(b, []byte(directorySignature))) {
		return 0, true
	}
	if !bytes.HasPrefix(b, []byte(descriptor)) {
		return 0, false
	}
	if len(b) >= 24 && int64(le.Uint64(b[8:])) == size && int64(le.Uint64(b[16:])) == size {
		return 24, true
	}
	return 16, len(b) >= 16 && int64(le.Uint32(b[8:])) == size && int64(le.Uint32(b[12:])) == size
}
