//go:build cgo

package main

import (
	"context"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/propose"
)

// A survey collects what package propose looks at in a file.
type survey struct {
	ctx      context.Context
	file     inspect.File
	found    propose.File
	at       map[string]int // the arrays, by what their episodes have in common
	episodes [][]episode    // of each array
}

type episode struct {
	path string
	data inspect.Selection // zero if it cannot be read
}

// surveyOf describes the arrays of a file, with samples of their elements, and those that
// paths name, which may end in an index.
func surveyOf(ctx context.Context, file inspect.File, paths []string) (propose.File, error) {
	s := &survey{ctx: ctx, file: file, at: map[string]int{}}
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
		for i, all := range s.episodes {
			if len(all) > 1 && slices.ContainsFunc(all, func(e episode) bool { return e.path == p }) {
				return s.found, fmt.Errorf("%s: %s is one of %d episodes; name all of them with %s", file.Name(), p, len(all), shellWord(s.found.Arrays[i].Path))
			}
		}
		if !slices.ContainsFunc(s.found.Arrays, func(a propose.Array) bool { return a.Path == p }) {
			if err := s.addPath(p); err != nil {
				return s.found, err
			}
		}
	}
	s.sample()
	s.found.Largest = s.largest
	return s.found, nil
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
		folder, name := path.Split(o.Path)
		if name == "codes" || name == "categories" {
			if _, ok, err := h5.Categorical(folder); err == nil && ok {
				if name == "categories" {
					continue
				}
				o.Path = strings.TrimSuffix(folder, "/")
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

// add adds an object, or the members of compounds as arrays of their own. An object that
// cannot be read is described without a sample.
func (s *survey) add(e inspect.Object) error {
	if len(e.Data.Shape) == 0 || e.Data.Shape[0] < 1 || strings.Contains(e.Path, "/_i_") { // an index of PyTables
		return nil
	}
	a := propose.Array{
		Path: e.Path, Rows: e.Data.Shape[:1], Row: slices.Concat(e.Data.Shape[1:], e.Data.Element), Kind: propose.Other,
		Stored: e.Data.DType, Axes: e.Data.Axes, Attrs: textAttributes(e.Attrs),
	}
	if e.Data.DType == "compound" {
		return s.addMembers(e)
	}
	data, err := datafiles.FindLabels(s.file, e.Path)
	if err != nil {
		a.Unread = s.reason(err)
	}
	s.append(a, data)
	if path.Base(a.Path) == "events" && data.Numbers() && slices.Equal(a.Row, []int{3}) { // MNE: sample, previous code, code
		return s.addPath(a.Path + "[:, 2]")
	}
	return nil
}

// reason returns an error without the name of the file.
func (s *survey) reason(err error) string {
	return withoutKind(strings.TrimPrefix(err.Error(), s.file.Name()+": "))
}

// addMembers adds the members of compounds as arrays of their own.
func (s *survey) addMembers(e inspect.Object) error {
	whole, err := s.file.Find(e.Path)
	if err != nil {
		return err
	}
	for _, f := range whole.Elements.Fields {
		if strings.ContainsAny(f.Name, `'"`) {
			continue
		}
		if err := s.addPath(fmt.Sprintf("%s['%s']", e.Path, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// addPath adds the array of a path, which may end in a member or an index.
func (s *survey) addPath(p string) error {
	data, err := datafiles.FindLabels(s.file, p)
	if err != nil {
		return err
	}
	if v := data.View(); v.Rank() > 0 {
		s.append(propose.Array{Path: p, Rows: v.Shape[:1], Row: v.Shape[1:], Stored: data.Type(), Kind: propose.Other}, data)
	}
	return nil
}

// append adds an array, or the next episode of one.
func (s *survey) append(a propose.Array, data inspect.Selection) {
	switch a.Names = data.Names; {
	case a.Unread != "":
	case data.Numbers():
		a.Kind, a.Type = propose.Numbers, data.Array.Type
	case data.Texts():
		a.Kind = propose.Texts
	case data.Rows != nil:
		a.Kind = propose.Ragged
	}
	k := key(a.Path, a)
	i, ok := s.at[k]
	if !ok {
		s.at[k] = len(s.found.Arrays)
		s.found.Arrays, s.episodes = append(s.found.Arrays, a), append(s.episodes, []episode{{a.Path, data}})
		return
	}
	all := &s.found.Arrays[i]
	all.Path, all.Rows = starred(all.Path, a.Path), append(slices.Clip(all.Rows), a.Rows...)
	s.episodes[i] = append(s.episodes[i], episode{a.Path, data})
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
func (s *survey) sample() {
	for i := range s.found.Arrays {
		a := &s.found.Arrays[i]
		for _, e := range s.episodes[i] {
			if err := sampleOf(a, e.data, len(s.episodes[i])); err != nil {
				a.Kind, a.Unread = propose.Other, s.reason(err)
				break
			}
		}
	}
}

// sampleOf adds elements of one of some episodes to the sample of a.
func sampleOf(a *propose.Array, data inspect.Selection, episodes int) error {
	if a.Kind != propose.Texts && (a.Kind != propose.Numbers || a.Type.IsComplex()) {
		return nil
	}
	v := data.View()
	size, most := max(1, v.Len()/max(1, v.Shape[0])), sampledColumn
	switch {
	case a.Kind == propose.Texts:
		most = sampledTexts
	case size > 1:
		most = sampledRows
	}
	if size > most {
		return nil // rows so long that even one is not read
	}
	for _, r := range runs(v.Shape[0], max(1, most/size/episodes)) {
		part := data.With(v.Narrow(0, r[0], r[1]))
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
		read, err := blocks.Read(part.Array)
		if err != nil {
			return err
		}
		a.Sample.Values = append(a.Sample.Values, blocks.Float64s(a.Type, read)...) // large integers are rounded
	}
	return nil
}

// largest returns the largest element of an array of integers.
func (s *survey) largest(path string) (float64, error) {
	largest := math.Inf(-1)
	for i, a := range s.found.Arrays {
		if a.Path != path {
			continue
		}
		for _, e := range s.episodes[i] {
			for part, err := range blocks.Of(s.ctx, e.data.Array, 1<<20) {
				if err != nil {
					return 0, err
				}
				read, err := blocks.Read(part)
				if err != nil {
					return 0, err
				}
				for _, x := range blocks.Float64s(a.Type, read) {
					largest = max(largest, x)
				}
			}
		}
	}
	return largest, nil
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
