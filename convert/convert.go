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
	"runtime/debug"
	"slices"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A Plan is a conversion: a step for every object of the file.
type Plan struct {
	Format string
	Steps  []*Step   // in the order of the file
	Lost   loss.List // of all steps

	meta    map[string]string // of the output
	options Options
	file    inspect.File
	source  *inspect.HDF5 // file, if objects are copied as they are stored
	path    string
	objects bool // the output has groups and attributes of all objects, as HDF5 files that this package writes
	rows    int  // of a table that becomes another, if hasRows is set
	hasRows bool
}

// Options configure a conversion. The zero value is suitable for most files.
type Options struct {
	// Materialize writes the elements of virtual datasets and of datasets with external
	// data, instead of the names of the other files.
	Materialize bool

	// Decode writes what the objects of an HDF5 file mean by the convention of its format,
	// such as dense arrays instead of sparse matrices. Without it a whole file is copied to
	// HDF5 as it is stored. Other formats, and objects that are named, are always decoded.
	Decode bool

	// Select reports whether arrays and metadata of a name are written; nil for all.
	Select func(name string) bool

	// Transform returns what is written of the arrays, such as elements of another type; nil to write
	// them as they are. It is called once, by New.
	Transform func(serialize.Contents) serialize.Contents

	// Save writes the named file; nil for serialize.Save. With it, or with Select or Transform, arrays are
	// written, and not copied as they are stored.
	Save func(name string, c serialize.Contents) error

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
	p := &Plan{Format: format, options: o, path: inspect.Clean(path), objects: format == "hdf5" && o.Save == nil}
	arrays := o.Select != nil || o.Transform != nil || o.Save != nil
	if h5, ok := file.(inspect.HDF5); ok && format == "hdf5" && !arrays && (p.path == "/" && !o.Decode || !h5.Meant(path)) {
		h5 = h5.Plain()
		file, p.source = h5, &h5
	}
	p.file = file
	objects, err := file.Entries(path)
	if err != nil {
		return nil, err
	}
	for o := range objects {
		if o.Err != nil && file.Format() == "hdf5" {
			return nil, o.Err // a conversion is complete or an error
		}
		if arrays && o.Kind == "group" && o.Path != "/" && file.Format() != "hdf5" && len(o.Attrs) == 0 {
			continue // which names imply
		}
		p.Steps = append(p.Steps, &Step{Object: o, To: target(o, p.path)})
	}
	if p.source != nil {
		return p, p.repack(ctx, o.Out, hdf5write.RepackOptions{DryRun: true})
	}
	p.find()
	p.choose()
	p.transform()
	if err := p.decide(ctx); err != nil {
		return nil, err
	}
	if err := p.check(ctx, file.Name()); err != nil {
		return nil, err
	}
	if arrays {
		p.forgetDescriptions()
	}
	return p, nil
}

// forgetDescriptions frees the descriptions of arrays, 448 bytes each, which nobody reads of a copy of arrays.
func (p *Plan) forgetDescriptions() {
	var none inspect.Dataset
	for s := range p.Arrays() {
		s.Data = &none
	}
	if many := 10_000; len(p.Steps) > many {
		debug.FreeOSMemory()
	}
}

// check returns an error if the format cannot hold the arrays of the file together, or none
// of them.
func (p *Plan) check(ctx context.Context, file string) error {
	format, arrays, first, hasData := p.targetFormat(), 0, "", false
	for _, s := range p.Steps {
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

// Arrays yields the steps that write data.
func (p *Plan) Arrays() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for _, s := range p.Steps {
			if s.writesData() && !yield(s) {
				return
			}
		}
	}
}
