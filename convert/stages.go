package convert

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
)

// find finds the data of the steps, or why they are not read.
func (p *Plan) find() {
	for _, s := range p.Steps {
		if s.Data == nil {
			continue
		}
		data, err := p.file.Find(s.Path)
		if err == nil {
			err = data.CheckSize()
		}
		s.data, s.listed, s.Unread = data.Entry, data.Listed, cmp.Or(s.Unread, err)
	}
}

// choose leaves only the arrays and the metadata that Options.Select selects, and groups that are not
// empty because of that.
func (p *Plan) choose() {
	if p.options.Select == nil {
		return
	}
	without := func(s *Step) bool { return s.Data != nil && !p.options.Select(s.source()) }
	above := map[string]bool{} // groups of arrays that are not selected, and whether all are
	for _, s := range p.Steps {
		for group := range groupsOf(s.To) {
			if all, known := above[group]; s.Data != nil && (all || !known) {
				above[group] = without(s)
			}
		}
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s *Step) bool { return without(s) || s.Kind == "group" && above[s.To] })
	for _, s := range p.Steps {
		if s.To == "/" && s.Kind == "group" {
			s.Attrs = slices.DeleteFunc(s.Attrs, func(a inspect.Attr) bool { return !p.options.Select(a.Name) })
		}
	}
}

// transform replaces the steps of arrays by steps of the arrays that Options.Transform returns.
func (p *Plan) transform() {
	if p.options.Transform == nil {
		return
	}
	steps := make([]*Step, 0, len(p.Steps))
	var from *Step
	var source serialize.Entry // of from
	entries := func(yield func(serialize.Entry, error) bool) {
		for _, from = range p.Steps {
			if source = from.data; from.Data == nil {
				steps = append(steps, from)
				continue
			}
			source.Name = from.source()
			if !yield(source, from.Unread) {
				return
			}
		}
	}
	for e, err := range p.options.Transform(serialize.Contents{Entries: entries}).Entries {
		s, suffix := from, strings.TrimPrefix(e.Name, source.Name)
		if suffix != "" { // an array that was not there, such as the scales of another
			s = &Step{Object: from.Object, To: from.To + suffix, listed: from.listed}
			s.Path, s.Data = s.Path+suffix, inspect.Describe(e)
		}
		if s.Unread = err; err == nil {
			s.Data.DType, s.data = e.Type(), e
		}
		steps = append(steps, s)
	}
	p.Steps = steps
}

// Part returns a part of a file's data with attributes as an entry that a format can hold, and what is lost of the
// attributes. A part that the format cannot hold is an error.
func Part(ctx context.Context, data inspect.Selection, attrs []inspect.Attr, format string) (serialize.Entry, loss.List, error) {
	if _, err := serialize.ByName(format); err != nil {
		return serialize.Entry{}, nil, err
	}
	path := "/" + data.Name
	s := &Step{Object: inspect.Object{Path: path, Data: inspect.Describe(data.Entry), Attrs: attrs}, To: path, data: data.Entry}
	p := &Plan{Format: format, path: path}
	if p.decideData(s); s.LeftOut {
		return serialize.Entry{}, nil, fmt.Errorf("%s: %s", data.Name, s.Lost[len(s.Lost)-1].Reason)
	}
	p.decideAttrs(s)
	return p.entry(ctx, s), s.Lost, nil
}
