//go:build cgo

package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
)

// A candidate is an array of a file, or the arrays of its episodes, that could be
// inputs or targets.
type candidate struct {
	path    string // with a star for what differs between episodes
	shape   []int  // of the first of them
	dtype   string
	numbers bool
	arrays  int
}

// integer reports whether the elements are class labels rather than values.
func (c candidate) integer() bool {
	return !c.numbers || strings.HasPrefix(c.dtype, "int") || strings.HasPrefix(c.dtype, "uint") || c.dtype == "bool"
}

func (c candidate) String() string { return c.path + ", " + c.elements() }

// elements describes the type, the shape and the number of arrays.
func (c candidate) elements() string {
	text := fmt.Sprintf("%s %v", c.dtype, c.shape)
	if c.arrays > 1 {
		text += fmt.Sprintf(" and %d others", c.arrays-1)
	}
	return text
}

// A guess is what a configuration for a file could be.
type guess struct {
	x, y, valX, valY candidate
	others           []candidate
}

var number = regexp.MustCompile(`[0-9]+`)

// candidates lists the arrays of a file with rows. Arrays whose paths differ in one
// number, and which have the same type and shape of rows, are episodes of one candidate.
func candidates(file inspect.File) ([]candidate, error) {
	entries, err := file.Entries("")
	if err != nil {
		return nil, err
	}
	var list []candidate
	at := map[string]int{}
	for e := range entries {
		if e.Data == nil || e.Err != nil || len(e.Data.Shape) == 0 || e.Data.Shape[0] < 2 {
			continue
		}
		c := candidate{path: e.Path, shape: e.Data.Shape, dtype: e.Data.DType, numbers: e.Data.Numbers, arrays: 1}
		folder, name := path.Split(e.Path)
		key := fmt.Sprint(number.ReplaceAllString(folder, "*"), name, c.dtype, c.shape[1:])
		if k, ok := at[key]; ok {
			list[k].path = starred(list[k].path, e.Path)
			list[k].arrays++
			continue
		}
		at[key] = len(list)
		list = append(list, c)
	}
	return list, nil
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

// Names that inputs, targets and validation data often have.
var (
	inputNames      = []string{"x", "images", "image", "data", "features", "inputs", "input", "obs", "observations", "signals"}
	targetNames     = []string{"y", "labels", "label", "targets", "target", "class", "classes", "actions", "action"}
	validationNames = []string{"val", "valid", "validation", "test", "dev"}
)

// guessRoles chooses inputs and targets among the candidates. Targets are as long
// as inputs, and preferably have a usual name, the group of the inputs and rank 1.
func guessRoles(list []candidate) (guess, error) {
	best, found := guess{}, 0
	for _, x := range list {
		for _, y := range list {
			if score := scoreOf(x, y); score > found {
				best, found = guess{x: x, y: y}, score
			}
		}
	}
	if found == 0 {
		return best, fmt.Errorf("no inputs with targets: want two arrays of the same length, of which one holds numbers")
	}
	for _, c := range list {
		switch c.path {
		case best.x.path, best.y.path:
			continue
		case asValidation(best.x.path, c.path):
			best.valX = c
		case asValidation(best.y.path, c.path):
			best.valY = c
		default:
			best.others = append(best.others, c)
		}
	}
	if best.valX.path == "" || best.valY.path == "" {
		best.valX, best.valY = candidate{}, candidate{}
	}
	return best, nil
}

// scoreOf says how likely x are inputs and y their targets; 0 if they cannot be.
func scoreOf(x, y candidate) int {
	if x.path == y.path || !x.numbers || x.shape[0] != y.shape[0] || x.arrays != y.arrays || len(y.shape) > 2 || rowSize(x) < rowSize(y) || isValidation(x.path) || isValidation(y.path) {
		return 0
	}
	score := 1
	for _, preferred := range []struct {
		holds  bool
		weight int
	}{
		{named(y.path, targetNames), 16},
		{named(x.path, inputNames), 8},
		{path.Dir(x.path) == path.Dir(y.path), 4},
		{len(y.shape) == 1 && y.integer(), 2},
		{len(x.shape) > 1, 2},
	} {
		if preferred.holds {
			score += preferred.weight
		}
	}
	return score
}

// rowSize returns the number of elements in a row.
func rowSize(c candidate) int {
	n := 1
	for _, size := range c.shape[1:] {
		n *= size
	}
	return n
}

// named reports whether the last or the first part of a path is one of names, but
// for the words train and test around it: y_train.
func named(p string, names []string) bool {
	words := strings.FieldsFunc(strings.ToLower(path.Base(p)), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(names, w) })
}

func isValidation(p string) bool {
	words := strings.FieldsFunc(strings.ToLower(p), func(r rune) bool { return strings.ContainsRune("_-./", r) })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(validationNames, w) })
}

// asValidation returns other if it is p with a name of validation data in the place
// of train, and "" otherwise.
func asValidation(p, other string) string {
	for _, name := range validationNames {
		for _, train := range []string{"train", "training"} {
			if strings.Contains(p, train) && strings.Replace(p, train, name, 1) == other {
				return other
			}
		}
	}
	return ""
}
