package convert

import (
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
)

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

// groupsOf yields the groups that the path of an array implies, but for the root.
func groupsOf(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range path {
			if k > 0 && path[k] == '/' && !yield(path[:k]) {
				return
			}
		}
	}
}

// name returns the name of an array in the output: that in the input, which may begin or
// end with a slash as paths do not, if the format has such names.
func (p *Plan) name(s *Step) string {
	if s.listed && p.path == "/" && !p.objects && !s.renamed {
		return s.data.Name
	}
	return strings.TrimPrefix(s.To, "/")
}

// moveBelowArrays renames the groups that have the name of an array: an object of HDF5 is a
// dataset or a group. The variable w and its slot w/Adam of TensorFlow become w and w'/Adam.
func (p *Plan) moveBelowArrays() {
	if !p.objects {
		return
	}
	names := hierarchy{arrays: map[string]bool{}, taken: map[string]bool{}, groups: map[string]string{}}
	for _, s := range p.Steps {
		names.taken[s.To] = true
		if s.writesData() {
			names.arrays[s.To] = true
		}
	}
	var steps []*Step
	for _, s := range p.Steps {
		if names.changes(s.To, s.Kind == "group") {
			steps = append(steps, s)
		}
	}
	slices.SortStableFunc(steps, func(s, other *Step) int { return len(s.To) - len(other.To) }) // arrays before what is below them
	for _, s := range steps {
		array := ""
		s.To, array = names.resolve(s.To, s.Kind == "group")
		if array != "" && !s.LeftOut {
			names.arrays[s.To] = s.Data != nil
			s.Notes = append(s.Notes, array+" is an array, and HDF5 has nothing below arrays")
		}
	}
}

// A hierarchy has the paths of a file in which an array and a group may have the same path.
type hierarchy struct {
	arrays map[string]bool
	taken  map[string]bool   // paths of objects of any kind
	groups map[string]string // what groups are called instead, by the paths of arrays
}

// changes reports whether the path of an object begins with that of an array.
func (h hierarchy) changes(path string, isGroup bool) bool {
	for i := 1; i <= len(path); i++ {
		ends := i < len(path) && path[i] == '/' || i == len(path) && isGroup
		if ends && h.arrays[path[:i]] {
			return true
		}
	}
	return false
}

// resolve returns the path of an object with other names for the groups that have the names of
// arrays, and the last of these arrays, or "".
func (h hierarchy) resolve(path string, isGroup bool) (resolved, array string) {
	parts := strings.Split(path, "/")[1:]
	for k, part := range parts {
		resolved += "/" + part
		if h.arrays[resolved] && (isGroup || k < len(parts)-1) {
			array, resolved = resolved, h.rename(resolved)
		}
	}
	return resolved, array
}

// rename returns what the group with the path of an array is called.
func (h hierarchy) rename(path string) string {
	if group, ok := h.groups[path]; ok {
		return group
	}
	group := path + "'"
	for h.taken[group] {
		group += "'"
	}
	h.groups[path], h.taken[group] = group, true
	return group
}
