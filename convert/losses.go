package convert

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// decide sets what happens to the objects, where they are not copied as they are stored.
func (p *Plan) decide(ctx context.Context) error {
	p.findRows()
	for _, s := range p.Steps {
		p.decideStep(s)
	}
	if err := p.loseValues(ctx); err != nil {
		return err
	}
	p.loseGroups()
	p.moveBelowArrays()
	p.noteAliases(ctx)
	for _, s := range p.Steps {
		p.Lost = append(p.Lost, s.Lost...)
	}
	return nil
}

func (p *Plan) decideStep(s *Step) {
	s.Lost = append(s.Lost, s.Omitted...)
	switch {
	case s.Err != nil:
		s.LeftOut = true
		s.Lost.Add(s.Path, loss.Array, 1, "%v", s.Err)
		return
	case s.Data != nil:
		p.decideData(s)
	case s.Kind == "group" && p.objects && hdf5write.CheckPath(s.To) != nil:
		s.leaveOut("%v", hdf5write.CheckPath(s.To))
	case s.Kind == "group":
	case s.Kind == "datatype":
		s.leaveOut("%s has no committed datatypes; datasets keep their own types", p.Format)
	case p.objects:
		s.LeftOut = true
		s.Lost.Add(s.Path, loss.Link, 1, "%s links are copied only with objects as they are stored, as by convert IN.h5 OUT.h5", s.Kind)
	default:
		s.leaveOut("%s has no %s links", p.Format, s.Kind)
	}
	p.notePrefix(s)
	if !p.objects {
		p.decideAttrs(s)
		return
	}
	for _, a := range s.Attrs {
		if _, err := keepHDF5(a); err != nil {
			s.Lost.AddInherent(s.Path, loss.Attribute, 1, "attribute %s: %v", a.Name, err)
		}
	}
}

// notePrefix notes what serialize/torch has cut off the names of all tensors of a model, which no format gets back.
func (p *Plan) notePrefix(s *Step) {
	if s.Kind != "group" || s.Path != "/" || p.file.Format() != "torch" {
		return
	}
	for _, a := range s.Attrs {
		if value, err := a.Keep(); err == nil && a.Name == "torch.prefix" {
			s.Notes = append(s.Notes, fmt.Sprintf("names without %q, with which those of the model begin in the file", value))
		}
	}
}

// decideAttrs counts the attributes that a format other than HDF5 does not keep: strings of the
// root are metadata, those of arrays are attributes, and other groups have none.
func (p *Plan) decideAttrs(s *Step) {
	format, lost := p.targetFormat(), 0
	for _, a := range s.Attrs {
		value, err := a.Keep()
		text, isText := value.(string)
		switch {
		case s.To == "/" && s.Kind == "group" && format.Meta && isText && err == nil:
			if p.meta == nil {
				p.meta = map[string]string{}
			}
			p.meta[a.Name] = text
		case s.Data == nil:
			lost++
		case err != nil:
			s.Lost.AddInherent(s.Path, loss.Attribute, 1, "attribute %s: %v", a.Name, err)
		}
	}
	if s.Data != nil {
		_, lost = format.KeepAttrs(s.withAttrs(kept))
	}
	if s.To == "/" && s.Kind == "group" && format.Meta {
		var failed map[string]error
		p.meta, failed = format.KeepMeta(p.meta)
		for _, key := range slices.Sorted(maps.Keys(failed)) {
			s.Lost.AddInherent(s.Path, loss.Attribute, 1, "%v", failed[key])
		}
	}
	switch {
	case lost == 0:
	case s.Data == nil && format.Meta:
		s.Lost.AddInherent(s.Path, loss.Attribute, lost, "%s keeps texts of the root as metadata, and no other attributes of groups", p.Format)
	default:
		s.Lost.AddInherent(s.Path, loss.Attribute, lost, "%s", p.targetFormat().NoAttrs())
	}
}

func (p *Plan) decideData(s *Step) {
	data, err, format := s.data, s.Unread, p.targetFormat()
	switch {
	case s.Data.Shape == nil:
		s.leaveOut("%s has no datasets without a value", p.Format)
	case err != nil:
		s.leaveOut("%v", err)
	case data.Numbers() && format.Holds(data.Array.Type):
	case data.Numbers() && format.Holds(ForNumPy(data.Array).Type):
		s.data.Array = ForNumPy(data.Array)
		s.Notes = append(s.Notes, "converted to float32: "+p.Format+" has no "+data.Array.Type.String())
	case data.Type() == "compound" && p.Format == "hdf5":
		s.leaveOut("compounds are only copied from HDF5 to HDF5; write .npz, or name a member, as in PATH['x']")
	case data.Numbers() || format.Elements == nil || !format.Elements(data.Type()):
		s.leaveOut("%s has no elements of type %s", p.Format, s.Data.DType)
	}
	if !s.LeftOut && p.hasRows && !isColumn(s.Data.Shape, p.rows) {
		s.leaveOut("%s has columns of one axis and the same length, and this has shape %v; write .npz or .h5", p.Format, s.Data.Shape)
	}
	if !s.LeftOut && format.Fits != nil {
		p.fit(format, s)
	}
	if !s.LeftOut {
		s.Notes = append(s.Notes, s.Data.Changes...)
		if s.Data.Renamed != "" {
			s.Notes = append(s.Notes, fmt.Sprintf("its name in the file is %q", s.Data.Renamed))
		}
		if n := titles(data.Elements); n > 0 && !format.Titles {
			s.Lost.AddInherent(s.Path, loss.Attribute, n, "%s has no titles of fields beside their names", p.Format)
		}
		if len(s.Data.Names) > 0 {
			s.Lost.AddInherent(s.Path, loss.Type, 1, "%s has no enums, so the %d names of the values are not written", p.Format, len(s.Data.Names))
		}
	}
}

// titles counts the fields with a title.
func titles(e *serialize.Elements) (n int) {
	var count func(fields []serialize.Field)
	count = func(fields []serialize.Field) {
		for _, f := range fields {
			if count(f.Fields); f.Title != "" {
				n++
			}
		}
	}
	if e != nil {
		count(e.Fields)
	}
	return n
}

// findRows finds the number of rows of a table that becomes another: the first axis that most of
// its arrays have. Lists are not columns of one axis, but do not keep the others from being written.
func (p *Plan) findRows() {
	source, err := serialize.ByName(p.file.Format())
	if err != nil || !source.Table || !p.targetFormat().Table || p.path != "/" {
		return
	}
	counts, most, arrays := map[int]int{}, 0, 0
	for _, s := range p.Steps {
		if s.Data == nil || len(s.Data.Shape) == 0 {
			continue
		}
		arrays++
		n := s.Data.Shape[0]
		if counts[n]++; counts[n] > most {
			most, p.rows = counts[n], n
		}
	}
	p.hasRows = arrays > 1
}

func isColumn(shape []int, rows int) bool { return len(shape) == 1 && shape[0] == rows }

// fit leaves out an array that does not fit the format. One whose name does not fit, such as
// /model/weight in .npz, is written under its path without slashes at the ends, if that does.
func (p *Plan) fit(format serialize.Format, s *Step) {
	err := format.Fits(p.entry(context.Background(), s))
	if err == nil {
		return
	}
	s.renamed = true
	if name := p.name(s); name != s.data.Name && format.Fits(p.entry(context.Background(), s)) == nil {
		if s.Data.Renamed == "" {
			s.Notes = append(s.Notes, fmt.Sprintf("as %s: %s has no name %q", name, p.Format, s.data.Name))
		}
		return
	}
	s.leaveOut("%v", err)
}

// loseValues leaves out arrays with values that the format does not have, such as a string that
// ends in a zero byte.
func (p *Plan) loseValues(ctx context.Context) error {
	format := p.targetFormat()
	if format.FitsValues == nil {
		return nil
	}
	for s := range p.Arrays() {
		if s.data.Numbers() {
			continue
		}
		misfit, err := format.CheckValues(ctx, p.entry(ctx, s).Elements)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
		if misfit != nil {
			s.leaveOut("%v", misfit)
		}
	}
	return nil
}

// loseGroups leaves out the groups that no array's name implies, where the format has
// no groups.
func (p *Plan) loseGroups() {
	if p.objects {
		return
	}
	implied := map[string]bool{"/": true}
	for s := range p.Arrays() {
		for group := range groupsOf(s.To) {
			implied[group] = true
		}
	}
	for _, s := range p.Steps {
		if s.Kind == "group" && !implied[s.To] {
			s.leaveOut("%s has no empty groups", p.Format)
		}
	}
}

// noteAliases notes arrays that have the elements of one before them, where the format does not
// keep that, or otherwise.
func (p *Plan) noteAliases(ctx context.Context) {
	format := p.targetFormat()
	if format.AliasNote("") == "" {
		return
	}
	var known serialize.Aliases
	for s := range p.Arrays() {
		if first := known.Of(p.entry(ctx, s)); first != "" {
			s.Notes = append(s.Notes, format.AliasNote(first))
		}
	}
}
