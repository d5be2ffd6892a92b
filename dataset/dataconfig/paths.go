package dataconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/storage"
)

// Paths is one path without a name, or several with names. As JSON it is a string
// or an object of strings, which is read in the order of its names. A list of strings
// in the place of one names the columns of one input.
type Paths []NamedPath

// A NamedPath is the path of an array in a file, and the name of the field that is
// made of it.
type NamedPath struct {
	Name, Path string
	Beside     []string // paths of further columns, which follow along the last axis
}

// columns returns the paths of all columns.
func (n NamedPath) columns() []string { return append([]string{n.Path}, n.Beside...) }

// At returns n with the path in text, or the paths PATH,PATH if n has several columns.
func (n NamedPath) At(text string) NamedPath {
	paths := []string{text}
	if len(n.Beside) > 0 {
		paths = splitColumns(text)
	}
	n.setColumns(paths)
	return n
}

// setColumns sets the paths of all columns.
func (n *NamedPath) setColumns(paths []string) { n.Path, n.Beside = paths[0], paths[1:] }

// Path returns a single path, which has no name.
func Path(path string) Paths { return Paths{{Path: path}} }

var namedPath = regexp.MustCompile(`^[A-Za-z_]\w*=[^=]`)

// ParsePaths reads PATH, or NAME=PATH,NAME=PATH. PATH,PATH are the columns of one input.
func ParsePaths(text string) (Paths, error) {
	if text == "" {
		return nil, nil
	}
	named := namedPath.MatchString(text)
	var p Paths
	for _, part := range splitColumns(text) {
		one := NamedPath{Path: part}
		if named && namedPath.MatchString(part) {
			one.Name, one.Path, _ = strings.Cut(part, "=")
		}
		switch {
		case one.Path == "":
			return nil, fmt.Errorf("%q: want PATH, PATH,PATH for the columns of one input, or NAME=PATH,NAME=PATH", text)
		case len(p) == 0 || one.Name != "":
			p = append(p, one)
		default:
			last := &p[len(p)-1]
			last.Beside = append(last.Beside, part)
		}
	}
	return p, nil
}

// splitColumns splits text at commas outside of brackets.
func splitColumns(text string) (parts []string) {
	depth, start := 0, 0
	for i, r := range text {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// String returns what ParsePaths reads.
func (p Paths) String() string {
	parts := make([]string, len(p))
	for i, n := range p {
		if parts[i] = strings.Join(n.columns(), ","); n.Name != "" {
			parts[i] = n.Name + "=" + parts[i]
		}
	}
	return strings.Join(parts, ",")
}

var errPaths = errors.New("want a path, a list of paths, or names with one of these each")

// UnmarshalJSON reads a string, a list of strings, or an object of these.
func (p *Paths) UnmarshalJSON(text []byte) error {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		var paths Names
		if json.Unmarshal(text, &paths) != nil {
			return errPaths
		}
		if *p = nil; len(paths) > 0 && paths[0] != "" {
			*p = make(Paths, 1)
			(*p)[0].setColumns(paths)
		}
		return nil
	}
	var named map[string]Names
	if json.Unmarshal(text, &named) != nil || len(named) == 0 {
		return errPaths
	}
	*p = nil
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if name == "" || len(named[name]) == 0 || named[name][0] == "" {
			return errPaths
		}
		one := NamedPath{Name: name}
		one.setColumns(named[name])
		*p = append(*p, one)
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (p Paths) MarshalJSON() ([]byte, error) {
	switch {
	case len(p) == 0:
		return json.Marshal("")
	case len(p) == 1 && p[0].Name == "":
		return json.Marshal(Names(p[0].columns()))
	}
	named := map[string]Names{}
	for _, n := range p {
		named[n.Name] = n.columns()
	}
	return json.Marshal(named)
}

// several returns the first of p that names several columns, or nil.
func (p Paths) several() *NamedPath {
	for i := range p {
		if len(p[i].Beside) > 0 {
			return &p[i]
		}
	}
	return nil
}

// names returns the names of the fields, that of a path without one being otherwise.
func (p Paths) names(otherwise string) []string {
	var names []string
	for _, n := range p {
		if n.Name == "" {
			n.Name = otherwise
		}
		names = append(names, n.Name)
	}
	return names
}

// of returns the path for the named input, or "".
func (p Paths) of(input string) string {
	for _, n := range p {
		if n.Name == input || n.Name == "" {
			return n.Path
		}
	}
	return ""
}

// Names is one name or several; as JSON, a string or a list of them.
type Names []string

// UnmarshalJSON reads a string or a list of strings.
func (n *Names) UnmarshalJSON(text []byte) error {
	list, err := config.OneOrMore[string](text)
	if err != nil || text[0] == '[' && slices.Contains(list, "") {
		return errors.New("want a name, or a list of names")
	}
	*n = list
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads, without the secrets of URLs: others read what is written.
func (n Names) MarshalJSON() ([]byte, error) {
	names := make([]string, len(n))
	for i := range n {
		names[i] = storage.WithoutSecrets(n[i])
	}
	if len(names) == 1 {
		return json.Marshal(names[0])
	}
	return json.Marshal(names)
}
