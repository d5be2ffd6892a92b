// Package source lists the parts of the device code that are compiled on their own.
package source

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Flags are the options of clang for every unit, run in the folder of the device code.
var Flags = []string{
	"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-feature=+ptx70", "-std=c++17", "-O3",
	"-ffp-contract=off", "-fno-jump-tables", "-fno-unroll-loops", "-Wall", "-Wextra", "-Wno-unused-parameter", "-I.", "-I../native",
}

// A Unit is compiled to one file of PTX: a .cu file, or a line of ops.h with elementwise.cu, or of updates.h with update.cu,
// so that operations can be added in different branches without a conflict.
type Unit struct {
	Name string // "conv", or "elementwise_add"
	File string // "conv.cu"
	Line string // such as "OP(add, ANY, 2, REAL, 1, x + y)"; empty for File without a line
	Hash string // of everything that it is compiled from
}

// A family is a file that is compiled once for each line of a header of package native.
type family struct {
	file, header, line string
	own                bool // whether the file has entries without a line
}

var families = []family{{"elementwise.cu", "ops.h", "OP(", false}, {"update.cu", "updates.h", "UPDATE(", true}}

// Units returns the units of the device code in folder, kernels/device.
func Units(folder string) ([]Unit, error) {
	ops, err := os.ReadFile(filepath.Join(folder, "../native/ops.h"))
	if err != nil {
		return nil, err
	}
	_, macros := operations(string(ops), families[0].line)
	headers, err := contents(folder, "*.cuh")
	if err != nil {
		return nil, err
	}
	files, err := contents(folder, "*.cu")
	if err != nil {
		return nil, err
	}
	common := strings.Join(Flags, " ") + macros
	for _, h := range headers {
		common += h.text
	}
	var units []Unit
	for _, f := range files {
		u := Unit{Name: strings.TrimSuffix(f.name, ".cu"), File: f.name, Hash: hash(common, f.text)}
		i := slices.IndexFunc(families, func(m family) bool { return m.file == f.name })
		if i < 0 {
			units = append(units, u)
			continue
		}
		header, err := os.ReadFile(filepath.Join(folder, "../native", families[i].header))
		if err != nil {
			return nil, err
		}
		lines, others := operations(string(header), families[i].line)
		if i == 0 {
			others = "" // which are among common
		}
		if families[i].own {
			u.Hash = hash(common, f.text, others)
			units = append(units, u)
		}
		for _, line := range lines {
			op, _, _ := strings.Cut(strings.TrimPrefix(line, families[i].line), ",")
			units = append(units, Unit{Name: u.Name + "_" + op, File: f.name, Line: line, Hash: hash(common, f.text+others, line)})
		}
	}
	return units, nil
}

// Hash returns the hash of the sources in folder that declare what Go passes to kernels.
func Hash(folder string) (string, error) {
	var texts []string
	for _, pattern := range []string{"*.cuh", "*.cu"} {
		files, err := contents(folder, pattern)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			texts = append(texts, f.text)
		}
	}
	return hash(texts...), nil
}

// operations returns the lines of a header that begin with prefix, and the others.
func operations(header, prefix string) (lines []string, others string) {
	for line := range strings.Lines(header) {
		if op := strings.TrimRight(strings.TrimSpace(line), `\ `); strings.HasPrefix(op, prefix) {
			lines = append(lines, op)
		} else {
			others += line
		}
	}
	return lines, others
}

type file struct{ name, text string }

func contents(folder, pattern string) ([]file, error) {
	paths, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	files := make([]file, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[i] = file{filepath.Base(path), string(text)}
	}
	return files, nil
}

func hash(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		io.WriteString(h, text)
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}
