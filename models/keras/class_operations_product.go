package keras

import (
	"fmt"
	"slices"
	"strings"
)

// Products of two tensors.
var _ = register(class{several: true, order: operationOrder, shapes: productShapes, nodes: productNodes}, "ops.Matmul", "ops.Einsum", "Dot")

// equationOf returns the products of two inputs in einsum's notation, with a letter for each axis, b for the samples.
func equationOf(l *settings, in [][]int) (terms []string, result string) {
	const letters = "cdefghijklmnopqrstuvwxyz"
	if len(in) != 2 || len(in[0])+len(in[1]) > len(letters) {
		l.refuse("%d inputs of shapes %v", len(in), in)
		return nil, ""
	}
	x, y := letters[:len(in[0])], letters[len(in[0]):][:len(in[1])]
	switch l.Class {
	case "Dot":
		axes := l.Ints("axes")
		if len(axes) == 0 || len(axes) > 2 {
			l.refuse("axes %v", axes)
			return nil, ""
		}
		i, j := axis(axes[0], len(x)+1)-1, axis(axes[len(axes)-1], len(y)+1)-1
		if i < 0 || j < 0 || i >= len(x) || j >= len(y) {
			l.refuse("axes %v of %v", axes, in)
			return nil, ""
		}
		result = x[:i] + x[i+1:] + y[:j] + y[j+1:]
		y = y[:j] + x[i:i+1] + y[j+1:]
	case "ops.Matmul":
		n := len(x)
		if n < 2 || n != len(y) || !slices.Equal(in[0][:n-2], in[1][:n-2]) {
			l.refuse("inputs of shapes %v", in)
			return nil, ""
		}
		y = x[:n-2] + x[n-1:] + y[n-1:]
		result = x[:n-1] + y[n-1:]
	case "ops.Einsum":
		return einsumTerms(l, in)
	}
	return []string{"b" + x, "b" + y}, "b" + result
}

// einsumTerms returns the terms and the result of the equation of an Einsum, with letters in the place of dots.
func einsumTerms(l *settings, in [][]int) (terms []string, result string) {
	inputs, result, ok := strings.Cut(strings.ReplaceAll(l.Text("subscripts", ""), " ", ""), "->")
	terms = strings.Split(inputs, ",")
	if ok = ok && len(terms) == len(in); ok {
		for i, term := range terms {
			if dots := len(in[i]) + 1 - (len(term) - 3); strings.HasPrefix(term, "...") && dots > 0 && dots <= 8 {
				terms[i] = "ABCDEFGH"[:dots] + term[3:]
			}
		}
		if strings.HasPrefix(result, "...") {
			result = terms[0][:max(0, len(in[0])+1-(len(inputs[:strings.IndexByte(inputs+",", ',')])-3))] + result[3:]
		}
	}
	for i, term := range append(slices.Clone(terms), result) {
		ok = ok && term != "" && term[0] == terms[0][0] && strings.Count(term, term[:1]) == 1 && !strings.Contains(term, ".") && (i >= len(in) || len(term) == len(in[i])+1)
	}
	if !ok {
		l.refuse("the equation %q of samples of shapes %v", l.Text("subscripts", ""), in)
		return nil, ""
	}
	return terms, result
}

func productShapes(l *settings, in [][]int) [][]int {
	terms, result := equationOf(l, in)
	if terms == nil {
		return nil
	}
	sizes, shape := map[rune]int{}, []int{}
	for i, term := range terms {
		for at, letter := range term[1:] {
			n := in[i][at]
			if have, ok := sizes[letter]; ok && have != n && have > 0 && n > 0 {
				l.refuse("inputs of shapes %v", in)
			}
			if n > 0 || sizes[letter] == 0 {
				sizes[letter] = n
			}
		}
	}
	for _, letter := range result[1:] {
		n, ok := sizes[letter]
		if !ok {
			l.refuse("the equation %q", l.Text("subscripts", ""))
		}
		shape = append(shape, n)
	}
	if l.Class == "Dot" && len(shape) == 0 {
		shape = []int{1}
	}
	return [][]int{shape}
}

func productNodes(b *builder, l *settings, in []value) value {
	all := make([]value, len(in))
	for i, v := range in {
		if all[i] = b.last(v); v.steps || l.Class != "Dot" && len(operandsOf(l)) != len(in) {
			l.refuse("a mask, or operands besides tensors")
		}
		if l.Class == "Dot" && l.Bool("normalize", false) && l.failed() == nil {
			axes := l.Ints("axes")
			unit := &Layer{Class: "UnitNormalization", Name: l.Name, Config: map[string]any{"axis": axes[min(i, len(axes)-1)]}}
			one := l.of(unit)
			one.path = fmt.Sprintf("%s_unit%d", l.path, i+1)
			all[i] = unitNodes(b, one, all[i:i+1])
		}
	}
	terms, result := equationOf(l, shapesOfValues(in))
	v := value{node: all[0].node}
	switch {
	case l.failed() != nil:
	case l.Class == "ops.Matmul":
		v.node = b.function(l, "matmul", nil, all...).node
	case len(result) == 1 && l.Class == "Dot": // Σ x·y
		v.node = b.function(l, "einsum", map[string]any{"equation": strings.Join(terms, ",") + "->" + result}, all...).node
		v.node = b.add(l, "one", map[string]any{"reshape": map[string]any{"shape": []int{1}}}, v.node)
	default:
		v.node = b.function(l, "einsum", map[string]any{"equation": strings.Join(terms, ",") + "->" + result}, all...).node
	}
	return v
}
