package arrow

import (
	"bufio"
	"fmt"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
)

// maxElements is how many elements a column may declare, so that byte counts do not overflow.
const maxElements = math.MaxInt / 16

// refuseNested marks the fields at and below x that are not read because of the lists around them.
// A row of x has the given number of elements of the fixed-size lists around it that are not empty.
func (x *field) refuseNested(inList, inFixed bool, elements int) {
	if x.unsupported != "" {
		return
	}
	if x.group == typeFixedList {
		if max(1, x.size) > maxElements/elements {
			x.unsupported = fmt.Sprintf("fixed_size_list of %d times %d elements", elements, x.size)
			return
		}
		elements *= max(1, x.size)
	}
	switch {
	case x.group == typeList && inList:
		x.unsupported = "list of lists"
	case x.group == typeList && inFixed:
		x.unsupported = "fixed_size_list of lists"
	}
	for i := range x.children {
		x.children[i].refuseNested(inList || x.group == typeList, inFixed || x.group == typeFixedList, elements)
	}
}

// readers returns the readers of the columns at and below a field, in the order of the schema.
// Above has what is around the field.
func (f *file) readers(x field, above columnReader) (list []*columnReader) {
	c := above
	c.field = x
	if c.path == "" {
		c.path = x.name
	} else if above.group == typeStruct {
		c.path += "." + x.name
	}
	if x.group == 0 || x.unsupported != "" {
		return []*columnReader{&c}
	}
	switch x.group {
	case typeFixedList:
		c.sizes = append(slices.Clone(c.sizes), x.size)
	case typeList:
		c.list = true
	}
	for _, child := range x.children {
		list = append(list, f.readers(child, c)...)
	}
	return list
}

// A mask is bits of what is not null of a field around others.
type mask struct {
	extent
	rows int // bits
	per  int // rows of the inner field for each
}

// lists are where lists of several sizes begin and end, in elements.
type lists struct {
	rows, inner int // lists, and values of an element
	width       int // bytes of an offset
	offsets     extent
	masks       []mask
}

// A batchReader finds the parts of columns in a record batch: its nodes and buffers are those of
// fields in the order of the schema, parents first.
type batchReader struct {
	message
	batch                     table
	codec                     int64
	nodesAt, nodes, node      int
	buffersAt, buffers, next  int
	viewsAt, variadic, nextOf int
	parts                     []part
}

// parts returns the parts of the columns of fields in a record batch.
func (f *file) parts(m message, batch table, fields []field) (rows int, parts []part, err error) {
	if batch.buffer == nil {
		return 0, nil, fmt.Errorf("there is no record batch: %w", errMetadata)
	}
	length := batch.int(0, 8)
	r := &batchReader{message: m, batch: batch, codec: uncompressed}
	r.nodesAt, r.nodes = batch.vector(1, 16)
	r.buffersAt, r.buffers = batch.vector(2, 16)
	r.viewsAt, r.variadic = batch.vector(4, 8)
	if compression := batch.sub(3); compression.buffer != nil {
		r.codec = compression.int(0, 1)
		if method := compression.int(1, 1); method != 0 {
			return 0, nil, fmt.Errorf("compression method %d, which is not read: %w", method, dtype.ErrType)
		}
	}
	if length < 0 || length > maxElements {
		return 0, nil, fmt.Errorf("a batch of %d rows: %w", length, errMetadata)
	}
	for _, x := range fields {
		if err := r.field(x, part{rows: int(length), codec: r.codec}); err != nil {
			return 0, nil, fmt.Errorf("%q: %w", x.name, err)
		}
	}
	if batch.err == nil && (r.node != r.nodes || r.next != r.buffers) {
		return 0, nil, fmt.Errorf("a batch has %d nodes and %d buffers instead of %d and %d: %w", r.nodes, r.buffers, r.node, r.next, errMetadata)
	}
	return int(length), r.parts, batch.err
}

// A node is what a field takes of a record batch, beside those below it.
type node struct {
	rows    uint64
	nulls   int64
	buffers int // the first, and their number
	n       int
}

// take takes the node of a field.
func (r *batchReader) take(x field) (node, error) {
	n := node{buffers: r.next, n: x.buffers}
	if x.views {
		if r.nextOf >= r.variadic {
			return n, fmt.Errorf("its buffers are not counted: %w", errMetadata)
		}
		more := r.batch.uint(r.viewsAt+8*r.nextOf, 8)
		if more > uint64(r.buffers) {
			return n, fmt.Errorf("%d buffers: %w", more, errMetadata)
		}
		r.nextOf, n.n = r.nextOf+1, n.n+int(more)
	}
	if r.node >= r.nodes || r.next+n.n > r.buffers {
		return n, fmt.Errorf("a batch has %d nodes and %d buffers: %w", r.nodes, r.buffers, errMetadata)
	}
	n.rows, n.nulls = r.batch.uint(r.nodesAt+16*r.node, 8), int64(r.batch.uint(r.nodesAt+16*r.node+8, 8))
	r.node, r.next = r.node+1, r.next+n.n
	return n, nil
}

// skip takes what a field that is not read has in the batch, with those below it.
func (r *batchReader) skip(x field) error {
	_, err := r.take(x)
	for i := 0; i < len(x.children) && err == nil; i++ {
		err = r.skip(x.children[i])
	}
	return err
}

// field adds the parts of the columns at and below a field. P has what is around it, and the number
// of its rows if that is not negative.
func (r *batchReader) field(x field, p part) error {
	if x.unsupported != "" {
		r.parts = append(r.parts, part{})
		return r.skip(x)
	}
	n, err := r.take(x)
	if err != nil {
		return err
	}
	if p.rows < 0 && n.rows <= maxElements {
		p.rows = int(n.rows)
	}
	if n.rows != uint64(p.rows) || n.nulls < 0 || n.nulls > int64(p.rows) {
		return fmt.Errorf("%d rows and %d nulls in a batch of %d: %w", n.rows, n.nulls, p.rows, errMetadata)
	}
	if p.buffers, err = r.extents(n.buffers, n.n); err != nil {
		return err
	}
	p.nulls = n.nulls
	if x.group == 0 {
		r.parts = append(r.parts, p)
		return nil
	}
	p.masks = slices.Clone(p.masks)
	if p.nulls > 0 {
		p.masks = append(p.masks, mask{p.buffers[0], p.rows, 1})
	}
	switch x.group {
	case typeFixedList:
		if x.size > 0 && p.rows > maxElements/x.size {
			return fmt.Errorf("%d lists of %d: %w", p.rows, x.size, errMetadata)
		}
		p.rows *= x.size
		for i := range p.masks {
			p.masks[i].per *= x.size
		}
		if p.lists != nil {
			inner := *p.lists
			inner.inner *= x.size
			p.lists = &inner
		}
	case typeList:
		p.lists = &lists{rows: p.rows, inner: 1, width: x.offsets, offsets: p.buffers[1], masks: p.masks}
		p.rows, p.masks = -1, nil
	}
	for _, child := range x.children {
		if err := r.field(child, p); err != nil {
			return err
		}
	}
	return nil
}

// extents returns where buffers are in the file.
func (r *batchReader) extents(first, n int) (list []extent, err error) {
	total := int64(0)
	for k := first; k < first+n; k++ {
		at, size := int64(r.batch.uint(r.buffersAt+16*k, 8)), int64(r.batch.uint(r.buffersAt+16*k+8, 8))
		if at < 0 || size < 0 || at > r.size || size > r.size-at {
			return nil, fmt.Errorf("a buffer of %d bytes at %d in a body of %d: %w", size, at, r.size, errMetadata)
		}
		if total += size; total > r.size {
			return nil, fmt.Errorf("its buffers overlap in a body of %d bytes: %w", r.size, errMetadata)
		}
		list = append(list, extent{r.body + at, size})
	}
	return list, nil
}

// A maskReader reads a mask row by row of the inner field.
type maskReader struct {
	bits  *bufio.Reader
	per   int
	valid bool
	left  int  // rows for which valid holds
	byte  byte // its lowest bits are read
	read  int
}

func (c *columnReader) openMask(p part, m mask) (*maskReader, error) {
	b, err := c.open(part{rows: m.rows, buffers: []extent{m.extent}, codec: p.codec}, 0, (m.rows+7)/8)
	if err != nil {
		return nil, err
	}
	return &maskReader{bits: bufio.NewReader(b), per: m.per, read: 8}, nil
}

// next reports whether the next row is not null.
func (m *maskReader) next() (bool, error) {
	for m.left == 0 {
		if m.read == 8 {
			b, err := m.bits.ReadByte()
			if err != nil {
				return false, ended(err)
			}
			m.byte, m.read = b, 0
		}
		m.valid, m.left = m.byte>>m.read&1 != 0, m.per
		m.read++
	}
	m.left--
	return m.valid, nil
}

// openMasks opens masks.
func (c *columnReader) openMasks(p part, masks []mask) (list []*maskReader, err error) {
	for _, m := range masks {
		r, err := c.openMask(p, m)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// allValid reports whether the next row is null in no mask.
func allValid(masks []*maskReader) (bool, error) {
	all := true
	for _, m := range masks {
		valid, err := m.next()
		if err != nil {
			return false, err
		}
		all = all && valid
	}
	return all, nil
}

// maskRows clears the bits of the next n rows that are null in a field around them.
func (r *partReader) maskRows(n int) error {
	if r.bits == nil {
		r.valid = slices.Grow(r.valid[:0], (n+7)/8)[:(n+7)/8]
		for i := range r.valid {
			r.valid[i] = 0xff
		}
	}
	for i := range n {
		valid, err := allValid(r.masks)
		if err != nil {
			return err
		}
		if !valid {
			r.valid[i/8] &^= 1 << (i % 8)
		}
	}
	return nil
}
