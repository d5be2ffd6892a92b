// Package device contains the GPU code of the kernels, in the subset of CUDA C++ that
// common.cuh describes, one file for each family of kernels. "make ptx" compiles it;
// package kernels launches it.
package device

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Targets are the generations of GPUs that the code is compiled for; each serves those after
// it, too.
var Targets = []string{"sm_75", "sm_80"}

// Target returns the one of [Targets] that serves a compute capability, such as 90 for 9.0.
func Target(capability int) (string, error) {
	switch {
	case capability >= 80:
		return Targets[1], nil
	case capability >= 75:
		return Targets[0], nil
	}
	return "", fmt.Errorf("compute capability %d.%d; kernels are compiled for 7.5 and above", capability/10, capability%10)
}

// Entry returns the PTX of one entry as a module of its own: a driver takes seconds to
// compile all entries, but milliseconds for those that a program uses.
func Entry(capability int, name string) (string, error) {
	target, err := Target(capability)
	if err != nil {
		return "", err
	}
	e, ok := entries()[target][name]
	if !ok {
		return "", fmt.Errorf("no entry %s in the code for GPUs; run make ptx if it is new", name)
	}
	var b strings.Builder
	b.WriteString(head(target))
	for _, v := range e.variables {
		if strings.Contains(e.body, v.name) {
			b.WriteString(v.line)
		}
	}
	b.WriteString(e.body)
	return b.String(), nil
}

// Entries lists the entries of the code for a compute capability, in the order of their names.
func Entries(capability int) ([]string, error) {
	target, err := Target(capability)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(entries()[target])), nil
}

// head returns the directives that a module begins with.
func head(target string) string {
	return ".version 7.0\n.target " + target + "\n.address_size 64\n"
}
