package keras

import (
	"fmt"
	"slices"
	"strings"
)

// digits are the decimal digits that types have, in which Keras may compute and h5dnn does not. Of
// float64 it is those that float32 has.
var digits = map[string]string{"float16": "third", "bfloat16": "second", "float64": "seventh"}

// Precision says how predictions of h5dnn, which computes in float32, differ from those of a model whose
// layers compute in other types by their policies, such as mixed_float16: a line for each type.
func Precision(m *Model) (lines []string) {
	layers := map[string]int{}
	for _, l := range m.All() {
		if l.Class != "InputLayer" {
			layers[computeType(l.Config["dtype"])]++
		}
	}
	for name, digit := range digits {
		if n := layers[name]; n > 0 {
			lines = append(lines, fmt.Sprintf("Keras computes %s in %s and h5dnn in float32: predictions may differ from the %s digit on", plural(n), name, digit))
		}
	}
	slices.Sort(lines)
	return lines
}

func plural(layers int) string {
	if layers == 1 {
		return "1 layer"
	}
	return fmt.Sprintf("%d layers", layers)
}

// computeType returns the type in which a layer with that setting dtype computes: a name, or the
// object of a policy.
func computeType(setting any) string {
	if policy, ok := setting.(map[string]any); ok {
		config, _ := policy["config"].(map[string]any)
		setting = config["name"]
	}
	name, _ := setting.(string)
	return strings.TrimPrefix(name, "mixed_")
}
