package weights

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
)

// Rules are the names and operations that a user gives in a YAML file.
type Rules struct {
	// Modules are the names of PyTorch's modules by the paths of layers: "conv2d" to
	// "features.0". A star stands for the same text on both sides.
	Modules map[string]string `json:"modules,omitempty"`
	// Tensors are rules for single arrays, from the names that the input has.
	Tensors []TensorRule `json:"tensors,omitempty"`
	// Drop are names of the input that are left out on purpose.
	Drop Patterns `json:"drop,omitempty"`
	// Rest says what becomes of arrays that no rule names: "refuse" (the default), "keep"
	// or "drop".
	Rest string `json:"rest,omitempty"`

	name     string // of the file that they were read from
	document *config.Document
}

// A TensorRule computes arrays from others.
type TensorRule struct {
	From Patterns `json:"from"` // required
	To   Patterns `json:"to"`   // required
	Do   Patterns `json:"do,omitempty"`
}

// Patterns is a list of texts. In YAML a single text stands for a list of one.
type Patterns []string

// UnmarshalJSON reads a text or a list of texts.
func (p *Patterns) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		list = []json.RawMessage{text}
	}
	for _, raw := range list {
		one, ok := patternOf(raw)
		if !ok {
			return config.Errorf("cannot be %.40s; want a text or a list of texts", text)
		}
		*p = append(*p, one)
	}
	return nil
}

// patternOf reads a text. YAML without quotes makes an object of one with a colon, such as
// gates 0: 1 0 2.
func patternOf(raw json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, string(raw) != "null"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || len(object) != 1 {
		return "", false
	}
	for key, value := range object {
		if json.Unmarshal(value, &text) != nil {
			text = string(value) // a number
		}
		text = key + ": " + text
	}
	return text, true
}

// ParseRules reads Rules from the YAML of the named file. docs/models.md lists the operations,
// and a star stands for the same text on both sides:
//
//	modules: {conv2d: features.0, "dense*": "classifier.*"}
//	tensors:
//	  - {from: scale, to: scale, do: [reshape 1 -1, cast float16]}
//	drop: "*/temperature"
//	rest: refuse
//
// Unknown settings and operations are errors. Errors of the rules, also those of applying them,
// begin with the name and the line.
func ParseRules(name string, text []byte) (Rules, error) {
	c := Rules{name: name}
	var err error
	if c.document, err = config.ParseYAML(text); err == nil {
		err = c.document.Decode(&c)
	}
	if err != nil {
		return c, fmt.Errorf("%s:%w", name, err)
	}
	return c, c.locate(c.check())
}

// locate adds the position in the file to an error of a rule.
func (c Rules) locate(err error) error {
	if err == nil || c.document == nil {
		return err
	}
	return fmt.Errorf("%s:%w", c.name, c.document.Locate(err))
}

// inRule returns err as one of the rule for tensors of that number.
func inRule(i int, err error) error {
	return config.At(err, "tensors", config.Item{Kind: "rule", Index: i})
}

func (c Rules) check() error {
	if !slices.Contains([]string{"", "refuse", "keep", "drop"}, c.Rest) {
		return config.At(config.Errorf("cannot be %q; want refuse, keep or drop", c.Rest), "rest")
	}
	for _, path := range slices.Sorted(maps.Keys(c.Modules)) {
		if module := c.Modules[path]; strings.Count(path, "*") != strings.Count(module, "*") {
			return config.At(config.Errorf("%q has other stars than %q", module, path), "modules", path)
		}
	}
	for i, r := range c.Tensors {
		if err := r.check(); err != nil {
			return inRule(i, err)
		}
	}
	return nil
}

func (r TensorRule) check() error {
	if len(r.From) == 0 || len(r.To) == 0 {
		return config.Errorf("needs from and to")
	}
	stars := strings.Count(r.From[0], "*")
	for _, name := range slices.Concat(r.From, r.To) {
		if name == "" {
			return config.Errorf("a name is empty")
		}
		if strings.Count(name, "*") != stars {
			return config.Errorf("%q has other stars than %q", name, r.From[0])
		}
	}
	_, err := r.op()
	return err
}

// Module returns the name of the module for the layer of that path, if there is a rule.
// It is an error if there are two.
func (c Rules) Module(path string) (name string, ok bool, err error) {
	for _, pattern := range slices.Sorted(maps.Keys(c.Modules)) {
		stars, matches := match(pattern, path)
		if !matches || pattern != path && c.Modules[path] != "" {
			continue
		}
		if ok {
			return "", false, c.locate(config.At(fmt.Errorf("two of the rules are for the layer %s: %w", path, ErrAmbiguous), "modules", pattern))
		}
		name, ok = fill(c.Modules[pattern], stars), true
	}
	return name, ok, nil
}

// CheckModules fails for patterns that none of the paths of layers fits.
func (c Rules) CheckModules(paths []string) error {
	for _, pattern := range slices.Sorted(maps.Keys(c.Modules)) {
		if !slices.ContainsFunc(paths, func(path string) bool { return matches(pattern, path) }) {
			return c.locate(config.At(fmt.Errorf("no layer has that path: %w", storage.ErrState), "modules", pattern))
		}
	}
	return nil
}

// Apply returns the tensors that the rules compute from others. Rest are the names that no
// rule takes.
func (c Rules) Apply(tensors []Tensor) (made []Tensor, dropped, rest []string, err error) {
	a := application{tensors: tensors, byName: map[string]Tensor{}, takenBy: map[string]int{}, madeBy: map[string]int{}}
	for _, t := range tensors {
		a.byName[t.Name] = t
	}
	for i, r := range c.Tensors {
		if err := a.rule(r, i); err != nil {
			return nil, nil, nil, c.locate(inRule(i, err))
		}
	}
	for _, pattern := range c.Drop {
		if !slices.ContainsFunc(tensors, func(t Tensor) bool { return matches(pattern, t.Name) }) {
			return nil, nil, nil, c.locate(config.At(a.missing(pattern), "drop"))
		}
	}
	for _, t := range tensors {
		_, taken := a.takenBy[t.Name]
		_, again := a.madeBy[t.Name]
		switch {
		case taken:
		case c.Rest == "drop" || slices.ContainsFunc(c.Drop, func(p string) bool { return matches(p, t.Name) }):
			dropped = append(dropped, t.Name)
		case c.Rest == "keep" && again:
			return nil, nil, nil, c.locate(inRule(a.madeBy[t.Name], fmt.Errorf("makes %s, which rest: keep also keeps: %w", t.Name, ErrAmbiguous)))
		case c.Rest == "keep":
			t.From, t.Operation = []string{t.Name}, Same.String()
			a.made = append(a.made, t)
		default:
			rest = append(rest, t.Name)
		}
	}
	return a.made, dropped, rest, nil
}

// An application is what rules for tensors have done so far.
type application struct {
	tensors []Tensor
	byName  map[string]Tensor
	made    []Tensor
	takenBy map[string]int // rules by the names that they take
	madeBy  map[string]int // and by those that they make
}

// rule applies rule i to every array that its first pattern fits.
func (a *application) rule(r TensorRule, i int) error {
	op, err := r.op()
	if err != nil {
		return err
	}
	fits := false
	for _, t := range a.tensors {
		if stars, ok := match(r.From[0], t.Name); ok {
			fits = true
			if err := a.compute(r, op, stars, i); err != nil {
				return err
			}
		}
	}
	if !fits {
		return a.missing(r.From[0])
	}
	return nil
}

// missing is the error that no array fits a pattern.
func (a *application) missing(pattern string) error {
	return fmt.Errorf("there is no array %s%s: %w", pattern, spell.Hint(pattern, slices.Sorted(maps.Keys(a.byName))), storage.ErrState)
}

// compute computes the arrays of rule i where its stars stand for the given texts.
func (a *application) compute(r TensorRule, op Op, stars []string, i int) error {
	var from []Tensor
	var sources, names []string
	for _, pattern := range r.From {
		name := fill(pattern, stars)
		t, ok := a.byName[name]
		if !ok {
			return a.missing(name)
		}
		if other, taken := a.takenBy[name]; taken && other != i {
			return fmt.Errorf("takes %s, as rule %d does: %w", name, other, ErrAmbiguous)
		}
		a.takenBy[name] = i
		from, sources = append(from, Tensor{Name: name, Array: t.Array}), append(sources, name)
	}
	for _, pattern := range r.To {
		name := fill(pattern, stars)
		if _, again := a.madeBy[name]; again {
			return fmt.Errorf("two rules make %s: %w", name, ErrAmbiguous)
		}
		a.madeBy[name] = i
		names = append(names, name)
	}
	made, err := computed(op, from, names)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(sources, ", "), err)
	}
	a.made = append(a.made, made...)
	return nil
}

// op returns the operation that Do describes.
func (r TensorRule) op() (Op, error) {
	var ops []Op
	for _, text := range r.Do {
		op, err := ParseOp(text, len(r.To))
		if err != nil {
			return Op{}, config.At(err, "do")
		}
		ops = append(ops, op)
	}
	return Chain(ops...), nil
}

// ParseOp reads an operation: "transpose 1 0", "reshape 64 -1", "gates 0: 1 0 2",
// "concat 0", "split 0" or "split 0: 2 3", "features 0: 7 7 64", "cast float16", "sum",
// "fold 1e-5" or "fold -1: 1e-3". Outputs is the number of arrays that a split makes if it
// has no sizes.
func ParseOp(text string, outputs int) (Op, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(strings.NewReplacer("(", " ", ")", " ", ",", " ").Replace(text)), " ")
	switch name {
	case "cast":
		var t dtype.Type
		if err := t.UnmarshalText([]byte(strings.TrimSpace(rest))); err != nil {
			return Op{}, config.Errorf("%q: %v", text, err)
		}
		return CastOp(t, t), nil
	case "fold":
		return parseFold(text, rest)
	}
	return parseIntegers(text, name, rest, outputs)
}

// parseIntegers reads an operation whose arguments are integers.
func parseIntegers(text, name, rest string, outputs int) (Op, error) {
	first, list, hasAxis := strings.Cut(rest, ":")
	if !hasAxis {
		list = rest
	}
	numbers, err := integers(list)
	axes, err2 := integers(first)
	wrong := func(want string) error { return config.Errorf("%q; want %s", text, want) }
	if err != nil || err2 != nil {
		return Op{}, wrong("integers")
	}
	switch {
	case name == "transpose" && !hasAxis && isOrder(numbers):
		return TransposeOp(numbers...), nil
	case name == "transpose":
		return Op{}, wrong("an order of axes, such as transpose 1 0")
	case name == "reshape" && !hasAxis:
		return ReshapeOp([]int{-1}, numbers), nil
	case name == "gates" && hasAxis && len(axes) == 1 && isOrder(numbers):
		return GatesOp(axes[0], numbers...), nil
	case name == "gates":
		return Op{}, wrong("an axis and an order of blocks, such as gates 0: 1 0 2")
	case name == "features" && hasAxis && len(axes) == 1 && axes[0] >= 0 && len(numbers) > 1 && slices.Min(numbers) > 0:
		return FeaturesOp(axes[0], numbers), nil
	case name == "features":
		return Op{}, wrong("an axis and the shape before it was flattened, such as features 0: 7 7 64")
	case name == "sum" && rest == "":
		return TotalOp, nil
	case name == "sum":
		return Op{}, wrong("no numbers")
	case name == "concat" && len(numbers) == 1 && !hasAxis:
		return ConcatOp(numbers[0], 1), nil
	case name == "split" && hasAxis && len(axes) == 1 && len(numbers) > 0:
		return InverseOp(ConcatOp(axes[0], len(numbers), numbers...)), nil
	case name == "split" && !hasAxis && len(numbers) == 1:
		return InverseOp(ConcatOp(numbers[0], outputs)), nil
	case name == "concat" || name == "split":
		return Op{}, wrong("an axis, such as " + name + " 0")
	}
	return Op{}, config.At(config.Unknown("operation", name, []string{"transpose", "reshape", "gates", "features", "concat", "split", "cast", "sum", "fold"}), name)
}

func integers(text string) ([]int, error) {
	var list []int
	for _, field := range strings.Fields(text) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// isOrder reports whether list is an order of 0, 1, …
func isOrder(list []int) bool {
	sorted := slices.Sorted(slices.Values(list))
	for i, n := range sorted {
		if n != i {
			return false
		}
	}
	return len(list) > 0
}

// match returns the texts that the stars of a pattern stand for in a name. A star stands
// for as little as possible, and never for nothing.
func match(pattern, name string) (stars []string, ok bool) {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return nil, pattern == name
	}
	rest, ok := strings.CutPrefix(name, before)
	if !ok {
		return nil, false
	}
	for n := 1; n <= len(rest); n++ {
		if more, ok := match(after, rest[n:]); ok {
			return append([]string{rest[:n]}, more...), true
		}
	}
	return nil, false
}

// matches reports whether a pattern fits a name.
func matches(pattern, name string) bool {
	_, ok := match(pattern, name)
	return ok
}

// fill replaces the stars of a pattern by texts.
func fill(pattern string, stars []string) string {
	for _, text := range stars {
		pattern = strings.Replace(pattern, "*", text, 1)
	}
	return pattern
}
