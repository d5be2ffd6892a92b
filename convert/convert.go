// Package convert writes the arrays of a file in another format, and reports what the
// other format cannot hold.
//
// From HDF5 to HDF5 it copies objects as they are stored: layouts, filters, attributes,
// types, links, references and virtual mappings. Objects with a meaning that HDF5 does not
// know, such as sparse matrices of AnnData, are written as what they mean if they are named.
package convert

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A Plan is a conversion: a step for every object of the file.
type Plan struct {
	Format string
	Lost   loss.List // of all steps

	meta    map[string]string // of the output
	options Options
	file    inspect.File
	source  *inspect.HDF5 // file, if objects are copied as they are stored
	path    string
	changes map[key]change // of steps that do not just copy
	rows    int            // of a table that becomes another, if hasRows is set
	hasRows bool
}

// A key identifies a step: an array without a name has the path of the root.
type key struct{ path, kind string }

// Options configure a conversion. The zero value is suitable for most files.
type Options struct {
	// Materialize writes the elements of virtual datasets and of datasets with external
	// data, instead of the names of the other files.
	Materialize bool

	// Decode writes what the objects of an HDF5 file mean by the convention of its format,
	// such as dense arrays instead of sparse matrices. Without it a whole file is copied to
	// HDF5 as it is stored. Other formats, and objects that are named, are always decoded.
	Decode bool

	// Verify makes Write compare every element of the output with the input.
	Verify bool

	// Out is the file that will be written, for notes on the names of other files that
	// are relative to the folder of the input.
	Out string
}

// New plans the conversion of the objects at and below path to a format, which is
// named as in package serialize. Nothing is written yet.
func New(ctx context.Context, file inspect.File, path, format string, o Options) (*Plan, error) {
	if _, err := serialize.ByName(format); err != nil {
		return nil, err
	}
	p := &Plan{Format: format, options: o, path: inspect.Clean(path), changes: map[key]change{}}
	if h5, ok := file.(inspect.HDF5); ok && format == "hdf5" && (p.path == "/" && !o.Decode || !h5.Meant(path)) {
		h5 = h5.Plain()
		file, p.source = h5, &h5
	}
	p.file = file
	objects, err := file.Entries(path)
	if err != nil {
		return nil, err
	}
	if file.Format() == "hdf5" {
		for o := range objects {
			if o.Err != nil {
				return nil, o.Err // a conversion is complete or an error
			}
		}
	}
	if p.source != nil {
		return p, p.repack(ctx, o.Out, hdf5write.RepackOptions{DryRun: true})
	}
	if err := p.decide(ctx); err != nil {
		return nil, err
	}
	if err := p.check(ctx, file.Name()); err != nil {
		return nil, err
	}
	return p, nil
}

// check returns an error if the format cannot hold the arrays of the file together, or none
// of them.
func (p *Plan) check(ctx context.Context, file string) error {
	format, arrays, first, hasData := p.targetFormat(), 0, "", false
	for s := range p.Steps() {
		hasData = hasData || s.Data != nil || s.Err != nil
		if s.writesData() {
			arrays, first = arrays+1, cmp.Or(first, s.Path)
		}
	}
	switch {
	case arrays == 0 && !hasData:
		return fmt.Errorf("%s has no arrays", file)
	case arrays == 0:
		reason := ""
		if i := slices.IndexFunc(p.Lost, func(i loss.Item) bool { return i.Kind == loss.Array }); i >= 0 {
			reason = fmt.Sprintf("; %s: %s", p.Lost[i].Path, p.Lost[i].Reason)
		}
		return fmt.Errorf("%s has no arrays that %s can hold%s", file, p.Format, reason)
	case arrays > 1 && format.Single:
		return fmt.Errorf("%s has %d arrays, and %s files hold one; name it, as in %s:%s, or write .npz", file, arrays, p.Format, file, first)
	case format.Table:
		_, err := format.Columns(p.contents(ctx))
		return err
	}
	return nil
}

// targetFormat returns the format that is written.
func (p *Plan) targetFormat() serialize.Format {
	f, err := serialize.ByName(p.Format)
	if err != nil {
		panic(err) // New has checked it
	}
	return f
}

// Steps yields the steps in the order of the file. Each pass makes them anew, because a file may
// have hundreds of thousands of objects, and each step in the memory of the one before it: one that
// is kept is copied.
func (p *Plan) Steps() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		objects, err := p.file.Entries(p.path)
		if err != nil {
			return // New has returned it
		}
		var s Step
		for o := range objects {
			s = p.step(o)
			if !yield(&s) {
				return
			}
		}
	}
}

// step returns the step of an object.
func (p *Plan) step(o inspect.Object) Step {
	c, ok := p.changes[key{o.Path, o.Kind}]
	if !ok {
		c.To = target(o, p.path)
	}
	return Step{Object: o, change: c}
}

// keep keeps what a step changes for later passes.
func (p *Plan) keep(s *Step) {
	if s.LeftOut || s.renamed || s.asFloat32 || len(s.Lost)+len(s.Notes) > 0 || s.To != target(s.Object, p.path) {
		p.changes[key{s.Path, s.Kind}] = s.change
	}
}

// find finds the data of a step.
func (p *Plan) find(s *Step) error {
	data, err := p.file.Find(s.Path)
	s.found(data, err)
	return err
}

// found sets the data of a step.
func (s *Step) found(data inspect.Selection, err error) {
	if s.data = data; err == nil && s.asFloat32 {
		s.data.Array = ForNumPy(data.Array)
	}
}

// Arrays yields the steps that write data, as Steps does.
func (p *Plan) Arrays() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for s := range p.Steps() {
			if s.writesData() && !yield(s) {
				return
			}
		}
	}
}
