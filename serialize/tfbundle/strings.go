package tfbundle

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// texts are the strings of a tensor: their lengths as varints, a checksum of these of 4 bytes, and
// their bytes. What is in memory is where every indexed string is, and the strings that are asked
// for.
type texts struct {
	data  storage.Source
	whole views.View
	index func() ([]place, error)
}

// A place is where the length of a string is, and its bytes.
type place struct{ length, text int }

// indexed is how far apart strings of the index are.
const indexed = 256

func newTexts(data storage.Source, whole views.View) *texts {
	t := &texts{data: data, whole: whole}
	t.index = sync.OnceValues(t.makeIndex)
	return t
}

// makeIndex returns the place of every indexed string, and the end of all. It reads the lengths,
// part by part.
func (t *texts) makeIndex() ([]place, error) {
	const part = 1 << 16
	var list []place
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
		if at.text > t.data.Len() {
			break
		}
	}
	const checksum = 4
	if at.length+checksum+at.text != t.data.Len() {
		return nil, fmt.Errorf("strings of %d bytes in %d: %w", at.text, t.data.Len()-at.length, storage.ErrState)
	}
	list = append(list, at)
	for i := range list {
		list[i].text += at.length + checksum
	}
	return list, nil
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
			if ends, err = t.ends(index[last], index[last+1]); err != nil {
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
