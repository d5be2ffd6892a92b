package propose

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// mostCategories is the number of different strings that a column of inputs may have.
const mostCategories = 50

// usefulColumns returns the inputs of p without columns that the split uses or that have
// too many categories.
func (s *search) usefulColumns(p pair) []*candidate {
	if len(p.x) == 1 || len(s.wishes.X) > 0 {
		return p.x
	}
	return slices.DeleteFunc(slices.Clone(p.x), func(c *candidate) bool { return c.words() && c.distinct > mostCategories })
}

// rowSettings returns the settings that weigh and leave out rows.
func (s *search) rowSettings(p pair) (all []Setting) {
	if p.task == Classify && p.y.Names == nil && p.y.noClass() && p.y.Kind == Numbers {
		all = append(all, Setting{"rows", Quoted(p.y.Path + ">=0"), "-1 marks rows without a class"})
	}
	if slices.ContainsFunc(p.x, func(c *candidate) bool { return c.Names != nil && c.noClass() }) {
		all = append(all, Setting{"unknown", "-1", "-1 marks rows without a category"})
	}
	if w := s.beside(p, weighting); len(w) > 0 {
		all = append(all, Setting{"weights", Quoted(w[0].Path), "of the samples in the loss"})
	}
	return all
}

// noClass reports whether some rows of a column of labels have no class: -1, or an empty string.
func (c *candidate) noClass() bool {
	return c.Kind == Numbers && c.min == -1 || c.Kind == Texts && c.texts[""] > 0
}

// missing returns the setting for missing values.
func missing(p pair) []Setting {
	fill, count := "mean", 0
	for _, c := range p.x {
		count += c.missing
	}
	if p.task == Forecast && len(p.x[0].Row) <= 1 { // train fills tables so
		fill = "previous"
	}
	var ignored []string
	for _, y := range p.targets() {
		if y.missing > 0 && p.task != Classify || p.task == Classify && y.words() && y.noClass() {
			ignored = append(ignored, p.nameOf(y)+": ignore")
		}
	}
	comment := fmt.Sprintf("%d missing among the sampled values of the inputs", count)
	switch {
	case len(ignored) > 0 && count == 0 && p.y != p.x[0]:
		return []Setting{{"missing", "ignore", "samples without a target are left out of the loss"}}
	case len(ignored) > 0:
		return []Setting{{"missing", "{x: " + fill + ", " + strings.Join(ignored, ", ") + "}", comment}}
	case count > 0:
		return []Setting{{"missing", fill, comment}}
	}
	return nil
}

// rowForm returns the settings of windows, and of the channels of images and windows of fields.
func rowForm(p pair) (all []Setting) {
	x := p.x[0]
	if p.task == Forecast {
		all = []Setting{{"steps", fmt.Sprint(window(x.Rows)), "rows of a window"}, {"y_ahead", "1", "the target is the next row"}}
	}
	switch {
	case p.task == Forecast && len(x.Row) == 2:
		all = append(all, Setting{"layout", "nchw", "the steps of the window are channels"})
	case p.task != Forecast && len(p.x) == 1 && x.kind == image && x.last:
		all = append(all, Setting{"layout", "nhwc", "channels come last"})
	}
	return all
}

// normalization returns numbers to standardize by, where training does not choose them
// itself: for floats that are no table, far from 0 or 1, and for targets like inputs.
func normalization(p pair, net network) []Setting {
	var fields []string
	add := func(name string, c *candidate, always bool) {
		if c.std > 0 && (always || math.Abs(c.mean) > 3 || c.std < 0.2 || c.std > 5) {
			fields = append(fields, fmt.Sprintf("%s: {mean: %.4g, std: %.4g}", name, c.mean, c.std))
		}
	}
	x := p.x[0]
	values := net.loss == "mse" && len(p.y.Row) > 1
	switch {
	case len(p.x) > 1 || x.Kind != Numbers || x.kind == tokens:
	case values && (x == p.y || !x.Type.IsFloat()):
		add("x", x, true)
	case len(x.Row) > 1 && x.Type.IsFloat():
		add("x", x, false)
	}
	for _, y := range p.targets() {
		if values {
			add(p.nameOf(y), y, true)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return []Setting{{"normalize", "{" + strings.Join(fields, ", ") + "}", "of a sample"}}
}

// targetsYAML writes the path of the target, or names with the path of each.
func targetsYAML(p pair) string {
	if len(p.more) == 0 {
		return Quoted(p.y.Path)
	}
	var all []string
	for _, y := range p.targets() {
		all = append(all, fieldName(y.Path)+": "+Quoted(y.Path))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// pathsYAML writes one path, or a list.
func pathsYAML(all []*candidate) string {
	if len(all) == 1 {
		return Quoted(all[0].Path)
	}
	var quoted []string
	for _, c := range all {
		quoted = append(quoted, Quoted(c.Path))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Quoted returns text as a YAML string.
func Quoted(text string) string {
	if strings.ContainsAny(text, `:#*?{}[]&!|>'"%@,=`+"`") || text == "" || strings.HasPrefix(text, "-") || strings.HasPrefix(text, " ") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
