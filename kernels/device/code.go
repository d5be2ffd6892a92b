package device

import (
	"maps"
	"slices"
	"strings"
)

// code is PTX without the directives at its beginning.
type code struct {
	variables []variable        // declared for all entries
	bodies    map[string]string // from .visible to }, by entry
}

// parse splits PTX as make ptx writes it: entries and variable declarations start at the
// beginning of a line.
func parse(text string) code {
	const entry = ".visible .entry "
	c := code{bodies: map[string]string{}}
	for len(text) > 0 {
		line, _, _ := strings.Cut(text, "\n")
		size := min(len(line)+1, len(text))
		switch {
		case strings.HasPrefix(line, entry):
			name, _, _ := strings.Cut(line[len(entry):], "(")
			if end := strings.Index(text, "\n}\n"); end >= 0 {
				size = end + len("\n}\n")
			}
			c.bodies[name] = text[:size]
		case strings.HasPrefix(line, ".shared"), strings.HasPrefix(line, ".const"), strings.HasPrefix(line, ".global"):
			name, _, _ := strings.Cut(strings.TrimSuffix(line[strings.LastIndex(line, " ")+1:], ";"), "[")
			c.variables = append(c.variables, variable{name, text[:size]})
		}
		text = text[size:]
	}
	return c
}

// add adds what o declares to c.
func (c *code) add(o code) {
	c.variables = append(c.variables, o.variables...)
	maps.Copy(c.bodies, o.bodies)
}

func (c code) declares(v variable) bool { return slices.Contains(c.variables, v) }

// without returns what c has and o has not.
func (c code) without(o code) code {
	own := code{bodies: maps.Clone(c.bodies)}
	for _, v := range c.variables {
		if !o.declares(v) {
			own.variables = append(own.variables, v)
		}
	}
	maps.DeleteFunc(own.bodies, func(name, _ string) bool { return o.bodies[name] != "" })
	return own
}

// text returns c as parse reads it.
func (c code) text() string {
	var b strings.Builder
	for _, v := range c.variables {
		b.WriteString(v.line)
	}
	for _, name := range slices.Sorted(maps.Keys(c.bodies)) {
		b.WriteString(c.bodies[name])
	}
	return b.String()
}

func all(codes []code, holds func(code) bool) bool {
	return !slices.ContainsFunc(codes, func(c code) bool { return !holds(c) })
}
