package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/train"
)

// loseNormalization records by add what a run does outside of its model, to its inputs and to the
// targets that its outputs are compared with. other is the model that is written, which takes the inputs without that.
func (p *Plan) loseNormalization(features []train.Feature, other string, add func(path string, kind loss.Kind, n int, format string, args ...any)) {
	n := p.Source.Config.Data.Normalize
	inputs := p.Source.Config.Data.InputNames()
	for _, f := range features {
		inputs = append(inputs, f.Name)
		if one := n.For(f.Name); !one.IsIdentity() {
			add(f.Name, loss.Property, 1, "the inputs are normalized before the model; do the same to what %s takes: x*%s", other, p.numbers(f.Name, one.Scale, one.Shift, " + "))
		}
	}
	for _, name := range p.Source.Config.Data.TargetNames() {
		one := n.ForTarget(name)
		_, stored := p.Source.byName()[normalizeArrays+name+"/scale"]
		if slices.Contains(inputs, name) || one.IsIdentity() || one.IsAuto() && !stored {
			continue
		}
		minus := make([]float64, len(one.Shift))
		for i, x := range one.Shift {
			minus[i] = -x
		}
		add(name, loss.Property, 1, "the outputs are normalized as the targets were; they are in the units of the data as (y + %s", p.numbers(name, minus, one.Scale, ")/"))
	}
}

// normalizeArrays begins the names of normalizations of many numbers, which a run file has as arrays.
const normalizeArrays = "normalize/"

// numbers returns two lists of numbers as text, with what is between them, or where they are if they
// are many.
func (p *Plan) numbers(name string, first, second []float64, between string) string {
	const shown = 8
	switch n := len(first); {
	case n == 0:
		return fmt.Sprintf("a%sb, with the numbers in %s%s of %s", between, normalizeArrays, name, p.Source.Name)
	case n > shown:
		return fmt.Sprintf("a%sb, with the numbers of data.normalize in the configuration of %s", between, p.Source.Name)
	}
	return numberText(first) + between + numberText(second)
}

// numberText returns a list as NumPy reads it, or its only number.
func numberText(list []float64) string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = fmt.Sprintf("%.9g", x)
	}
	if len(list) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
