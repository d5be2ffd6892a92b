package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/storage"
)

func isTensor(value any) bool {
	switch value := value.(type) {
	case *pickle.Persistent:
		_, err := storageOf(value)
		return err == nil
	case *pickle.Object:
		_, err := tensorOf(value, 0)
		return err != errNoTensor
	}
	return false
}

// isOptimizer reports whether value looks like the state_dict of an optimizer.
func isOptimizer(value any) bool {
	d, _ := value.(*pickle.Dict)
	_, state := d.Get("state")
	_, groups := d.Get("param_groups")
	return state && groups
}

// containsMore reports whether an item of a list is neither a scalar nor a list of scalars.
func containsMore(item any) bool {
	switch item := item.(type) {
	case *pickle.Dict, *pickle.Object, *pickle.Persistent, *pickle.Set:
		return true
	case *pickle.List:
		return slices.ContainsFunc(item.Items, isContainer)
	case pickle.Tuple:
		return slices.ContainsFunc(item, isContainer)
	}
	return false
}

func isContainer(item any) bool {
	switch item.(type) {
	case *pickle.Dict, *pickle.Object, *pickle.Persistent, *pickle.Set, *pickle.List, pickle.Tuple:
		return true
	}
	return false
}

// pathClasses are the classes of paths of files, which are pickled as their parts.
var pathClasses = []string{"pathlib.PosixPath", "pathlib.WindowsPath", "pathlib.PurePosixPath", "pathlib.PureWindowsPath", "pathlib._local.PosixPath", "pathlib._local.WindowsPath"}

// fileName returns the text of a path.
func fileName(o *pickle.Object) string {
	separator := "/"
	if g, _ := o.Class.(pickle.Global); strings.Contains(g.Name, "Windows") {
		separator = `\`
	}
	name := ""
	for _, arg := range o.Args {
		part, _ := arg.(string)
		if name != "" && !strings.HasSuffix(name, separator) {
			name += separator
		}
		name += part
	}
	return name
}

// moduleOf returns the attributes of a pickled torch.nn.Module, or nil.
func moduleOf(o *pickle.Object) *pickle.Dict {
	for _, state := range o.State {
		d, _ := state.(*pickle.Dict)
		_, parameters := d.Get("_parameters")
		_, modules := d.Get("_modules")
		if parameters && modules {
			return d
		}
	}
	return nil
}

// visit calls do with each value that a value contains, tuples as often as they are
// referred to, and at most limit values.
func visit(root any, limit int, do func(value any) error) error {
	seen := map[any]bool{}
	list := []any{root}
	for len(list) > 0 {
		value := list[len(list)-1]
		list = list[:len(list)-1]
		if limit--; limit < 0 {
			return fmt.Errorf("values contain too many others: %w", storage.ErrState)
		}
		switch value.(type) {
		case *pickle.Dict, *pickle.List, *pickle.Set, *pickle.Object, *pickle.Persistent:
			if seen[value] {
				continue
			}
			seen[value] = true
		}
		if err := do(value); err != nil {
			return err
		}
		switch value := value.(type) {
		case *pickle.Dict:
			list = append(append(append(list, value.Keys...), value.Values...), value.State...)
		case *pickle.List:
			list = append(list, value.Items...)
		case *pickle.Set:
			list = append(list, value.Items...)
		case pickle.Tuple:
			list = append(list, value...)
		case *pickle.Persistent:
			// its id has no storages
		case *pickle.Object:
			list = append(append(append(list, value.Class), value.Args...), value.State...)
			if value.Items != nil {
				list = append(list, value.Items)
			}
			if value.List != nil {
				list = append(list, value.List)
			}
		}
	}
	return nil
}
