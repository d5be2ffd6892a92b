package torch

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/loss"
)

// partsOf returns the parts of names that the keys of the dict at a path become, and the keys in the
// structure. Equal texts of different keys become different names. Those of keys that become text are
// keys themselves when the dict is written, so the others have their names first.
func (w *walker) partsOf(path string, d *pickle.Dict) (parts []string, keys []any) {
	parts, keys = make([]string, len(d.Keys)), slices.Clone(d.Keys)
	var taken map[string]bool // if keys that are not text are among them
	if slices.ContainsFunc(d.Keys, func(key any) bool { _, isText := key.(string); return !isText }) {
		taken = make(map[string]bool, len(d.Keys))
	}
	for _, plain := range []bool{true, false} {
		for i, key := range d.Keys {
			if isPlainKey(key) != plain {
				continue
			}
			text := w.keyText(key)
			part := partOf(path, text)
			parts[i] = part
			for n := 2; taken[parts[i]]; n++ {
				parts[i] = fmt.Sprintf("%s'%d", part, n)
			}
			if taken != nil {
				taken[parts[i]] = true
			}
			if parts[i] != part && plain {
				w.renamed[join(path, parts[i])] = join(path, text)
			}
			if plain {
				continue
			}
			keys[i] = parts[i]
			w.omit(join(path, parts[i]), loss.Type, 1, "its key is of type %s, which becomes text", pickle.TypeOf(key))
		}
	}
	return parts, keys
}

// partOf returns the part of a name that a key of the dict at a path becomes. Names in HDF5 have no slash
// after another one, as that of a file in a dict.
func partOf(path, key string) string {
	if part := strings.TrimLeft(key, "/"); path != "" && part != "" {
		return part
	}
	return key
}

// join returns the name of a part in the dict at a path.
func join(path, part string) string {
	if path == "" {
		return part
	}
	return path + "/" + part
}

// isPlainKey reports whether a key is kept: torch.load makes it with weights_only=True.
func isPlainKey(key any) bool {
	switch key := key.(type) {
	case *pickle.Object, *pickle.Persistent, *pickle.Set:
		return false
	case *big.Int:
		return !pickle.IsLong(key)
	case pickle.Global:
		return isDType(key)
	case pickle.Tuple:
		return !slices.ContainsFunc(key, func(item any) bool { return !isPlainKey(item) })
	}
	return true
}
