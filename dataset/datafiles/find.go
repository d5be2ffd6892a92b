package datafiles

import (
	"fmt"
	"regexp"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/views"
)

// Find returns the data at a path, which may end in names of members and an index
// expression, as in /table['x'][:10]. A dataset whose name ends in brackets takes
// precedence.
func Find(file inspect.File, path string) (inspect.Selection, error) {
	data, err := file.Find(path)
	if err == nil {
		return data, nil
	}
	rest, members := CutMembers(path)
	at, expr := views.CutIndex(rest)
	if h5, ok := file.(inspect.HDF5); ok && members != nil {
		if data, err = h5.Member(at, members...); err != nil || expr == "" {
			return data, err
		}
		return slice(file, data, at, expr)
	}
	if at, expr = views.CutIndex(path); expr == "" {
		return data, err
	}
	if _, err := views.Parse(expr); err != nil {
		return data, err
	}
	if data, err = file.Find(at); err != nil {
		return data, err
	}
	return slice(file, data, at, expr)
}

// FindLabels is Find, but returns the codes of a categorical column with their names.
func FindLabels(file inspect.File, path string) (inspect.Selection, error) {
	h5, ok := file.(inspect.HDF5)
	if !ok {
		return Find(file, path)
	}
	at, expr := views.CutIndex(path)
	codes, ok, err := h5.Categorical(at)
	switch {
	case err != nil:
		return codes, err
	case !ok:
		return Find(file, path)
	case expr == "":
		return codes, nil
	}
	return slice(file, codes, at, expr)
}

// member matches the name of a member of compounds in brackets.
var member = regexp.MustCompile(`\[\s*(?:'([^']*)'|"([^"]*)")\s*\]`)

// CutMembers splits the names of members off a path.
func CutMembers(path string) (rest string, members []string) {
	for _, found := range member.FindAllStringSubmatch(path, -1) {
		members = append(members, found[1]+found[2])
	}
	return member.ReplaceAllString(path, ""), members
}

// slice returns the part of data, found at a path of a file, that an index expression selects.
func slice(file inspect.File, data inspect.Selection, path, expr string) (inspect.Selection, error) {
	index, err := views.Parse(expr)
	if err != nil {
		return data, err
	}
	part, err := data.Select(index, names{file, path})
	if err != nil {
		return data, fmt.Errorf("%s: %s: %w", file.Name(), path, err)
	}
	return part, nil
}

// names finds the masks and coordinates that an index expression of an array names in its file.
type names struct {
	file inspect.File
	path string // of the array
}

// Mask implements views.Names.
func (n names) Mask(path string, shape []int) ([][]int, error) {
	return dataconfig.Marked(Of(n.file), n.file.Name(), n.path, path, shape)
}

// Coordinates implements views.Names.
func (n names) Coordinates(r views.CoordinateRange) (axis int, indices []int, single bool, err error) {
	h5, ok := n.file.(inspect.HDF5)
	if !ok {
		return 0, nil, false, fmt.Errorf("%s files have no coordinates; select by position: %w", n.file.Format(), views.ErrShape)
	}
	return h5.Coordinates(n.path, r)
}
