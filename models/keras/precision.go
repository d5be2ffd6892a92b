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
		name, _ := l.Config["dtype"].(string)
		if policy, ok := l.Config["dtype"].(map[string]any); ok {
			name, _ = field(policy, "name").(string)
		}
		if l.Class != "InputLayer" {
			layers[strings.TrimPrefix(name, "mixed_")]++
		}
	}
	for name, digit := range digits {
		count := fmt.Sprintf("%d layers", layers[name])
		if layers[name] == 1 {
			count = "1 layer"
		}
		if layers[name] > 0 {
			lines = append(lines, fmt.Sprintf("Keras computes %s in %s and h5dnn in float32: predictions may differ from the %s digit on", count, name, digit))
		}
	}
	slices.Sort(lines)
	return lines
}
