package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A plan is a conversion: a step for every object of the file.
type plan struct {
	format string
	steps  []step
}

// A step writes one object under another name, or leaves it out for a reason.
type step struct {
	entry
	to     string
	data   selection // of datasets
	layout hdf5write.Layout
	reason string   // for leaving it out
	notes  []string // what is changed or lost
}

// makePlan reads the objects at the address and decides what to do with each.
func makePlan(file container, at address, format string) (*plan, error) {
	entries, err := file.Entries(at.path)
	if err != nil {
		return nil, err
	}
	p := &plan{format: format}
	base := clean(at.path)
	for e := range entries {
		s := step{entry: e, to: target(e, base)}
		if e.Err != nil {
			return nil, e.Err // a conversion is complete or an error
		}
		p.decide(file, &s)
		p.steps = append(p.steps, s)
	}
	n := len(p.arrays())
	switch {
	case n == 0:
		return nil, fmt.Errorf("%s has no arrays that %s can hold", at.file, format)
	case n > 1 && p.target().Single:
		return nil, fmt.Errorf("%s has %d arrays, and %s files hold one; name it, as in %s:%s, or write .npz", at.file, n, format, at.file, p.arrays()[0].Path)
	}
	return p, nil
}

// target returns the path of an entry when base becomes the root.
func target(e entry, base string) string {
	switch {
	case base == "/":
		return e.Path
	case e.Path == base && e.Kind == "group":
		return "/"
	case e.Path == base:
		return "/" + filepath.Base(base)
	default:
		return strings.TrimPrefix(e.Path, base)
	}
}

// target returns the format that is written.
func (p *plan) target() serialize.Format {
	f, err := serialize.ByName(p.format)
	if err != nil {
		panic(err) // the command has checked it
	}
	return f
}

// arrays returns the steps that write data.
func (p *plan) arrays() []*step {
	var list []*step
	for k := range p.steps {
		if s := &p.steps[k]; s.Data != nil && s.reason == "" {
			list = append(list, s)
		}
	}
	return list
}

// decide sets what happens to an object.
func (p *plan) decide(file container, s *step) {
	toHDF5 := p.format == "hdf5"
	switch {
	case s.Data != nil:
		p.decideData(file, s)
	case s.Kind == "group" || s.Kind == "soft" && toHDF5:
	case s.Kind == "external":
		s.reason = "a link into another file"
	case s.Kind == "datatype":
		s.reason = "a committed datatype; datasets keep their own types"
	default:
		s.reason = p.format + " has no " + s.Kind + " links"
	}
	if s.reason != "" {
		return
	}
	if !p.target().Attrs && len(s.Attrs) > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%d attributes left out: %s has no attributes", len(s.Attrs), p.format))
	}
	for _, a := range s.Attrs {
		if !toHDF5 {
			break
		}
		if _, err := a.Keep(); err != nil {
			s.notes = append(s.notes, fmt.Sprintf("attribute %s left out: %v", a.Name, err))
		}
	}
}

func (p *plan) decideData(file container, s *step) {
	data, err := file.Find(s.Path)
	if err == nil {
		err = data.checkSize()
	}
	s.data = data
	switch {
	case s.Data.Shape == nil:
		s.reason = "no value (null dataspace)"
	case err != nil:
		s.reason = err.Error()
	case data.Numbers:
	case !data.Texts:
		s.reason = "elements of type " + s.Data.DType + " are not numbers or strings"
	case p.format != "hdf5":
		s.reason = p.format + " holds numbers, not strings"
	}
	if s.reason != "" {
		return
	}
	s.notes = s.Data.Loses
	if p.format == "hdf5" {
		layout, notes := keptLayout(s.Data)
		s.layout, s.notes = layout, append(s.notes, notes...)
	} else if !p.target().Holds(data.Array.Type) {
		s.data.Array = forNumPy(data.Array)
		s.notes = append(s.notes, "converted to float32: "+p.format+" has no "+data.Array.Type.String())
	}
}

// keptLayout returns the layout of a dataset, with filters that can be written.
func keptLayout(d *dataset) (layout hdf5write.Layout, notes []string) {
	if d.Chunks == nil || d.Element != nil || !d.Numbers {
		return hdf5write.Layout{}, nil
	}
	layout.Chunks, layout.MaxShape = d.Chunks, d.MaxShape
	for _, f := range d.Filters {
		kept, ok := keptFilter(f)
		if !ok {
			kept = filter.Deflate(deflateLevel)
			notes = append(notes, fmt.Sprintf("compressed with deflate instead of %s", f.Name))
		}
		layout.Filters = append(layout.Filters, kept)
	}
	return layout, notes
}

// deflateLevel is the level of deflate in place of filters that cannot be written.
const deflateLevel = 4

// keptFilter returns the filter to write for a filter of the input.
func keptFilter(f filterInfo) (filter.Filter, bool) {
	switch f.ID {
	case filter.ShuffleID:
		return filter.Shuffle(), true
	case filter.Fletcher32ID:
		return filter.Fletcher32(), true
	case filter.LZ4ID:
		return filter.LZ4(), true
	case filter.DeflateID:
		return filter.Deflate(level(f, 9, deflateLevel)), true
	case filter.ZstdID:
		return filter.Zstd(level(f, 22, 3)), true
	}
	return filter.Filter{}, false
}

// level returns a filter's first parameter if it is from 1 to most.
func level(f filterInfo, most uint32, otherwise int) int {
	if len(f.Params) > 0 && f.Params[0] >= 1 && f.Params[0] <= most {
		return int(f.Params[0])
	}
	return otherwise
}

// write writes the output file, atomically.
func (p *plan) write(ctx context.Context, out string) error {
	if p.format == "hdf5" {
		return p.writeHDF5(ctx, out)
	}
	return serialize.Save(out, p.format, serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
		for _, s := range p.arrays() {
			if !yield(strings.TrimPrefix(s.to, "/"), blocks.WithContext(ctx, s.data.Array)) {
				return
			}
		}
	})})
}

func (p *plan) writeHDF5(ctx context.Context, out string) error {
	w, err := hdf5write.Create(out, hdf5write.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	for _, s := range p.steps {
		if err := s.write(ctx, w); err != nil {
			return err
		}
	}
	return w.Close()
}

func (s *step) write(ctx context.Context, w *hdf5write.Writer) error {
	if s.reason != "" {
		return nil
	}
	var err error
	switch {
	case s.Kind == "soft":
		return w.SoftLink(s.to, s.Target)
	case s.Data != nil:
		err = putHDF5(ctx, w, s.to, s.data, s.layout)
	case s.to != "/":
		err = w.Group(s.to)
	}
	if err != nil {
		return err
	}
	for _, a := range s.Attrs {
		if value, err := a.Keep(); err == nil { // else the plan has a note
			if err := w.SetAttr(s.to, a.Name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify reads the output and compares every element.
func (p *plan) verify(ctx context.Context, out string) error {
	file, err := open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, s := range p.arrays() {
		path := s.to
		if p.target().Single {
			path = ""
		}
		written, err := file.Find(path)
		if err == nil {
			err = sameData(ctx, s.data, written)
		}
		if err != nil {
			return fmt.Errorf("verify %s: %s: %w", out, s.to, err)
		}
	}
	return nil
}

var errDiffers = errors.New("differs from the input")

// sameData compares the elements of two selections bit by bit.
func sameData(ctx context.Context, a, b selection) error {
	if a.Numbers != b.Numbers || !slices.Equal(a.view().Shape, b.view().Shape) || a.Numbers && a.Array.Type != b.Array.Type {
		return errDiffers
	}
	if !a.Numbers {
		x, err1 := a.strings()
		y, err2 := b.strings()
		if err := errors.Join(err1, err2); err != nil || !slices.Equal(x, y) {
			return errors.Join(err, errDiffers)
		}
		return nil
	}
	next, stop := iter.Pull2(blocks.Elements(ctx, b.Array, blocks.Size))
	defer stop()
	var rest []byte // of b, to compare
	for x, err := range blocks.Elements(ctx, a.Array, blocks.Size) {
		for err == nil && len(x) > 0 {
			if len(rest) == 0 {
				if rest, err, _ = next(); err != nil {
					break
				}
			}
			n := min(len(x), len(rest))
			if n == 0 || !bytes.Equal(x[:n], rest[:n]) {
				return errDiffers
			}
			x, rest = x[n:], rest[n:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}
