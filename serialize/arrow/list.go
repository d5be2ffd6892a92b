package arrow

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// startLists is start for the elements of lists, with the lengths of these.
func (c *columnReader) startLists() func(*column.Values) error {
	left, last := c.parts, &lookup{}
	var r *listReader
	return func(d *column.Values) error {
		for r == nil || r.left == 0 {
			if len(left) == 0 {
				return io.EOF
			}
			var err error
			if r, err = c.openLists(left[0], last); err != nil {
				return err
			}
			left = left[1:]
		}
		return r.read(d)
	}
}

// A listReader reads the lists of a part.
type listReader struct {
	*columnReader
	*lists
	left    int // lists
	ends    *bufio.Reader
	end     int64 // of the list before, in elements
	total   int64 // elements
	masks   []*maskReader
	next    func(*column.Values) error // of elements
	page    *column.Values
	at      int // in page
	missing int // of page, before at
}

func (c *columnReader) openLists(p part, last *lookup) (*listReader, error) {
	r := &listReader{columnReader: c, lists: p.lists, left: p.lists.rows, page: &column.Values{}}
	if r.left == 0 {
		return r, nil
	}
	b, err := c.open(part{rows: r.rows, buffers: []extent{r.offsets}, codec: p.codec}, 0, (r.rows+1)*r.width)
	if err != nil {
		return nil, err
	}
	r.ends = bufio.NewReader(b)
	if r.masks, err = c.openMasks(p, p.lists.masks); err != nil {
		return nil, err
	}
	r.total = int64(p.rows / max(1, r.inner))
	p.lists = nil
	r.next = c.startParts([]part{p}, last)
	first, err := r.offset()
	if err != nil {
		return nil, err
	}
	return r, r.take(&column.Values{}, int(first))
}

// offset reads the end of the next list.
func (r *listReader) offset() (int64, error) {
	var b [8]byte
	if _, err := io.ReadFull(r.ends, b[:r.width]); err != nil {
		return 0, ended(err)
	}
	before := r.end
	if r.end = int64(binary.LittleEndian.Uint64(b[:])); r.end < before || r.end > r.total {
		return 0, fmt.Errorf("a list from element %d to %d of %d: %w", before, r.end, r.total, storage.ErrState)
	}
	return r.end, nil
}

// read appends the elements of the next lists, and their lengths.
func (r *listReader) read(d *column.Values) error {
	for lists := 0; r.left > 0 && lists < rowsAtOnce && r.kind.Len(d) < rowsAtOnce; lists++ {
		valid, err := allValid(r.masks)
		if err != nil {
			return err
		}
		before := r.end
		end, err := r.offset()
		if err != nil {
			return err
		}
		to, length := d, int(end-before)
		d.Lists = append(d.Lists, length)
		if !valid { // of which elements are no part
			d.Lists[len(d.Lists)-1], to = column.MissingList, &column.Values{}
		}
		if err := r.take(to, length); err != nil {
			return err
		}
		r.left--
	}
	return nil
}

// take appends the next elements.
func (r *listReader) take(d *column.Values, n int) error {
	for n *= r.inner; n > 0; {
		rest := r.kind.Len(r.page) - r.at
		if rest == 0 {
			r.page.Numbers, r.page.Texts, r.page.Missing, r.at, r.missing = r.page.Numbers[:0], nil, r.page.Missing[:0], 0, 0
			if err := r.next(r.page); err != nil {
				return ended(err)
			}
			continue
		}
		rest = min(rest, n)
		for m := r.page.Missing; r.missing < len(m) && m[r.missing] < r.at+rest; r.missing++ {
			d.Missing = append(d.Missing, r.kind.Len(d)+m[r.missing]-r.at)
		}
		r.kind.AppendRange(d, r.page, r.at, r.at+rest)
		r.at, n = r.at+rest, n-rest
	}
	return nil
}
