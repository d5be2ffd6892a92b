//go:build cgo

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// A namedNumber is a metric that is a single number.
type namedNumber struct {
	name    string
	value   float64
	percent bool
}

// numbersOf returns the loss in m, its accuracy, if it has one, and the
// metrics that are single numbers, by name.
func numbersOf(m train.Metrics, accuracy bool, prefix string) []namedNumber {
	var all []namedNumber
	for name, value := range m.Numbers(accuracy) {
		all = append(all, namedNumber{prefix + name, value, strings.HasSuffix("_"+name, "_accuracy")})
	}
	return all
}

// numbersText writes numbers in a line.
func numbersText(all []namedNumber) string {
	parts := make([]string, len(all))
	for i, f := range all {
		if f.percent {
			parts[i] = fmt.Sprintf("%s %.2f%%", f.name, 100*f.value)
		} else {
			parts[i] = f.name + " " + lossText(f.value)
		}
	}
	return strings.Join(parts, "  ")
}

// numbersJSON returns numbers as members of a JSON object.
func numbersJSON(all []namedNumber) (list fields) {
	for _, f := range all {
		list = append(list, field{f.name, f.value})
	}
	return list
}

// tablesText writes the metrics that are arrays, such as a confusion matrix.
func tablesText(m train.Metrics) (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.Values)) {
		if a := m.Values[name]; a.Len() != 1 {
			text, err := arrayfmt.Format(a, 80)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s\n%s\n", name, text)
		}
	}
	return b.String(), nil
}

// tablesJSON returns the metrics that are arrays as members of a JSON object.
func tablesJSON(m train.Metrics) (list fields) {
	for _, name := range slices.Sorted(maps.Keys(m.Values)) {
		if a := m.Values[name]; a.Len() != 1 {
			elements, err := storage.Read[float64](a)
			if err == nil {
				list = append(list, field{name, nested(elements, a.Shape)})
			}
		}
	}
	return list
}

// nested returns elements as lists of lists of that shape.
func nested(elements []float64, shape []int) any {
	if len(shape) < 2 {
		return elements
	}
	rows := make([]any, shape[0])
	for i := range rows {
		n := len(elements) / shape[0]
		rows[i] = nested(elements[i*n:(i+1)*n], shape[1:])
	}
	return rows
}
