package propose

import (
	"fmt"
	"slices"
	"strings"
)

// notes says what the user should know of a proposal.
func notes(p pair) (all []string) {
	if y := p.y; p.task == Classify && y.Kind == Numbers && y.Names == nil && y.classes() > 2*y.distinct+2 {
		all = append(all, fmt.Sprintf("%s has %d different labels up to %v, so %d of the %d outputs are never used; number the classes from 0 to save them", y.Path, y.distinct, y.max, y.classes()-y.distinct, y.classes()))
	}
	if p.task == Segment && p.y.integers && p.y.distinct == 2 && p.y.max != 1 {
		all = append(all, fmt.Sprintf("%s holds %v and %v, which are regressed; store 0 and 1 for the binary cross entropy of pixels", p.y.Path, p.y.min, p.y.max))
	}
	return all
}

// describeInputs describes the inputs.
func (s *search) describeInputs(p pair) Choice {
	x, reason := p.x[0], p.xWhy
	if len(p.x) > 1 {
		if reason += "; identifiers, constants and groups are left out"; len(s.wishes.X) > 0 {
			reason = "columns, as asked"
		}
		return Choice{strings.Join(pathsOf(p.x), ", "), fmt.Sprintf("%d %s", len(p.x), reason)}
	}
	if x.kind != scalar {
		reason = strings.TrimPrefix(reason+"; ", x.kind.String()+"; ") + x.kind.String() + ": " + x.form.reason
	}
	return Choice{fmt.Sprintf("%s, %s %v", x.Path, x.Stored, x.shape()), reason}
}

func pathsOf(all []*candidate) []string {
	paths := make([]string, len(all))
	for i, c := range all {
		paths[i] = c.Path
	}
	return paths
}

func (c *candidate) shape() []int { return append([]int{c.rows()}, c.Row...) }

func describeTarget(p pair) Choice {
	var texts []string
	for _, y := range p.targets() {
		texts = append(texts, p.describe(y))
	}
	return Choice{strings.Join(texts, "; "), p.yWhy}
}

func (p pair) describe(y *candidate) string {
	text := fmt.Sprintf("%s, %s %v", y.Path, y.Stored, y.shape())
	if p.taskFor(y) == Classify {
		classes := y.distinct
		if y.noClass() {
			classes--
		}
		text = fmt.Sprintf("%s, %d classes", y.Path, classes)
		if y.words() {
			named := slices.DeleteFunc(slices.Clone(y.categories()), func(name string) bool { return name == "" })
			text += " (" + someOf(named, 4) + ")"
		}
	}
	return text
}

// commentOf returns a choice without the paths, which the line has.
func commentOf(c Choice) string {
	if _, what, ok := strings.Cut(c.Text, ", "); ok && !strings.Contains(what, "/") {
		return what + ": " + c.Reason
	}
	return c.Reason
}

// someOf lists at most some of the names.
func someOf(names []string, most int) string {
	if len(names) > most {
		names = append(slices.Clip(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}

// kindsOf returns the names of the layers of a network.
func kindsOf(n network) string {
	if n.preset != "" {
		return n.preset
	}
	var kinds []string
	for _, layer := range n.layers {
		name, _, _ := strings.Cut(layer, ":")
		if name != "relu" && name != "flatten" && name != "permute" && name != "reshape" {
			kinds = append(kinds, name)
		}
	}
	return strings.Join(kinds, "-")
}
