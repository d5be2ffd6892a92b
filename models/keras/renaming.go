package keras

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// RenameLayers renames the layers of a description that have slashes in their names, which Keras 3
// refuses, or dots, which its PyTorch backend refuses: conv1/bn.a becomes conv1_bn_a. renamed has the
// new paths of layers by the old ones, in models within models too.
func RenameLayers(text string) (changed string, renamed map[string]string, err error) {
	o, err := decode(text)
	if err != nil {
		return "", nil, err
	}
	renamed = map[string]string{}
	if config := configIn(o); config != nil {
		replaceName(config)
		renameLayers(config, "", "", renamed)
	}
	if len(renamed) == 0 {
		return text, nil, nil
	}
	changed, err = encode(o)
	return changed, renamed, err
}

func replaceName(config map[string]any) {
	if name, ok := config["name"].(string); ok {
		config["name"] = underscores.Replace(name)
	}
}

var underscores = strings.NewReplacer("/", "_", ".", "_")

// renameLayers renames the layers of a model, whose paths begin with old, and with new afterwards, and collects the paths
// of those.
func renameLayers(config map[string]any, old, new string, renamed map[string]string) {
	layers := objectsIn(config["layers"])
	taken := map[string]bool{}
	for _, l := range layers {
		taken[nameOf(l)] = true
	}
	names := map[string]string{}
	for _, l := range layers {
		name := nameOf(l)
		to := name
		if strings.ContainsAny(name, "/.") {
			to = underscores.Replace(name)
			for i := 1; taken[to]; i++ {
				to = fmt.Sprintf("%s_%d", underscores.Replace(name), i)
			}
			taken[to] = true
			names[name] = to
		}
		if old+name != new+to {
			renamed[old+name] = new + to
		}
		settings := configIn(l)
		if settings != nil {
			settings["name"] = to
		}
		if l["name"] != nil {
			l["name"] = to
		}
		if isModel(textIn(l, "class_name")) {
			renameLayers(settings, old+name+"/", new+to+"/", renamed)
		} else {
			inner(settings)
		}
	}
	graph{config: config, layers: layers}.each(func(ref []any) {
		if to, ok := names[fmt.Sprint(ref[0])]; ok {
			ref[0] = to
		}
	})
}

// inner renames the layers that a layer is around, which have no entries of their own.
func inner(settings map[string]any) {
	for _, v := range settings {
		if o, ok := v.(map[string]any); ok && o["class_name"] != nil {
			if config := configIn(o); config != nil {
				replaceName(config)
				inner(config)
			}
		}
	}
}

// Renamed returns the name of an entry of a layer, or of an optimizer's buffer for it, after the
// layers at some paths were renamed.
func Renamed(entry string, renamed map[string]string) string {
	slot, rest := "", entry
	if parts := strings.SplitN(entry, "/", 3); len(parts) == 3 && parts[0] == "optimizer" {
		slot, rest = parts[0]+"/"+parts[1]+"/", parts[2]
	}
	for at := len(rest); at > 0; at = strings.LastIndexByte(rest[:at], '/') {
		if to, ok := renamed[rest[:at]]; ok {
			return slot + to + rest[at:]
		}
	}
	return entry
}

// Differences yields the paths of layers of a model of Keras 2, translated for Keras 3, that are not
// the same there, and how they differ: they compute other values, or Keras 3 does not have them.
func Differences(m *Model) iter.Seq2[string, string] {
	return func(yield func(path, how string) bool) {
		for path, l := range m.All() {
			how := ""
			inner, _ := l.Config["layer"].(map[string]any)
			switch {
			case l.Class == "TFOpLambda" || l.Class == "SlicingOpLambda":
				how = fmt.Sprintf("no operation of Keras 3 is known for tf.%v with its arguments; Keras 3 does not load the model: build it without that function, and save its weights in Keras 2", l.Config["function"])
			case slices.Contains(onlyKeras2, l.Class):
				how = fmt.Sprintf("Keras 3 has no %s, and does not load the model", l.Class)
			case l.Class == "Bidirectional" && field(inner, "go_backwards") == true:
				how = "Keras 3 has no Bidirectional around a layer with go_backwards, and does not load the model"
			case hasHardSigmoid(l.Config):
				how = "hard_sigmoid is 0.2x+0.5 in Keras 2 and x/6+0.5 in Keras 3, which predicts other values"
			case unknownSetting(l.Class, l.Config) != "":
				how = fmt.Sprintf("Keras 3 has no setting %s of a %s, and does not load the model", unknownSetting(l.Class, l.Config), l.Class)
			}
			if how != "" && !yield(path, how) {
				return
			}
		}
	}
}

// onlyKeras2 are classes of layers that Keras 3 does not have.
var onlyKeras2 = []string{"LocallyConnected1D", "LocallyConnected2D", "RandomHeight", "RandomWidth", "TensorFlowOpLayer", "ClassMethod", "DenseFeatures"}

// unknownSetting returns a setting of Keras 2 that Keras 3 refuses, as it was used, or "".
func unknownSetting(class string, config map[string]any) string {
	for _, u := range unused {
		for _, name := range u.settings {
			if config[name] != nil && u.value != nil && strings.HasPrefix(class, u.class) {
				return fmt.Sprintf("%s=%v", name, config[name])
			}
		}
	}
	if inner, _ := config["layer"].(map[string]any); inner != nil {
		return unknownSetting(textIn(inner, "class_name"), configIn(inner))
	}
	return ""
}

// hasHardSigmoid reports whether hard_sigmoid is among the settings of a layer, or of one that
// it is around. Convolutional LSTMs of Keras 2 say it always.
func hasHardSigmoid(config map[string]any) (has bool) {
	eachObject(config, func(o map[string]any) {
		for name, v := range o {
			has = has || strings.HasSuffix(name, "activation") && v == "hard_sigmoid"
		}
	})
	return has
}

// decode reads a description with numbers as they are written: Keras 3 refuses a momentum of 0
// that is not 0.0.
func decode(text string) (o map[string]any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("model configuration: %w (%w)", err, ErrConfig)
	}
	return o, nil
}
