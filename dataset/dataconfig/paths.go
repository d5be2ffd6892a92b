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
)

// Paths is one path without a name, or several with names. As JSON it is a string
// or an object of strings, which is read in the order of its names.
type Paths []NamedPath

// A NamedPath is the path of an array in a file, and the name of the field that is
// made of it.
type NamedPath struct{ Name, Path string }

// Path returns a single path, which has no name.
func Path(path string) Paths { return Paths{{Path: path}} }

var namedPath = regexp.MustCompile(`^[A-Za-z_]\w*=[^=]`)

// ParsePaths reads PATH, or NAME=PATH,NAME=PATH.
func ParsePaths(text string) (Paths, error) {
	if text == "" {
		return nil, nil
	}
	if !namedPath.MatchString(text) {
		return Path(text), nil
	}
	var p Paths
	for part := range strings.SplitSeq(text, ",") {
		name, path, ok := strings.Cut(part, "=")
		if !ok || name == "" || path == "" {
			return nil, fmt.Errorf("%q: want PATH, or NAME=PATH,NAME=PATH", text)
		}
		p = append(p, NamedPath{name, path})
	}
	return p, nil
}

// String returns what ParsePaths reads.
func (p Paths) String() string {
	parts := make([]string, len(p))
	for i, n := range p {
		if parts[i] = n.Path; n.Name != "" {
			parts[i] = n.Name + "=" + n.Path
		}
	}
	return strings.Join(parts, ",")
}

var errPaths = errors.New("want a path, or names with a path each")

// UnmarshalJSON reads a string, or an object of strings.
func (p *Paths) UnmarshalJSON(text []byte) error {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		var path string
		if json.Unmarshal(text, &path) != nil {
			return errPaths
		}
		if *p = nil; path != "" {
			*p = Path(path)
		}
		return nil
	}
	var named map[string]string
	if json.Unmarshal(text, &named) != nil || len(named) == 0 {
		return errPaths
	}
	*p = nil
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if name == "" || named[name] == "" {
			return errPaths
		}
		*p = append(*p, NamedPath{name, named[name]})
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (p Paths) MarshalJSON() ([]byte, error) {
	if len(p) == 0 || len(p) == 1 && p[0].Name == "" {
		return json.Marshal(p.String())
	}
	named := map[string]string{}
	for _, n := range p {
		named[n.Name] = n.Path
	}
	return json.Marshal(named)
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
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = Names{one}
		return nil
	}
	var list []string
	if json.Unmarshal(text, &list) != nil || slices.Contains(list, "") {
		return errors.New("want a name, or a list of names")
	}
	*n = list
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (n Names) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]string(n))
}
