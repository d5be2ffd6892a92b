//go:build cgo

package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/propose"
	"github.com/h5dnn/h5dnn/storage"
)

// A survey collects what package propose looks at in a file.
type survey struct {
	file  inspect.File
	found propose.File
	at    map[string]int // the arrays, by what their episodes have in common
	paths [][]string     // of the episodes of each array
}

// surveyOf describes the arrays of a file, with samples of their elements, and those that
// paths name, which may end in an index.
func surveyOf(file inspect.File, paths []string) (propose.File, error) {
	s := &survey{file: file, at: map[string]int{}}
	s.found = propose.File{Format: file.Format(), Groups: map[string]map[string]string{}}
	entries, err := file.Entries("")
	if err != nil {
		return s.found, err
	}
	var objects []inspect.Object
	for e := range entries {
		switch {
		case e.Err != nil:
		case e.Data == nil:
			s.found.Groups[e.Path] = textAttributes(e.Attrs)
		default:
			objects = append(objects, e)
		}
	}
	for _, e := range s.withCategories(objects) {
		if err := s.add(e); err != nil {
			return s.found, err
		}
	}
	for _, p := range paths {
		for i, episodes := range s.paths {
			if len(episodes) > 1 && slices.Contains(episodes, p) {
				all := s.found.Arrays[i].Path
				return s.found, fmt.Errorf("%s: %s is one of %d episodes; name all of them with %s", s.file.Name(), p, len(episodes), shellWord(all))
			}
		}
		if !slices.ContainsFunc(s.found.Arrays, func(a propose.Array) bool { return a.Path == p }) {
			if err := s.addPath(p, nil); err != nil {
				return s.found, err
			}
		}
	}
	return s.found, s.sample()
}

// textAttributes returns the attributes that are strings, by names in lower case. Lists are
// joined by commas.
func textAttributes(attrs []inspect.Attr) map[string]string {
	texts := map[string]string{}
	for _, a := range attrs {
		value, err := a.Get()
		if err != nil {
			continue // an attribute that cannot be read says nothing
		}
		switch value := value.(type) {
		case string:
			texts[strings.ToLower(a.Name)] = value
		case []any:
			var all []string
			for _, v := range value {
				if text, ok := v.(string); ok {
					all = append(all, text)
				}
			}
			if len(all) == len(value) && len(all) > 0 {
				texts[strings.ToLower(a.Name)] = strings.Join(all, ",")
			}
		}
	}
	return texts
}

// withCategories replaces the codes and categories of categorical columns by the columns.
func (s *survey) withCategories(objects []inspect.Object) []inspect.Object {
	h5, ok := s.file.(inspect.HDF5)
	if !ok {
		return objects
	}
	var all []inspect.Object
	for _, o := range objects {
		switch folder, name := path.Split(o.Path); name {
		case "codes":
			if codes, ok, err := h5.Categorical(folder); err == nil && ok {
				data := *o.Data
				data.Names = codes.Names
				o.Path, o.Data = strings.TrimSuffix(folder, "/"), &data
			}
		case "categories":
			if _, ok, err := h5.Categorical(folder); err == nil && ok {
				continue
			}
		}
		all = append(all, o)
	}
	return all
}

var number = regexp.MustCompile(`[0-9]+`)

// levels matches names of groups whose numbers count no episodes.
var levels = regexp.MustCompile(`(?i)level|channel|scale|pyramid|fold|layer`)

// key returns what episodes of an array have in common: the path but for one number in the
// names of groups, the type and the shape of rows.
func key(p string, a propose.Array) string {
	folder, name := path.Split(p)
	steps := strings.Split(folder, "/")
	for i, step := range steps {
		if !levels.MatchString(step) {
			steps[i] = number.ReplaceAllString(step, "*")
		}
	}
	return fmt.Sprint(strings.Join(steps, "/"), name, a.Stored, a.Row)
}

// add adds an array with two rows or more, or the members of one of compounds. Arrays
// whose paths differ in a number are episodes of one.
func (s *survey) add(e inspect.Object) error {
	if len(e.Data.Shape) == 0 || e.Data.Shape[0] < 1 || strings.Contains(e.Path, "/_i_") { // an index of PyTables
		return nil
	}
	if e.Data.DType == "compound" {
		return s.addMembers(e)
	}
	a := propose.Array{
		Path: e.Path, Rows: e.Data.Shape[:1], Row: slices.Concat(e.Data.Shape[1:], e.Data.Element),
		Stored: e.Data.DType, Axes: e.Data.Axes, Attrs: textAttributes(e.Attrs),
	}
	if a.Kind = propose.Other; e.Data.Numbers {
		a.Kind = propose.Numbers
		a.Names = e.Data.Names
	} else if e.Data.DType == "string" {
		a.Kind = propose.Texts
	} else if e.Data.DType == "sequence" {
		a.Kind = propose.Ragged
	}
	s.append(a)
	if path.Base(a.Path) == "events" && a.Kind == propose.Numbers && slices.Equal(a.Row, []int{3}) { // MNE: sample, previous code, code
		return s.addPath(a.Path+"[:, 2]", a.Attrs)
	}
	return nil
}

func (s *survey) append(a propose.Array) {
	p := a.Path
	k := key(p, a)
	if i, ok := s.at[k]; ok {
		s.found.Arrays[i].Path = starred(s.found.Arrays[i].Path, p)
		s.found.Arrays[i].Rows = append(slices.Clone(s.found.Arrays[i].Rows), a.Rows...)
		s.paths[i] = append(s.paths[i], p)
		return
	}
	s.at[k] = len(s.found.Arrays)
	s.found.Arrays, s.paths = append(s.found.Arrays, a), append(s.paths, []string{p})
}

// addMembers adds the members of compounds as arrays of their own.
func (s *survey) addMembers(e inspect.Object) error {
	whole, err := s.file.Find(e.Path)
	if err != nil {
		return err
	}
	for _, f := range whole.Fields {
		if strings.ContainsAny(f.Name, `'"`) {
			continue
		}
		p := fmt.Sprintf("%s['%s']", e.Path, f.Name)
		if err := s.addPath(p, nil); err != nil {
			return err
		}
	}
	return nil
}

// addPath adds what a path leads to.
func (s *survey) addPath(p string, attrs map[string]string) error {
	data, err := findLabels(s.file, address{s.file.Name(), p})
	if err != nil {
		return err
	}
	v := data.Selected()
	if v.Rank() == 0 {
		return nil
	}
	a := propose.Array{Path: p, Rows: v.Shape[:1], Row: v.Shape[1:], Stored: data.DType, Names: data.Names, Kind: propose.Other, Attrs: attrs}
	switch {
	case data.Numbers:
		a.Kind, a.Stored = propose.Numbers, data.Array.Type.String()
	case data.Texts:
		a.Kind = propose.Texts
	case data.Rows != nil:
		a.Kind = propose.Ragged
	}
	s.append(a)
	return nil
}

// starred returns the first of two paths with a star for each group in which they differ.
func starred(a, b string) string {
	steps, others := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(steps), len(others)) {
		if steps[i] != others[i] {
			steps[i] = "*"
		}
	}
	return strings.Join(steps, "/")
}

// The numbers of elements that are sampled of a column and of an array of longer rows.
const (
	sampledColumn = 1 << 20
	sampledRows   = 1 << 18
	sampledTexts  = 1 << 17
	sampledBlocks = 8 // runs of neighbouring rows, evenly spaced
)

// sample reads elements of each array.
func (s *survey) sample() error {
	for i := range s.found.Arrays {
		a := &s.found.Arrays[i]
		for _, p := range s.paths[i] {
			if err := s.sampleOf(a, p, len(s.paths[i])); err != nil {
				a.Kind, a.Unread = propose.Other, withoutKind(strings.TrimPrefix(err.Error(), s.file.Name()+": "))
				break
			}
		}
	}
	return nil
}

// sampleOf adds elements of the array at a path to the sample of a, one of some episodes.
func (s *survey) sampleOf(a *propose.Array, p string, episodes int) error {
	data, err := findLabels(s.file, address{s.file.Name(), p})
	if err != nil {
		return err
	}
	switch {
	case a.Kind == propose.Texts && data.Numbers: // codes of a categorical column
		a.Kind, a.Names = propose.Numbers, data.Names
	case a.Kind == propose.Texts && !data.Texts: // such as arrays of strings
		a.Kind = propose.Other
	}
	v := data.Selected()
	size, most := max(1, v.Len()/max(1, v.Shape[0])), sampledColumn
	switch {
	case a.Kind == propose.Other || a.Kind == propose.Ragged:
		return nil
	case a.Kind == propose.Texts:
		most = sampledTexts
	case data.Array.Type.IsComplex():
		a.Type = data.Array.Type
		return nil
	case size > 1:
		most = sampledRows
	}
	if a.Type = data.Array.Type; size > most {
		return nil // rows so long that even one is not read
	}
	for _, r := range runs(v.Shape[0], max(1, most/size/episodes)) {
		part := data.With(blocks.Between(v, 0, r[0], r[1]))
		if err := part.CheckSize(); err != nil {
			return err
		}
		a.Sample.Blocks = append(a.Sample.Blocks, r[1]-r[0])
		if a.Kind == propose.Texts {
			texts, err := part.Strings()
			if err != nil {
				return err
			}
			a.Sample.Texts = append(a.Sample.Texts, texts...)
			continue
		}
		values, err := float64s(part.Array)
		if err != nil {
			return err
		}
		a.Sample.Values = append(a.Sample.Values, values...)
	}
	return nil
}

// float64s reads numbers. Large integers are rounded.
func float64s(a storage.Array) ([]float64, error) {
	read, err := blocks.Read(a)
	if err != nil {
		return nil, err
	}
	return blocks.Float64s(a.Type, read), nil
}

// runs returns the bounds of evenly spaced runs of neighbouring rows, at most some of n.
func runs(n, most int) (all [][2]int) {
	if n <= most {
		return [][2]int{{0, n}}
	}
	count := min(sampledBlocks, most)
	for i := range count {
		first := (n - most/count) * i / max(1, count-1)
		all = append(all, [2]int{first, first + most/count})
	}
	return all
}
