// Package device contains the GPU code of the kernels, in the subset of CUDA C++ that
// common.cuh describes, one file for each family of kernels. "make ptx" compiles it;
// package kernels launches it.
package device

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	//go:embed sm_75.ptx
	sm75 string
	//go:embed sm_80.ptx
	sm80 string
)

// PTX returns the compiled code for GPUs of a compute capability of at least 75, such as
// 90 for 9.0. The driver compiles it to machine code.
func PTX(capability int) (string, error) {
	t, err := targetOf(capability)
	return t.text, err
}

// A target is the code for one generation of GPUs, and those after it.
type target struct {
	text   string
	parsed func() module // text, split into entries
}

var targets = []target{
	{sm75, sync.OnceValue(func() module { return parse(sm75) })},
	{sm80, sync.OnceValue(func() module { return parse(sm80) })},
}

func targetOf(capability int) (target, error) {
	switch {
	case capability >= 80:
		return targets[1], nil
	case capability >= 75:
		return targets[0], nil
	}
	return target{}, fmt.Errorf("compute capability %d.%d; kernels are compiled for 7.5 and above", capability/10, capability%10)
}

// Entry returns the compiled code of one entry as a module of its own: a driver takes
// seconds to compile the whole PTX, but milliseconds for the entries a program uses.
func Entry(capability int, name string) (string, error) {
	t, err := targetOf(capability)
	if err != nil {
		return "", err
	}
	m := t.parsed()
	body, ok := m.bodies[name]
	if !ok {
		return "", fmt.Errorf("no entry %s in the code for GPUs; run make ptx if it is new", name)
	}
	var b strings.Builder
	b.WriteString(m.head)
	for _, variable := range m.variables {
		if strings.Contains(body, variable.name) {
			b.WriteString(variable.line)
		}
	}
	b.WriteString(body)
	return b.String(), nil
}

// Entries lists the entries of the code for a compute capability, in the order of their names.
func Entries(capability int) ([]string, error) {
	t, err := targetOf(capability)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(t.parsed().bodies)), nil
}

// A module is PTX split into entries.
type module struct {
	head      string            // directives
	variables []variable        // of all entries
	bodies    map[string]string // from .visible to }, by entry
}

type variable struct{ name, line string }

// parse splits PTX as make ptx writes it: entries and variable declarations start at the
// beginning of a line.
func parse(text string) module {
	const entry = ".visible .entry "
	m := module{bodies: map[string]string{}}
	var head strings.Builder
	for len(text) > 0 {
		line, _, _ := strings.Cut(text, "\n")
		size := min(len(line)+1, len(text))
		switch {
		case strings.HasPrefix(line, entry):
			name, _, _ := strings.Cut(line[len(entry):], "(")
			if end := strings.Index(text, "\n}\n"); end >= 0 {
				size = end + len("\n}\n")
			}
			m.bodies[name] = text[:size]
		case strings.HasPrefix(line, ".shared"), strings.HasPrefix(line, ".const"), strings.HasPrefix(line, ".global"):
			name, _, _ := strings.Cut(strings.TrimSuffix(line[strings.LastIndex(line, " ")+1:], ";"), "[")
			m.variables = append(m.variables, variable{name, text[:size]})
		default:
			head.WriteString(text[:size])
		}
		text = text[size:]
	}
	m.head = head.String()
	return m
}
