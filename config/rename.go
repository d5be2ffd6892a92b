package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Rename is a setting whose old name is still read, with a warning, for one
// version.
type Rename struct {
	Old string // the path, such as "data.steps"; * stands for any one name or index
	New string // the name in the same place, such as "window"
}

// Rename gives the settings of d their new names, and returns a warning for each
// with its position. A setting given under both names is an Error.
func (d *Document) Rename(list ...Rename) (warnings []string, err error) {
	for _, r := range list {
		err := renameIn(d.value, "", strings.Split(r.Old, "."), r.New, func(path, old string) {
			if d.renamed == nil {
				d.renamed = map[string]string{}
			}
			d.renamed[join(path, r.New)] = old
			warning := fmt.Errorf("%s is now called %s; the old name works in this version only", join(path, old), r.New)
			if at := d.locate(steps(join(path, r.New))); at != nil {
				warning = withPosition(at, warning)
			}
			warnings = append(warnings, warning.Error())
		})
		if err != nil {
			return warnings, d.Locate(err)
		}
	}
	return warnings, nil
}

// RenameJSON is Document.Rename for JSON text without positions, such as the
// configuration in a run file. It gives no warnings.
func RenameJSON(raw json.RawMessage, list ...Rename) (json.RawMessage, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	for _, r := range list {
		if err := renameIn(value, "", strings.Split(r.Old, "."), r.New, func(string, string) {}); err != nil {
			return nil, err
		}
	}
	return json.Marshal(value)
}

// renameIn renames what path leads to within value, which is at the path above,
// and calls done with the path of the object and the old key for each.
func renameIn(value any, above string, path []string, name string, done func(above, old string)) error {
	object, _ := value.(map[string]any)
	switch list, ok := value.([]any); {
	case len(path) > 1 && ok:
		for i, elem := range list {
			if path[0] == "*" || path[0] == strconv.Itoa(i) {
				if err := renameIn(elem, join(above, strconv.Itoa(i)), path[1:], name, done); err != nil {
					return err
				}
			}
		}
	case len(path) > 1:
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if path[0] == "*" || path[0] == key {
				if err := renameIn(object[key], join(above, key), path[1:], name, done); err != nil {
					return err
				}
			}
		}
	case object != nil:
		old, ok := object[path[0]]
		if !ok {
			return nil
		}
		if _, both := object[name]; both {
			return &Error{steps(join(above, path[0])), Errorf("is the old name of %s, which is given too; leave it out", name)}
		}
		delete(object, path[0])
		object[name] = old
		done(above, path[0])
	}
	return nil
}

// join appends a step to a dotted path.
func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}

// steps returns a dotted path as an Error has it.
func steps(path string) []any {
	var out []any
	for part := range strings.SplitSeq(path, ".") {
		if i, err := strconv.Atoi(part); err == nil {
			out = append(out, Item{Index: i})
		} else {
			out = append(out, part)
		}
	}
	return out
}
