package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A Dataset is an array of elements in a file.
type Dataset struct {
	*Object
	Shape    []int           // nil: the dataset has a type but no elements
	MaxShape []int           // the largest shape; Unlimited for axes without a limit
	Type     *Type           // of the elements
	DType    dtype.Type      // of the elements as numbers; Invalid if they are not numbers
	Layout   string          // "contiguous", "compact", "chunked" or "virtual"
	Chunks   []int           // the shape of a chunk
	Filters  []filter.Filter // of chunks
	Fill     []byte          // the value of elements that were never written; nil: zero
	External []External      // other files with the elements of a contiguous dataset

	layout layout
	index  func() (*index, error)

	mappings    []virtualMapping  // of a virtual dataset
	resolved    []resolvedMapping // those whose sources exist
	rowGroup    func() int        // rows that are best read together
	unsupported error             // of the first mapping that cannot be read
	depth       int               // of nested virtual datasets
	opened      *int              // number of sources opened, shared by nested datasets
}

func (d *Dataset) parse() error {
	if err := d.parseType(); err != nil {
		return err
	}
	if err := d.parseLayout(); err != nil {
		return err
	}
	fill, err := d.file.fill(d.header, d.Type.Size)
	if err != nil {
		return err
	}
	d.Fill = fill
	if d.layout.class == layoutVirtual && d.Shape != nil {
		if err := d.parseVirtual(); err != nil {
			return err
		}
	}
	if d.layout.class != layoutContiguous { // which most datasets are
		d.index = sync.OnceValues(d.indexAgain)
		d.rowGroup = sync.OnceValue(d.planRowGroup)
	}
	return nil
}

// parseVirtual opens the sources, if that is allowed. The current size of unlimited axes
// depends on them.
func (d *Dataset) parseVirtual() error {
	if err := d.readMappings(); err != nil || d.checkSourcesAllowed() != nil {
		return err
	}
	if err := d.resolveMappings(); err != nil {
		return err
	}
	return format.CheckShape(1, d.Shape...)
}

func (d *Dataset) parseType() error {
	m, _ := d.header.find(msgDatatype)
	var err error
	if d.Type, err = d.file.datatype(m); err != nil {
		return err
	}
	if d.DType, _, err = d.Type.DType(); err != nil {
		d.DType = dtype.Invalid
	}
	m, _ = d.header.find(msgDataspace)
	body, err := d.file.body(m)
	if err != nil {
		return err
	}
	space, err := parseDataspace(d.file.newCursor("dataspace", body))
	if err != nil || space.null {
		return err
	}
	d.Shape, d.MaxShape = space.shape, space.maxShape
	return format.CheckShape(1, d.Shape...) // more bytes than can be counted are an error of reading them
}

func (d *Dataset) parseLayout() error {
	m, ok := d.header.find(msgLayout)
	if !ok {
		return errors.New("has no layout")
	}
	var err error
	if d.layout, err = parseLayout(d.file.newCursor("layout", m.body), d.Type.Size); err != nil {
		return err
	}
	d.Layout, d.Chunks = layoutNames[d.layout.class], d.layout.chunk
	if d.layout.class == layoutChunked && len(d.Chunks) != len(d.Shape) {
		return fmt.Errorf("chunks %v of a dataset of shape %v", d.Chunks, d.Shape)
	}
	if m, ok := d.header.find(msgPipeline); ok {
		body, err := d.file.body(m)
		if err != nil {
			return err
		}
		if d.Filters, err = parsePipeline(d.file.newCursor("filters", body)); err != nil {
			return err
		}
	}
	if m, ok := d.header.find(msgExternal); ok {
		d.External, err = d.file.external(m)
	}
	return err
}

// Len returns the number of elements, or an error if their bytes cannot be counted.
func (d *Dataset) Len() (int, error) {
	if d.Shape == nil {
		return 0, nil
	}
	n, err := format.Product(append([]int{d.Type.Size}, d.Shape...)...)
	if d.Type.Size > 0 {
		n /= d.Type.Size
	}
	return n, err
}

// Offset returns the offset in the file of the elements of a contiguous dataset. ok is
// false for other layouts, and if nothing was written.
func (d *Dataset) Offset() (at int, ok bool) {
	if d.layout.class != layoutContiguous || d.layout.address == undefined || len(d.External) > 0 {
		return 0, false
	}
	return int(d.layout.address) + d.file.super.at, true
}

// Allocated reports whether the file has space for elements. Elements without space
// were never written and hold the fill value.
func (d *Dataset) Allocated() bool {
	return d.layout.class == layoutCompact || d.layout.address != undefined
}

// unwritten reports whether no element is stored.
func (d *Dataset) unwritten() bool {
	if d.layout.class == layoutVirtual || len(d.External) > 0 || d.layout.class == layoutCompact {
		return false
	}
	n, err := d.StoredSize()
	return err == nil && n == 0
}

// Backing returns the number of stored bytes that the elements come from: StoredSize, and
// those of the sources of a virtual dataset. External files count as large as they are
// declared.
func (d *Dataset) Backing() (int, error) {
	if len(d.External) > 0 && d.Shape != nil {
		return format.Product(append([]int{d.Type.Size}, d.Shape...)...)
	}
	total, err := d.StoredSize()
	for _, m := range d.resolved {
		n, unknown := m.source.Backing()
		total, err = total+n, cmp.Or(err, unknown)
	}
	return total, err
}

// StoredSize returns the number of bytes that the elements take in the file.
func (d *Dataset) StoredSize() (int, error) {
	switch {
	case d.Shape == nil:
		return 0, nil
	case d.layout.class == layoutCompact:
		return len(d.layout.data), nil
	case d.layout.class == layoutContiguous && d.layout.address == undefined || d.layout.class == layoutVirtual:
		return 0, nil
	case d.layout.class == layoutContiguous:
		return format.Product(append([]int{d.Type.Size}, d.Shape...)...)
	}
	index, err := d.index()
	if err != nil {
		return 0, d.file.fail(d.Path, err)
	}
	total := 0
	for _, e := range index.entries {
		total += e.size
	}
	return total, nil
}
