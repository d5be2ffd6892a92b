package checkpoint

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

// CustomRules are the names and operations that a user gives in a YAML file.
type CustomRules struct {
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
	var one string
	if json.Unmarshal(text, &one) == nil {
		*p = Patterns{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return config.Errorf("cannot be %.40s; want a text or a list of texts", text)
	}
	*p = list
	return nil
}

// ParseRules reads CustomRules from YAML. docs/models.md lists the operations, and a star stands
// for the same text on both sides:
//
//	modules: {conv2d: features.0, "dense*": "classifier.*"}
//	tensors:
//	  - {from: scale, to: scale, do: [reshape 1 -1, cast float16]}
//	drop: "*/temperature"
//	rest: refuse
//
// Unknown settings and operations are errors that name the line.
func ParseRules(text []byte) (CustomRules, error) {
	var c CustomRules
	doc, err := config.ParseYAML(text)
	if err == nil {
		err = doc.Decode(&c)
	}
	if err == nil {
		err = doc.Locate(c.check())
	}
	return c, err
}

func (c CustomRules) check() error {
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
			return config.At(err, "tensors", config.Item{Kind: "rule", Index: i})
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
func (c CustomRules) Module(path string) (name string, ok bool, err error) {
	for _, pattern := range slices.Sorted(maps.Keys(c.Modules)) {
		stars, matches := match(pattern, path)
		if !matches || pattern != path && c.Modules[path] != "" {
			continue
		}
		if ok {
			return "", false, fmt.Errorf("two of the rules are for the layer %s: %w", path, ErrAmbiguous)
		}
		name, ok = fill(c.Modules[pattern], stars), true
	}
	return name, ok, nil
}

// checkModules fails for patterns that no layer of m fits.
func (c CustomRules) checkModules(m *Model) error {
	for _, pattern := range slices.Sorted(maps.Keys(c.Modules)) {
		found := false
		for path := range m.All() {
			if _, ok := match(pattern, path); ok {
				found = true
				break
			}
		}
		if !found {
			return fmt.Errorf("rule for the module %s: no layer has that path: %w", pattern, storage.ErrState)
		}
	}
	return nil
}

// Apply returns the tensors that the rules compute from others. Rest are the names that no
// rule takes.
func (c CustomRules) Apply(tensors []Tensor) (made []Tensor, dropped, rest []string, err error) {
	byName := map[string]Tensor{}
	for _, t := range tensors {
		byName[t.Name] = t
	}
	taken := map[string]int{} // rules that take a name, counted from 1
	for i, r := range c.Tensors {
		before := len(made)
		for _, t := range tensors {
			stars, ok := match(r.From[0], t.Name)
			if !ok {
				continue
			}
			some, err := r.apply(stars, byName, func(name string) error {
				if other, ok := taken[name]; ok && other != i+1 {
					return fmt.Errorf("the rules for %s and for %s both take %s: %w", strings.Join(c.Tensors[other-1].From, ", "), strings.Join(r.From, ", "), name, ErrAmbiguous)
				}
				taken[name] = i + 1
				return nil
			})
			if err != nil {
				return nil, nil, nil, err
			}
			made = append(made, some...)
		}
		if len(made) == before {
			return nil, nil, nil, fmt.Errorf("rule for %s: there is no such array%s: %w", r.From[0], spell.Hint(r.From[0], slices.Collect(maps.Keys(byName))), storage.ErrState)
		}
	}
	for _, pattern := range c.Drop {
		if !slices.ContainsFunc(tensors, func(t Tensor) bool { _, ok := match(pattern, t.Name); return ok }) {
			return nil, nil, nil, fmt.Errorf("drop %s: there is no such array%s: %w", pattern, spell.Hint(pattern, slices.Collect(maps.Keys(byName))), storage.ErrState)
		}
	}
	for _, t := range tensors {
		_, used := taken[t.Name]
		drop := slices.ContainsFunc(c.Drop, func(p string) bool { _, ok := match(p, t.Name); return ok })
		switch {
		case used:
		case drop || c.Rest == "drop":
			dropped = append(dropped, t.Name)
		case c.Rest == "keep":
			t.From, t.Operation = []string{t.Name}, Same{}.String()
			made = append(made, t)
		default:
			rest = append(rest, t.Name)
		}
	}
	seen := map[string]bool{}
	for _, t := range made {
		if seen[t.Name] {
			return nil, nil, nil, fmt.Errorf("two rules make %s: %w", t.Name, ErrAmbiguous)
		}
		seen[t.Name] = true
	}
	return made, dropped, rest, nil
}

// apply computes the arrays of r where its stars stand for the given texts.
func (r TensorRule) apply(stars []string, byName map[string]Tensor, take func(string) error) ([]Tensor, error) {
	op, err := r.op()
	if err != nil {
		return nil, err
	}
	var from []string
	var arrays []storage.Array
	for _, pattern := range r.From {
		name := fill(pattern, stars)
		t, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("rule for %s: there is no array %s: %w", strings.Join(r.From, ", "), name, storage.ErrState)
		}
		if err := take(name); err != nil {
			return nil, err
		}
		from, arrays = append(from, name), append(arrays, t.Array)
	}
	out, err := op.Forward(arrays)
	if err != nil {
		return nil, fmt.Errorf("rule for %s: %w", strings.Join(from, ", "), err)
	}
	if len(out) != len(r.To) {
		return nil, fmt.Errorf("rule for %s: %v makes %d arrays of %d, and there are %d names in to; concat or split: %w", strings.Join(from, ", "), op, len(out), len(from), len(r.To), ErrAmbiguous)
	}
	list := make([]Tensor, len(out))
	for i, a := range out {
		list[i] = Tensor{Name: fill(r.To[i], stars), Array: a, From: from, Operation: op.String()}
	}
	return list, nil
}

// op returns the operation that Do describes.
func (r TensorRule) op() (Op, error) {
	var ops []Op
	for _, text := range r.Do {
		op, err := ParseOp(text, len(r.To))
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	switch len(ops) {
	case 0:
		return Same{}, nil
	case 1:
		return ops[0], nil
	}
	return Chain(ops...), nil
}

// ParseOp reads an operation: "transpose 1 0", "reshape 64 -1", "gates 0: 1 0 2",
// "concat 0", "split 0" or "split 0: 2 3", "features 0: 7 7 64", "cast float16". Outputs
// is the number of arrays that a split makes if it has no sizes.
func ParseOp(text string, outputs int) (Op, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(strings.NewReplacer("(", " ", ")", " ", ",", " ").Replace(text)), " ")
	first, list, hasAxis := strings.Cut(rest, ":")
	if !hasAxis {
		list = rest
	}
	if name == "cast" {
		var t dtype.Type
		if err := t.UnmarshalText([]byte(strings.TrimSpace(rest))); err != nil {
			return nil, config.Errorf("%q: %v", text, err)
		}
		return CastOp(t, t), nil
	}
	numbers, err := integers(list)
	axes, err2 := integers(first)
	wrong := func(want string) error { return config.Errorf("%q; want %s", text, want) }
	if err != nil || err2 != nil {
		return nil, wrong("integers")
	}
	switch {
	case name == "transpose" && !hasAxis && isOrder(numbers):
		return TransposeOp(numbers...), nil
	case name == "transpose":
		return nil, wrong("an order of axes, such as transpose 1 0")
	case name == "reshape" && !hasAxis:
		return ReshapeOp([]int{-1}, numbers), nil
	case name == "gates" && hasAxis && len(axes) == 1 && isOrder(numbers):
		return GatesOp(axes[0], numbers...), nil
	case name == "gates":
		return nil, wrong("an axis and an order of blocks, such as gates 0: 1 0 2")
	case name == "features" && hasAxis && len(axes) == 1 && axes[0] >= 0 && len(numbers) > 1 && slices.Min(numbers) > 0:
		return FeaturesOp(axes[0], numbers), nil
	case name == "features":
		return nil, wrong("an axis and the shape before it was flattened, such as features 0: 7 7 64")
	case name == "concat" && len(numbers) == 1 && !hasAxis:
		return ConcatOp(numbers[0], 1), nil
	case name == "split" && hasAxis && len(axes) == 1 && len(numbers) > 0:
		return InverseOp(ConcatOp(axes[0], len(numbers), numbers...)), nil
	case name == "split" && !hasAxis && len(numbers) == 1:
		return InverseOp(ConcatOp(numbers[0], outputs)), nil
	case name == "concat" || name == "split":
		return nil, wrong("an axis, such as " + name + " 0")
	}
	return nil, config.At(config.Unknown("operation", name, []string{"transpose", "reshape", "gates", "features", "concat", "split", "cast"}), name)
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

// fill replaces the stars of a pattern by texts.
func fill(pattern string, stars []string) string {
	for _, text := range stars {
		pattern = strings.Replace(pattern, "*", text, 1)
	}
	return pattern
}
