package keras

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var numbered = regexp.MustCompile(`_\d+$`)

// InferNames returns the names of the variables of a layer in a .weights.h5 file without
// the configuration of its model, from the name of the layer's group, which is that of
// its class with a number, and from the paths and shapes of its variables. Variables of
// classes that are not known keep their paths. It is an error if they may have several
// names: a BatchNormalization with three variables lacks gamma or beta.
func InferNames(group string, paths []string, shapes [][]int) ([]string, error) {
	class := classOf(group)
	if class == "" {
		return withoutVars(paths), nil
	}
	var found [][]string
	for i := range classes[class].samples {
		variables, _, err := Variables(&classes[class].samples[i])
		if err != nil {
			return nil, err
		}
		names, ok := matchPaths(class, variables, paths, shapes)
		if ok && !slices.ContainsFunc(found, func(other []string) bool { return slices.Equal(other, names) }) {
			found = append(found, names)
		}
	}
	switch {
	case len(found) == 0 && slices.Contains([]string{"TimeDistributed", "Bidirectional", "RNN"}, class): // around another layer, or cells
		return withoutVars(paths), nil
	case len(found) == 0:
		return nil, fmt.Errorf("%d variables do not fit a %s; give the file's model with its configuration: %w", len(paths), class, ErrConfig)
	case len(found) == 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d variables of a %s may be %s or %s; use the .keras file, which has the configuration: %w",
		len(paths), class, strings.Join(found[0], ", "), strings.Join(found[1], ", "), ErrConfig)
}

// classOf returns the class whose layers have groups of that name, or "".
func classOf(group string) string {
	for class, c := range classes {
		name := Snake(class)
		if c.samples != nil && (name == group || name == numbered.ReplaceAllString(group, "")) {
			return class
		}
	}
	return ""
}

// matchPaths returns the names of the variables at paths, if they can be those.
func matchPaths(class string, variables []Variable, paths []string, shapes [][]int) (names []string, ok bool) {
	byPath := map[string]string{}
	for _, v := range variables {
		byPath[v.Path] = v.Name
	}
	matched := 0
	for i, path := range paths {
		name, ok := byPath[strings.TrimPrefix(path, "_")]
		switch {
		case ok && !plausible(class, name, shapes[i]):
			return nil, false
		case ok:
			matched++
		case !strings.Contains(path, "seed_generator/"):
			return nil, false
		default:
			name = withoutVars(paths[i : i+1])[0]
		}
		names = append(names, name)
	}
	return names, matched == len(variables)
}

// plausible reports whether a variable can have that shape: a bias of a Dense is not a
// matrix, and a kernel is not a vector.
func plausible(class, name string, shape []int) bool {
	if shape == nil || strings.HasPrefix(class, "Ein") || class == "MultiHeadAttention" {
		return true
	}
	switch name[strings.LastIndexByte(name, '/')+1:] {
	case "kernel", "recurrent_kernel", "embeddings", "depthwise_kernel", "pointwise_kernel":
		return len(shape) >= 2
	case "bias":
		return len(shape) == 1 || class == "GRU" && len(shape) == 2 || class == "Bidirectional"
	}
	return true
}

func withoutVars(paths []string) []string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.ReplaceAll("/"+path, "/vars/", "/")[1:]
	}
	return names
}
