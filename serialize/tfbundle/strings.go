package tfbundle

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// texts are the strings of a tensor: their lengths as varints, a checksum of these of 4 bytes, and
// their bytes. What is in memory is where every indexed string is, and the strings that are asked
// for.
//
// The masked checksum of the lengths, as integers of 4 bytes, or of 8 where these do not suffice, is
// in the data; the one of the tensor is of the lengths, their checksum and all strings
// (tensorflow/core/util/tensor_bundle/tensor_bundle.cc, WriteStringTensor).
type texts struct {
	data  storage.Source
	whole views.View
	order binary.ByteOrder
	sum   uint32 // the masked checksum of the tensor
	index func() (*index, error)
}

// An index has the place of every indexed string, and the end of all.
type index struct {
	places []place
	sum    uint32 // of the lengths
}

// A place is where the length of a string is, and its bytes.
type place struct{ length, text int }

// indexed is how far apart strings of the index are.
const indexed = 256

func newTexts(data storage.Source, whole views.View, order binary.ByteOrder, sum uint32) *texts {
	t := &texts{data: data, whole: whole, order: order, sum: sum}
	t.index = sync.OnceValues(t.makeIndex)
	return t
}

// makeIndex reads the lengths, part by part, and compares their checksum.
func (t *texts) makeIndex() (*index, error) {
	const part = 1 << 16
	var list []place
	sum := uint32(0)
	var b []byte // the lengths from at.length on, as far as they are read
	at := place{}
	for i := range t.whole.Len() {
		if i%indexed == 0 {
			list = append(list, at)
		}
		if len(b) < binary.MaxVarintLen64 {
			var err error
			if b, err = t.bytes(at.length, min(at.length+part, t.data.Len())); err != nil {
				return nil, err
			}
		}
		size, k := binary.Uvarint(b)
		if k <= 0 || size > uint64(t.data.Len()) {
			return nil, fmt.Errorf("the length of string %d is damaged: %w", i, storage.ErrState)
		}
		at.length, at.text, b = at.length+k, at.text+int(size), b[k:]
		sum = crc32.Update(sum, castagnoli, t.fixed(size))
		if at.text > t.data.Len() {
			break
		}
	}
	if at.length+checksum+at.text != t.data.Len() {
		return nil, fmt.Errorf("strings of %d bytes in %d: %w", at.text, t.data.Len()-at.length, storage.ErrState)
	}
	stored, err := t.bytes(at.length, at.length+checksum)
	if err != nil {
		return nil, err
	}
	if verifyChecksums {
		if err := serialize.CompareChecksums("the lengths of strings", masked(sum), t.order.Uint32(stored)); err != nil {
			return nil, err
		}
	}
	list = append(list, at)
	for i := range list {
		list[i].text += at.length + checksum
	}
	return &index{list, crc32.Update(sum, castagnoli, stored)}, nil
}

// checksum is the number of bytes of one.
const checksum = 4

// fixed returns a length as the checksums have it.
func (t *texts) fixed(size uint64) []byte {
	b := make([]byte, 8)
	if size > math.MaxUint32 {
		t.order.PutUint64(b, size)
		return b
	}
	t.order.PutUint32(b, uint32(size))
	return b[:4]
}

// verify reads all strings and compares the checksum of the tensor.
func (t *texts) verify(ctx context.Context, name string) error {
	index, err := t.index()
	if err != nil {
		return err
	}
	const part = 1 << 20
	sum := index.sum
	for at := index.places[0].text; at < t.data.Len(); at += part {
		b, err := t.bytes(at, min(at+part, t.data.Len()))
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, b)
	}
	return serialize.CompareChecksums(name, masked(sum), t.sum)
}

// bytes returns the bytes from one position to another.
func (t *texts) bytes(from, to int) ([]byte, error) {
	b := make([]byte, to-from)
	return b, t.data.ReadView(b, dtype.Uint8, views.View{Shape: []int{len(b)}, Stride: []int{1}, Offset: from})
}

// values returns the strings that v selects.
func (t *texts) values(v views.View) (values []any, err error) {
	if !v.Within(t.whole.Len()) {
		return nil, fmt.Errorf("%v reaches outside %v: %w", v.Shape, t.whole.Shape, views.ErrShape)
	}
	index, err := t.index()
	if err != nil {
		return nil, err
	}
	last, ends := -1, []int(nil) // of the strings after an indexed one
	for at := range v.Positions() {
		if at/indexed != last {
			last = at / indexed
			if ends, err = t.ends(index.places[last], index.places[last+1]); err != nil {
				return nil, err
			}
		}
		b, err := t.bytes(ends[at%indexed], ends[at%indexed+1])
		if err != nil {
			return nil, err
		}
		values = append(values, string(b))
	}
	return values, nil
}

// ends returns where the bytes of strings begin and end.
func (t *texts) ends(from, to place) ([]int, error) {
	b, err := t.bytes(from.length, to.length)
	if err != nil {
		return nil, err
	}
	list := []int{from.text}
	for len(b) > 0 {
		size, k := binary.Uvarint(b)
		list, b = append(list, list[len(list)-1]+int(size)), b[max(k, 1):]
	}
	return list, nil
}
