package dataconfig

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Files finds arrays in files. The caller implements it for the formats it opens.
type Files interface {
	// Glob lists the files a pattern names, demo_2 before demo_10.
	Glob(pattern string) ([]string, error)
	// List lists the paths of the arrays below a group, in that order.
	List(file, group string) ([]string, error)
	// Find returns the data at a path, which may end in a [slice].
	Find(file, path string) (Found, error)
	// Attribute returns the elements of an attribute, as hdf5.Attribute.Values does;
	// nil if there is no attribute of that name.
	Attribute(file, path, name string) ([]any, error)
}

// Found is the data at a path: one of these.
type Found struct {
	Array  storage.Array            // of numbers
	Ragged *dataset.Ragged          // rows of numbers, of different lengths
	Texts  func() ([]string, error) // strings

	// Packed are the attributes that say what the numbers of a plain HDF5 file stand for, such as
	// scale_factor, and are not applied.
	Packed []string

	// Names are those of the classes that integers in Array stand for, of an enum or a
	// categorical column, and Values the integers; 0, 1, … if Values is nil.
	Names  []string
	Values []int64
}

// globAll lists the files that several patterns name.
func globAll(files Files, patterns Names) ([]string, error) {
	var all []string
	for _, pattern := range patterns {
		names, err := files.Glob(pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// A wildcard is a path in which * stands for any part of a name.
type wildcard string

func (w wildcard) stars() int { return strings.Count(string(w), "*") }

// split splits off a [slice].
func (w wildcard) split() (path, expr string) { return views.CutIndex(string(w)) }

// A match is a path that a wildcard matches.
type match struct {
	path  string   // with the slice
	steps []string // the names in the path that had stars
	stars []string // the text of each star
}

// in lists the matches of w in a file: w itself if it has no star.
func (w wildcard) in(files Files, file string) ([]match, error) {
	if w.stars() == 0 {
		return []match{{path: string(w)}}, nil
	}
	pattern, expr := w.split()
	pattern = "/" + strings.Trim(pattern, "/")
	star := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `([^/]*)`)
	find, err := regexp.Compile("^" + star + "$")
	if err != nil {
		return nil, err
	}
	group := pattern[:strings.LastIndexByte(pattern[:strings.IndexByte(pattern, '*')], '/')+1]
	paths, err := files.List(file, group)
	if err != nil {
		return nil, err
	}
	var all []match
	for _, path := range paths {
		if found := find.FindStringSubmatch("/" + strings.Trim(path, "/")); found != nil {
			all = append(all, match{found[0] + expr, starred(pattern, found[0]), found[1:]})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: nothing matches %s: %w", file, pattern, views.ErrShape)
	}
	return all, nil
}

// starred returns the names in path that have a star in pattern.
func starred(pattern, path string) (steps []string) {
	parts := strings.Split(path, "/")
	for i, step := range strings.Split(pattern, "/") {
		if strings.Contains(step, "*") {
			steps = append(steps, parts[i])
		}
	}
	return steps
}

// group returns the path up to the last name that had a star, or "".
func (m match) group() string {
	if len(m.steps) == 0 {
		return ""
	}
	last := "/" + m.steps[len(m.steps)-1] + "/"
	return m.path[:strings.LastIndex(m.path+"/", last)+len(last)-1]
}

// with replaces the stars of w by those of a match.
func (w wildcard) with(m match) (string, error) {
	if w.stars() > len(m.stars) {
		return "", fmt.Errorf("%s has more stars than the path of inputs, which has %d: %w", w, len(m.stars), views.ErrShape)
	}
	path := string(w)
	for _, star := range m.stars {
		path = strings.Replace(path, "*", star, 1)
	}
	return path, nil
}
