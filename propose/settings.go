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

// possible returns an error for what training does not do yet, with what works instead.
func (s *search) possible(p pair) error {
	for _, y := range p.targets() {
		if err := s.possibleTarget(p, y); err != nil {
			return err
		}
	}
	x := p.x[0]
	for _, c := range p.x {
		switch {
		case c.role == unusable, c.role == constant, c.role == identifier && c.Kind == Texts:
			return refuse("%s cannot be an input: %s", c.Path, c.why)
		case c.kind == tokens:
			return refuse("%s holds the numbers of words (%s), which are no quantities, and there are no embedding layers yet; store counts of words or one-hot rows", c.Path, c.form.reason)
		case len(p.x) > 1 && (len(c.Row) > 1 || c.Kind == Ragged):
			return refuse("%s holds %s, which are no columns to join with others; write a graph of several inputs in a configuration", c.Path, c.kind)
		case len(p.x) > 1 && (stars(c) != stars(x) || !slices.Equal(c.Rows, x.Rows)):
			return refuse("%s has %d rows and %s %d; want the same", x.Path, x.rows(), c.Path, c.rows())
		case c.kind == unknown:
			return &Refusal{fmt.Sprintf("%s: rows of %v have more axes than a layer takes", c.Path, c.Row), Wishes{X: []string{c.Path + "[:, 0]"}}}
		}
	}
	return nil
}

// possibleTarget is possible for one target.
func (s *search) possibleTarget(p pair, y *candidate) error {
	switch x := p.x[0]; {
	case y.role == unusable || y.role == constant || y.role == identifier && p.task == Classify:
		return refuse("%s cannot be a target: %s", y.Path, y.why)
	case p.task == Classify && y.Kind == Numbers && y.Names == nil && y.min < 0 && !(y.min == -1 && y.distinct > 2):
		return &Refusal{fmt.Sprintf("%s holds classes from %v, and train counts classes from 0", y.Path, y.min), Wishes{Task: Regress}}
	case p.task == Classify && y.Type.IsFloat() && y.Kind == Numbers && !binaryOutput(y):
		return &Refusal{fmt.Sprintf("%s holds classes as %v, and cross entropy takes integers; store them as integers", y.Path, y.Type), Wishes{Task: Regress}}
	case p.task == Segment && y.integers && y.distinct > 2:
		return refuse("%s holds %d classes of pixels, and there is no cross entropy of pixels yet; store a mask of 0 and 1 for one class", y.Path, y.distinct)
	case !slices.Equal(x.Rows, y.Rows):
		return refuse("%s has %v rows and %s %v; want the same", x.Path, x.Rows, y.Path, y.Rows)
	}
	return nil
}

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
	x := p.x[0]
	if len(p.x) > 1 {
		var paths []string
		for _, c := range p.x {
			paths = append(paths, c.Path)
		}
		if len(s.wishes.X) > 0 {
			return Choice{strings.Join(paths, ", "), fmt.Sprintf("%d columns, as asked", len(p.x))}
		}
		return Choice{strings.Join(paths, ", "), fmt.Sprintf("%d %s; identifiers, constants and groups are left out", len(p.x), p.xWhy)}
	}
	reason := p.xWhy
	if x.kind != scalar {
		reason = strings.TrimPrefix(reason+"; ", x.kind.String()+"; ") + x.kind.String() + ": " + x.form.reason
	}
	return Choice{fmt.Sprintf("%s, %s %v", x.Path, x.Stored, x.shape()), reason}
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
	if p.task == Classify {
		classes := y.distinct
		if y.noClass() {
			classes--
		}
		text = fmt.Sprintf("%s, %d classes", y.Path, classes)
		if y.words() {
			text += " (" + someOf(y.categories(), 4) + ")"
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

// windows returns the settings of a forecast.
func windows(p pair) []Setting {
	if p.task != Forecast {
		return nil
	}
	return []Setting{
		{"steps", fmt.Sprint(window(p.x[0].Rows)), "rows of a window"},
		{"y_ahead", "1", "the target is the next row"},
	}
}

// rowSettings returns the settings that weigh and leave out rows.
func (s *search) rowSettings(p pair) (all []Setting) {
	if p.task == Classify && p.y.Names == nil && p.y.noClass() && p.y.Kind == Numbers {
		all = append(all, Setting{"rows", Quoted(p.y.Path + ">=0"), "-1 marks rows without a class"})
	}
	if slices.ContainsFunc(p.x, func(c *candidate) bool { return c.words() && c.noClass() }) {
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

// layoutOf returns the setting of images whose channels come last, and of windows of fields.
func layoutOf(p pair) []Setting {
	if p.task == Forecast && len(p.x[0].Row) == 2 {
		return []Setting{{"layout", "nchw", "the steps of the window are channels"}}
	}
	if x := p.x[0]; len(p.x) == 1 && x.kind == image && x.last && p.task != Forecast {
		return []Setting{{"layout", "nhwc", "channels come last"}}
	}
	return nil
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
	case len(p.x) > 1 || x.Kind != Numbers:
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
func pathsYAML(paths []string) string {
	if len(paths) == 1 {
		return Quoted(paths[0])
	}
	all := make([]string, len(paths))
	for i, p := range paths {
		all[i] = Quoted(p)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Quoted returns text as a YAML string.
func Quoted(text string) string {
	if strings.ContainsAny(text, `:#*?{}[]&!|>'"%@,=`+"`") || text == "" || strings.HasPrefix(text, "-") || strings.HasPrefix(text, " ") {
		return fmt.Sprintf("%q", text)
	}
	return text
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
