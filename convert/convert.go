// Package convert writes the arrays of a file in another format, and reports what the
// other format cannot hold.
//
// From HDF5 to HDF5 it keeps layouts, filters, attributes and soft links.
package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A Plan is a conversion: a step for every object of the file.
type Plan struct {
	Format string
	Steps  []Step
}

// A Step writes one object under another name, or leaves it out for a reason.
type Step struct {
	inspect.Object
	To     string            // the path it is written to
	data   inspect.Selection // of datasets
	layout hdf5write.Layout
	Reason string   // for leaving it out
	Notes  []string // what is changed or lost
}

// New plans the conversion of the objects at and below path to a format, which is
// named as in package serialize. Nothing is written yet.
func New(file inspect.File, path, format string) (*Plan, error) {
	if _, err := serialize.ByName(format); err != nil {
		return nil, err
	}
	entries, err := file.Entries(path)
	if err != nil {
		return nil, err
	}
	p := &Plan{Format: format}
	base := inspect.Clean(path)
	for e := range entries {
		s := Step{Object: e, To: target(e, base)}
		if e.Err != nil {
			return nil, e.Err // a conversion is complete or an error
		}
		p.decide(file, &s)
		p.Steps = append(p.Steps, s)
	}
	n := len(p.Arrays())
	switch {
	case n == 0:
		return nil, fmt.Errorf("%s has no arrays that %s can hold", file.Name(), format)
	case n > 1 && p.targetFormat().Single:
		return nil, fmt.Errorf("%s has %d arrays, and %s files hold one; name it, as in %s:%s, or write .npz", file.Name(), n, format, file.Name(), p.Arrays()[0].Path)
	}
	return p, nil
}

// target returns the path of an entry when base becomes the root.
func target(e inspect.Object, base string) string {
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

// targetFormat returns the format that is written.
func (p *Plan) targetFormat() serialize.Format {
	f, err := serialize.ByName(p.Format)
	if err != nil {
		panic(err) // New has checked it
	}
	return f
}

// Arrays returns the steps that write data.
func (p *Plan) Arrays() []*Step {
	var list []*Step
	for k := range p.Steps {
		if s := &p.Steps[k]; s.Data != nil && s.Reason == "" {
			list = append(list, s)
		}
	}
	return list
}

// decide sets what happens to an object.
func (p *Plan) decide(file inspect.File, s *Step) {
	toHDF5 := p.Format == "hdf5"
	switch {
	case s.Data != nil:
		p.decideData(file, s)
	case s.Kind == "group" || s.Kind == "soft" && toHDF5:
	case s.Kind == "external":
		s.Reason = "a link into another file"
	case s.Kind == "datatype":
		s.Reason = "a committed datatype; datasets keep their own types"
	default:
		s.Reason = p.Format + " has no " + s.Kind + " links"
	}
	if s.Reason != "" {
		return
	}
	if !p.targetFormat().Attrs && len(s.Attrs) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d attributes left out: %s has no attributes", len(s.Attrs), p.Format))
	}
	for _, a := range s.Attrs {
		if !toHDF5 {
			break
		}
		if _, err := a.Keep(); err != nil {
			s.Notes = append(s.Notes, fmt.Sprintf("attribute %s left out: %v", a.Name, err))
		}
	}
}

func (p *Plan) decideData(file inspect.File, s *Step) {
	data, err := file.Find(s.Path)
	if err == nil {
		err = data.CheckSize()
	}
	s.data = data
	switch {
	case s.Data.Shape == nil:
		s.Reason = "no value (null dataspace)"
	case err != nil:
		s.Reason = err.Error()
	case data.Numbers:
	case !data.Texts:
		s.Reason = "elements of type " + s.Data.DType + " are not numbers or strings"
	case p.Format != "hdf5":
		s.Reason = p.Format + " holds numbers, not strings"
	}
	if s.Reason != "" {
		return
	}
	s.Notes = s.Data.Loses
	if p.Format == "hdf5" {
		layout, notes := keptLayout(s.Data)
		s.layout, s.Notes = layout, append(s.Notes, notes...)
	} else if !p.targetFormat().Holds(data.Array.Type) {
		s.data.Array = ForNumPy(data.Array)
		s.Notes = append(s.Notes, "converted to float32: "+p.Format+" has no "+data.Array.Type.String())
	}
}

// keptLayout returns the layout of a dataset, with filters that can be written.
func keptLayout(d *inspect.Dataset) (layout hdf5write.Layout, notes []string) {
	if d.Chunks == nil || d.Element != nil || !d.Numbers {
		return hdf5write.Layout{}, nil
	}
	layout.Chunks, layout.MaxShape = d.Chunks, d.MaxShape
	for _, f := range d.Filters {
		kept, ok := keptFilter(f)
		if !ok {
			kept = filter.Deflate(DeflateLevel)
			notes = append(notes, fmt.Sprintf("compressed with deflate instead of %s", f.Name))
		}
		layout.Filters = append(layout.Filters, kept)
	}
	return layout, notes
}

// DeflateLevel is the level of deflate in place of filters that cannot be written.
const DeflateLevel = 4

// keptFilter returns the filter to write for a filter of the input.
func keptFilter(f inspect.Filter) (filter.Filter, bool) {
	switch f.ID {
	case filter.ShuffleID:
		return filter.Shuffle(), true
	case filter.Fletcher32ID:
		return filter.Fletcher32(), true
	case filter.LZ4ID:
		return filter.LZ4(), true
	case filter.DeflateID:
		return filter.Deflate(level(f, 9, DeflateLevel)), true
	case filter.ZstdID:
		return filter.Zstd(level(f, 22, 3)), true
	}
	return filter.Filter{}, false
}

// level returns a filter's first parameter if it is from 1 to most.
func level(f inspect.Filter, most uint32, otherwise int) int {
	if len(f.Params) > 0 && f.Params[0] >= 1 && f.Params[0] <= most {
		return int(f.Params[0])
	}
	return otherwise
}

// Write writes the output file, atomically.
func (p *Plan) Write(ctx context.Context, out string) error {
	if p.Format == "hdf5" {
		return p.writeHDF5(ctx, out)
	}
	return serialize.Save(out, p.Format, serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
		for _, s := range p.Arrays() {
			if !yield(strings.TrimPrefix(s.To, "/"), blocks.WithContext(ctx, s.data.Array)) {
				return
			}
		}
	})})
}

func (p *Plan) writeHDF5(ctx context.Context, out string) error {
	w, err := hdf5write.Create(out, hdf5write.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Abort() // unless it was closed
	for _, s := range p.Steps {
		if err := s.write(ctx, w); err != nil {
			return err
		}
	}
	return w.Close()
}

func (s *Step) write(ctx context.Context, w *hdf5write.Writer) error {
	if s.Reason != "" {
		return nil
	}
	var err error
	switch {
	case s.Kind == "soft":
		return w.SoftLink(s.To, s.Target)
	case s.Data != nil:
		err = WriteDataset(ctx, w, s.To, s.data, s.layout)
	case s.To != "/":
		err = w.Group(s.To)
	}
	if err != nil {
		return err
	}
	for _, a := range s.Attrs {
		if value, err := a.Keep(); err == nil { // else the plan has a note
			if err := w.SetAttr(s.To, a.Name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Verify reads the output and compares every element.
func (p *Plan) Verify(ctx context.Context, out string) error {
	file, err := inspect.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, s := range p.Arrays() {
		path := s.To
		if p.targetFormat().Single {
			path = ""
		}
		written, err := file.Find(path)
		if err == nil {
			err = sameData(ctx, s.data, written)
		}
		if err != nil {
			return fmt.Errorf("verify %s: %s: %w", out, s.To, err)
		}
	}
	return nil
}

var errDiffers = errors.New("differs from the input")

// sameData compares the elements of two selections bit by bit.
func sameData(ctx context.Context, a, b inspect.Selection) error {
	if a.Numbers != b.Numbers || !slices.Equal(a.Selected().Shape, b.Selected().Shape) || a.Numbers && a.Array.Type != b.Array.Type {
		return errDiffers
	}
	if !a.Numbers {
		x, err1 := a.Strings()
		y, err2 := b.Strings()
		if err := errors.Join(err1, err2); err != nil || !slices.Equal(x, y) {
			return errors.Join(err, errDiffers)
		}
		return nil
	}
	equal, err := blocks.Equal(ctx, a.Array, b.Array)
	if err == nil && !equal {
		err = errDiffers
	}
	return err
}

// WriteDataset writes data as a dataset. Numbers are streamed.
func WriteDataset(ctx context.Context, w *hdf5write.Writer, path string, data inspect.Selection, layout hdf5write.Layout) error {
	if data.Numbers {
		return w.WriteWith(path, blocks.WithContext(ctx, data.Array), layout)
	}
	cells, err := data.Strings()
	if err != nil {
		return err
	}
	return w.WriteStrings(path, cells, data.View.Shape...)
}
