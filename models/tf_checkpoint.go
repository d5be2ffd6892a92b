package models

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// A checkpoint of TensorFlow 2 names the variables of a model of Keras 2 after the attributes that lead
// to them. Layers are numbered, without those that have no weights, in the order of the model:
//
//	layer_with_weights-0/kernel
//	layer_with_weights-1/cell/recurrent_kernel
//	layer_with_weights-2/layer_with_weights-0/bias     of a model in the model
//
// save_weights and SavedModel begin there, tf.train.Checkpoint(model=m) with model/.

// numberedLayer is a variable of a layer, with what leads to the model, and the number.
var numberedLayer = regexp.MustCompile(`^((?:.*?/)??)layer_with_weights-(\d+)/`)

// isTFCheckpoint reports whether the arrays are the variables of a model in such a checkpoint.
func (s *Source) isTFCheckpoint() bool {
	return slices.ContainsFunc(s.Entries, func(e serialize.Entry) bool { return numberedLayer.MatchString(e.Name) })
}

// takeTFCheckpoint names the variables after the layers of m.
func (s *Source) takeTFCheckpoint(m *keras.Model) error {
	roots := map[string]bool{}
	names := map[string]string{} // of the layers' variables, by those of the file
	for _, e := range s.Entries {
		if found := numberedLayer.FindStringSubmatch(e.Name); found != nil && !strings.Contains(found[1], "optimizer") {
			roots[found[1]] = true
		}
	}
	if len(roots) != 1 {
		return fmt.Errorf("%s has variables of %d models, and the architecture is that of one: %w", s.Name, len(roots), weights.ErrAmbiguous)
	}
	root := ""
	for root = range roots {
	}
	if err := s.matchLayers(m, root, "", names); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	var named []serialize.Entry
	for _, e := range s.Entries {
		name, ok := names[e.Name]
		if !ok && strings.HasPrefix(e.Name, root+"layer_with_weights-") {
			return fmt.Errorf("%s: %s is no variable of the architecture: %w", s.Name, e.Name, weights.ErrShape)
		}
		if !ok {
			s.notWeights = append(s.notWeights, e.Name)
			continue
		}
		e.Name = name
		named = append(named, e)
	}
	s.Entries = named
	for at, l := range m.All() {
		l.Weights = nil
		variables, _, err := keras.Variables(l)
		if err != nil || l.Model != nil {
			continue
		}
		for _, v := range variables {
			for _, e := range s.Entries {
				if e.Name == at+"/"+v.Name {
					l.Weights = append(l.Weights, keras.Weight{Name: v.Name, Path: e.Name, Array: e.Array})
				}
			}
		}
	}
	s.Framework, s.Model = Keras, m
	return nil
}

// matchLayers finds the variables of the layers of a model below a path in the file. prefix begins
// their names.
func (s *Source) matchLayers(m *keras.Model, below, prefix string, names map[string]string) error {
	n := 0
	for i := range m.Layers {
		l := &m.Layers[i]
		variables, known, err := keras.Variables(l)
		if err != nil {
			return err
		}
		at := below + "layer_with_weights-" + strconv.Itoa(n) + "/"
		switch {
		case l.Model != nil:
			before := len(names)
			if err := s.matchLayers(l.Model, at, prefix+l.Name+"/", names); err != nil {
				return err
			}
			if len(names) > before {
				n++
			}
			continue
		case !known:
			return fmt.Errorf("%s%s: the variables of %s are not known: %w", prefix, l.Name, l.Class, weights.ErrUnsupported)
		case len(variables) == 0:
			continue
		}
		if err := s.matchVariables(variables, at, prefix+l.Name+"/", names); err != nil {
			return err
		}
		n++
	}
	return nil
}

// matchVariables finds the variables of a layer by the attributes that have them. Of attributes that
// Keras 3 calls otherwise, one is left on both sides.
func (s *Source) matchVariables(variables []keras.Variable, at, layer string, names map[string]string) error {
	stored := map[string]bool{} // and not matched
	for _, e := range s.Entries {
		if strings.HasPrefix(e.Name, at) {
			stored[e.Name] = true
		}
	}
	left := map[string][]string{} // variables that are not found, by the object that has them
	for _, v := range variables {
		object, _, _ := strings.Cut("/"+v.Path, "/vars/")
		object = at + strings.TrimPrefix(object, "/")
		if object != at {
			object += "/"
		}
		found := false
		for _, path := range []string{object + path.Base(v.Name), at + "_" + strings.TrimPrefix(object, at) + path.Base(v.Name)} {
			if stored[path] && !found {
				found, names[path] = true, layer+v.Name
				delete(stored, path)
			}
		}
		if !found {
			left[object] = append(left[object], v.Name)
		}
	}
	for _, v := range variables { // in their order, for the errors
		for _, object := range slices.Sorted(maps.Keys(left)) {
			missing := left[object]
			if missing[0] != v.Name {
				continue
			}
			var rest []string
			for name := range stored {
				if path.Dir(name)+"/" == object {
					rest = append(rest, name)
				}
			}
			if len(missing) != 1 || len(rest) != 1 {
				return fmt.Errorf("%s%s is not among the variables %s: %w", layer, missing[0], strings.TrimSuffix(at, "/"), storage.ErrState)
			}
			names[rest[0]] = layer + missing[0]
		}
	}
	return nil
}
