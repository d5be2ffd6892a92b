package hdf5

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// A virtualMapping is an element of the list of a virtual dataset's sources, the datasets that hold
// its elements. The layout points to the list in the global heap:
//
//	| 0 or 1 (1) | mappings (L) | mapping … | checksum (4) |
//
//	a mapping: | (1) flags (1) | file, 0 | dataset, 0 | selection of the source | selection of the virtual dataset |
//
// Flags 0 and 1: the name of the file, or the dataset, is replaced by the number (L) of an
// earlier mapping with the same name. Flag 2: the source is in the same file. The k-th
// element of one selection is the k-th of the other. File "." is the file of the virtual
// dataset. If the virtual selection is unlimited and that of the source is not, %b in the
// names is the number of a block: 0, 1, 2, …, up to the last source that exists. Elements
// without a source have the fill value.
type virtualMapping struct {
	VirtualSource
	from, to    selection
	unsupported error // of selections that can be copied, but not read
}

// A VirtualSource is a mapping of a virtual dataset: the elements that From selects in
// a dataset are those that To selects in the virtual one.
type VirtualSource struct {
	File, Dataset string
	From, To      Selection
}

// VirtualSources returns the sources of a virtual dataset, one for each mapping.
func (d *Dataset) VirtualSources() []VirtualSource {
	all := make([]VirtualSource, 0, len(d.mappings))
	for _, m := range d.mappings {
		all = append(all, m.VirtualSource)
	}
	return all
}

// readMappings reads the list of mappings, which a dataset without mappings does not have.
func (d *Dataset) readMappings() error {
	if d.layout.address == undefined {
		return nil
	}
	body, err := d.file.heapObject(d.layout.address, d.layout.virtual)
	if err != nil {
		return fmt.Errorf("virtual layout: %w", err)
	}
	c := d.file.newCursor("virtual layout", body)
	version := c.u8()
	if version > 1 {
		c.fail("version %d is not known; the file is newer than this program", version)
	}
	for range c.size() {
		m := d.parseNames(c, version)
		m.From, m.To = parseSelection(c), parseSelection(c)
		if c.err != nil {
			return c.err
		}
		var errs [2]error
		m.from, errs[0] = m.From.hyperslab()
		m.to, errs[1] = m.To.hyperslab()
		m.unsupported = errors.Join(errs[:]...)
		if m.unsupported == nil && !m.to.all && len(m.to.axes) != len(d.Shape) {
			c.fail("selection of %d axes in a dataset of %d", len(m.to.axes), len(d.Shape))
		}
		if c.err != nil {
			return c.err
		}
		d.unsupported = cmp.Or(d.unsupported, m.unsupported)
		d.mappings = append(d.mappings, m)
	}
	return c.err
}

// parseNames reads the names of the source of a mapping.
func (d *Dataset) parseNames(c *cursor, version int) (m virtualMapping) {
	flags := 0
	if version > 0 {
		flags = c.u8()
	}
	before := func() (m virtualMapping) {
		if k := c.size(); k < len(d.mappings) {
			return d.mappings[k]
		}
		c.fail("mapping %d refers to a later one", len(d.mappings))
		return m
	}
	switch {
	case flags&4 != 0:
		m.File = "."
	case flags&1 != 0:
		m.File = before().File
	default:
		m.File = c.text()
	}
	if flags&2 != 0 {
		m.Dataset = before().Dataset
	} else {
		m.Dataset = c.text()
	}
	return m
}

// checkSources returns an error if the sources cannot be read.
func (d *Dataset) checkSources() error {
	if err := d.checkSourcesAllowed(); err != nil {
		return err
	}
	if d.unsupported != nil {
		return fmt.Errorf("virtual layout: %w", d.unsupported)
	}
	for _, m := range d.resolved {
		if err := m.source.checkReadable(); err != nil {
			return fmt.Errorf("source %s of %s: %w", m.source.Path, m.source.file.name, err)
		}
	}
	return nil
}

// checkSourcesAllowed returns an error if the sources may not be opened.
func (d *Dataset) checkSourcesAllowed() error {
	for _, m := range d.mappings {
		if m.File != "." {
			if _, err := d.file.resolveName(m.File); err != nil {
				return fmt.Errorf("is virtual: %w", err)
			}
		}
	}
	return nil
}

// Virtual datasets may be sources of others, up to a depth, and to a total number of
// sources.
const (
	maxVirtual = 8
	maxSources = 1 << 16
)

// errNoSource is the error for sources that do not exist. Their elements have the fill value.
var errNoSource = errors.New("no such source")

// openSource returns the source of a mapping.
func (d *Dataset) openSource(file, dataset string) (*Dataset, error) {
	f, err := d.file.linkedFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoSource
	}
	if err != nil {
		return nil, err
	}
	o, err := f.Lookup(dataset)
	if missing := (*noMemberError)(nil); errors.As(err, &missing) {
		return nil, errNoSource
	}
	if err != nil {
		return nil, err
	}
	if *d.opened++; d.depth >= maxVirtual || *d.opened > maxSources {
		return nil, fmt.Errorf("virtual datasets are nested more than %d deep, or have more than %d sources", maxVirtual, maxSources)
	}
	return o.dataset(d.depth+1, d.opened)
}

// formatBlockName replaces %b by the number of a block, and %% by %.
func formatBlockName(name string, block int) string {
	return strings.NewReplacer("%%", "%", "%b", strconv.Itoa(block)).Replace(name)
}

// A resolvedMapping is a mapping with its source, the coordinates of both selections, and
// how their axes match.
type resolvedMapping struct {
	source   *Dataset
	from, to []coordinates
	axes     []int // for each axis of to, the one of from, or -1; see matchAxes
	mismatch error // of selections that can be copied, but not read
}

// resolveMappings opens the sources that exist.
func (d *Dataset) resolveMappings() error {
	for _, m := range d.mappings {
		if m.unsupported != nil {
			continue // reading fails
		}
		axis := m.to.unlimitedAxis()
		if axis >= 0 && m.from.unlimitedAxis() < 0 {
			if err := d.resolveBlocks(m, axis); err != nil {
				return err
			}
			continue
		}
		source, err := d.openSource(formatBlockName(m.File, 0), formatBlockName(m.Dataset, 0))
		if errors.Is(err, errNoSource) {
			continue
		}
		if err != nil {
			return err
		}
		if err := d.addSource(source, m.from, m.to); err != nil {
			return err
		}
	}
	return nil
}

// resolveBlocks opens the sources of a mapping with numbered names.
func (d *Dataset) resolveBlocks(m virtualMapping, axis int) error {
	if !strings.Contains(m.File+m.Dataset, "%b") {
		return errors.New("virtual layout: an unlimited selection is mapped to a limited one")
	}
	for block := range maxLinkedFiles {
		source, err := d.openSource(formatBlockName(m.File, block), formatBlockName(m.Dataset, block))
		if errors.Is(err, errNoSource) {
			return nil
		}
		if err != nil {
			return err
		}
		to := selection{axes: slices.Clone(m.to.axes)}
		b := &to.axes[axis]
		b.start, b.count = b.start+block*b.stride, 1
		if err := d.addSource(source, m.from, to); err != nil {
			return err
		}
	}
	return fmt.Errorf("virtual layout: more than %d sources", maxLinkedFiles)
}

// addSource adds a source, with both selections clipped to the extents of the datasets.
func (d *Dataset) addSource(source *Dataset, from, to selection) error {
	s := resolvedMapping{source: source}
	if from.all {
		from = selectAll(source.Shape)
	}
	if to.all {
		to = selectAll(d.Shape)
	}
	if len(from.axes) != len(source.Shape) || source.Shape == nil {
		return fmt.Errorf("virtual layout: selection of %d axes in %s of shape %v", len(from.axes), source.Path, source.Shape)
	}
	endless := 0
	for axis, b := range from.axes {
		r := b.clip(source.Shape[axis])
		if r.n > 0 && r.at(r.n-1) >= source.Shape[axis] {
			return fmt.Errorf("virtual layout: selection up to %d of axis %d of %s of shape %v", r.at(r.n-1), axis, source.Path, source.Shape)
		}
		if s.from = append(s.from, r); b.unlimited() {
			endless = r.n
		}
	}
	for axis, b := range to.axes {
		extent := d.Shape[axis]
		if b.unlimited() { // as many as the source has
			extent = b.start + endless
			if b.count == Unlimited {
				extent = b.start + endless/b.block*b.stride + endless%b.block
			}
		}
		r := b.clip(extent)
		if b.unlimited() {
			r.n = endless
		}
		s.to = append(s.to, r)
		if d.MaxShape[axis] == Unlimited && r.n > 0 {
			d.Shape[axis] = max(d.Shape[axis], r.at(r.n-1)+1)
		}
	}
	s.axes, s.mismatch = s.matchAxes()
	d.resolved = append(d.resolved, s)
	return nil
}

// readVirtual reads a box from the sources.
func (s *source) readVirtual(dst []byte, p transfer) error {
	s.writeFill(dst, p)
	for _, m := range s.d.resolved {
		if err := s.readMapping(dst, p, m); err != nil {
			return fmt.Errorf("source %s of %s: %w", m.source.Path, m.source.file.name, err)
		}
	}
	return nil
}

// A run is indices of a box along an axis that are in a source: n from first on, every
// step-th, with the coordinates at, at+by, … of the source.
type run struct{ first, step, at, by, n int }

// readMapping reads the part of a box within one source.
func (s *source) readMapping(dst []byte, p transfer, m resolvedMapping) error {
	if m.mismatch != nil {
		return m.mismatch
	}
	rank := len(m.to)
	for axis, r := range m.to {
		if first, last := within(p.from, axis, r); first > last {
			return nil
		}
	}
	stretches := make([][]run, rank)
	for axis := range stretches {
		if stretches[axis] = m.intersect(p.from, axis); len(stretches[axis]) == 0 {
			return nil
		}
	}
	from, err := s.sourceOf(m.source)
	if err != nil {
		return err
	}
	unit := views.Of(from.shape...).Stride
	base := views.View{Shape: p.from.Count, Stride: make([]int, len(p.from.Count))}
	for axis, r := range m.from {
		if !slices.Contains(m.axes, axis) {
			base.Offset += r.start * unit[axis]
		}
	}
	for inner := range s.dims {
		axis, step := rank+inner, unit[len(m.from)+inner]
		base.Offset += p.from.Start[axis] * step
		base.Stride[axis] = p.from.Step[axis] * step
	}
	all := 1
	for _, some := range stretches {
		all *= len(some)
	}
	for k := range all {
		to, v := m.restrict(p.to, base, combination(stretches, k), unit)
		if err := from.readTo(dst, to, v); err != nil {
			return err
		}
	}
	return nil
}

// restrict returns the parts of a view of the buffer and of one of the source that are in one run of every axis.
// Strides of the source are in units of its axes.
func (m resolvedMapping) restrict(to, from views.View, in []run, unit []int) (views.View, views.View) {
	shape := slices.Clone(to.Shape)
	to.Stride, from.Stride = slices.Clone(to.Stride), slices.Clone(from.Stride)
	for axis, s := range in {
		shape[axis] = s.n
		to.Offset += s.first * to.Stride[axis]
		to.Stride[axis] *= s.step
		if source := m.axes[axis]; source >= 0 {
			from.Offset += s.at * unit[source]
			from.Stride[axis] = s.by * unit[source]
		}
	}
	to.Shape, from.Shape = shape, shape
	return to, from
}

// sourceOf returns a source of dataset d that reads the same numbers as s.
func (s *source) sourceOf(d *Dataset) (*source, error) {
	n, err := d.Type.conversion()
	switch {
	case s.to == dtype.Invalid && d.Type.NumPy() == s.d.Type.NumPy() && d.Type.Size == s.d.Type.Size && d.Type.selfContained():
		n = s.conversion // raw
	case err != nil || n.to != s.to || !slices.Equal(n.dims, s.dims) || s.memberOffset != 0:
		return nil, fmt.Errorf("has elements of type %v, which are not converted to %v", d.Type, s.d.Type)
	}
	return d.newSource(n, 0)
}

// selfContained reports whether elements have the same meaning in another file.
func (t *Type) selfContained() bool {
	switch t.Class {
	case ClassVarLen, ClassReference:
		return false
	case ClassArray:
		return t.Base.selfContained()
	}
	return !slices.ContainsFunc(t.Members, func(m Member) bool { return !m.Type.selfContained() })
}

// matchAxes returns, for each axis of the virtual selection, the corresponding axis of the
// source, or -1 if the selection has one coordinate along it.
func (m resolvedMapping) matchAxes() ([]int, error) {
	axes, next := make([]int, len(m.to)), 0
	for axis, r := range m.to {
		axes[axis] = -1
		if r.n == 1 {
			continue
		}
		for next < len(m.from) && m.from[next].n == 1 {
			next++
		}
		if next == len(m.from) || m.from[next].n != r.n {
			return nil, errors.New("selections of different shapes are not supported")
		}
		axes[axis] = next
		next++
	}
	for ; next < len(m.from); next++ {
		if m.from[next].n != 1 {
			return nil, errors.New("selections of different shapes are not supported")
		}
	}
	return axes, nil
}

// intersect returns the indices of a box that are within the selection of an axis, with their coordinates
// in the source.
func (m resolvedMapping) intersect(b views.Box, axis int) (all []run) {
	r, from := m.to[axis], m.axes[axis]
	first, last := within(b, axis, r)
	for i := first; i <= last; i++ {
		at := b.Start[axis] + i*b.Step[axis] - r.start
		block, in := at/r.stride, at%r.stride
		k := block*r.block + in
		if r.n <= r.block {
			k, in = at, 0
		}
		if in >= r.block || k >= r.n {
			continue
		}
		c := 0
		if from >= 0 {
			c = m.from[from].at(k)
		}
		all = appendRun(all, i, c)
	}
	return all
}

// within returns the first and the last index of a box along an axis between the first and the last of r.
func within(b views.Box, axis int, r coordinates) (first, last int) {
	start, step := b.Start[axis], b.Step[axis]
	if r.n == 0 || r.at(r.n-1) < start {
		return 0, -1
	}
	first = max(0, (r.at(0)-start+step-1)/step)
	return first, min(b.Count[axis]-1, (r.at(r.n-1)-start)/step)
}

// appendRun adds a step to the last run if it continues it, or else begins a new one.
func appendRun(all []run, step, at int) []run {
	if len(all) > 0 {
		s := &all[len(all)-1]
		if s.n == 1 {
			s.step, s.by, s.n = step-s.first, at-s.at, 2
			return all
		}
		if step == s.first+s.n*s.step && at == s.at+s.n*s.by {
			s.n++
			return all
		}
	}
	return append(all, run{first: step, step: 1, at: at, n: 1})
}
