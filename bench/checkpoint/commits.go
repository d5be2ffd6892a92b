package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/h5dnn/h5dnn/bench/internal/worktree"
	"github.com/h5dnn/h5dnn/serialize"
)

// measure does one piece of work, the shortest of two or more times, and prints the seconds.
func measure(work, name string, tensors, bytes int) error {
	best, repeats := time.Hour, map[string]int{"save": 2, "open": 20, "load": 3}
	for range repeats[work] {
		runtime.GC()
		best = min(best, timed(func() error {
			switch work {
			case "save":
				return serialize.Save(name, "", serialize.Contents{Entries: entries(tensors, bytes)})
			case "open":
				return list(name, tensors)
			}
			return loadAll(name)
		}))
	}
	_, err := fmt.Println(best.Seconds())
	return err
}

// turnsOfCommits is the number of measurements of each side.
const turnsOfCommits = 9

// compare measures this program and the one of another commit in turn, each in processes of its
// own. A second measurement of the other commit shows the noise of the machine.
func compare(commit, folder, only string, tensors, bytes int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tree, remove, err := worktree.Build(commit, worktree.Program{Package: "./bench/checkpoint", Name: "bench.base",
		Replaced: []string{"bench/checkpoint/main.go", "bench/checkpoint/commits.go", "bench/internal/worktree/worktree.go"}})
	if err != nil {
		return err
	}
	defer remove()
	if folder, err = os.MkdirTemp(folder, "checkpoint"); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	c := commits{sides: [3]string{self, filepath.Join(tree.Folder, "bench.base"), filepath.Join(tree.Folder, "bench.base")}, folder: folder, tensors: tensors, bytes: bytes}
	fmt.Printf("| work | now, s | %s, s | ratio | noise | memory, MiB | before |\n|---|---:|---:|---:|---:|---:|---:|\n", tree.Commit)
	for _, part := range []struct {
		name string
		run  func() error
	}{{"save", c.save}, {"load", c.read}, {"convert", c.convert}} {
		if only == "" || only == part.name {
			if err := part.run(); err != nil {
				return err
			}
		}
	}
	return nil
}

// commits are this program, the other one, and the other one once more.
type commits struct {
	sides          [3]string
	folder         string
	tensors, bytes int
}

func (c commits) file(format string) (string, error) {
	f, err := serialize.ByName(format)
	if err != nil {
		return "", err
	}
	return filepath.Join(c.folder, "model"+f.Extensions[0]), nil
}

// alternate lets the sides take turns at a command and prints a row. The output of the command is
// the seconds that it took or, of a conversion, its memory; undo removes what it wrote.
func (c commits) alternate(name string, undo func() error, args ...string) error {
	var seconds, memory [3][]float64
	for turn := range turnsOfCommits {
		for i := range c.sides {
			k := (turn + i) % len(c.sides) // whoever comes first after undo has no advantage
			program := c.sides[k]
			start := time.Now()
			out, err := exec.Command(program, args...).Output()
			if err != nil {
				return fmt.Errorf("%s: %s: %w", name, program, err)
			}
			took, value := time.Since(start).Seconds(), 0.0
			if _, err := fmt.Sscan(string(out), &value); err != nil {
				return fmt.Errorf("%s: %s printed %q: %w", name, program, out, err)
			}
			if strings.Contains(string(out), "MiB") {
				memory[k] = append(memory[k], value)
			} else {
				took = value
			}
			seconds[k] = append(seconds[k], took)
			if err := undo(); err != nil {
				return err
			}
		}
	}
	now, before, again := median(seconds[0]), median(seconds[1]), median(seconds[2])
	fmt.Printf("| %s | %.4g | %.4g | %.3f | %.3f |", name, now, before, now/before, math.Abs(again/before-1))
	if len(memory[0]) > 0 {
		fmt.Printf(" %.0f | %.0f |\n", median(memory[0]), median(memory[1]))
	} else {
		fmt.Printf(" | |\n")
	}
	return nil
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// save measures saving and, of a file that is kept, listing the tensors.
func (c commits) save() error {
	size := []string{"-tensors", fmt.Sprint(c.tensors), "-gib", fmt.Sprint(float64(c.bytes) / (1 << 30))}
	for _, format := range formats {
		name, err := c.file(format)
		if err != nil {
			return err
		}
		command := func(work string) []string { return append([]string{"-measure", work, "-to", name}, size...) }
		if err := c.alternate("save "+format, func() error { return os.Remove(name) }, command("save")...); err != nil {
			return err
		}
		if err := serialize.Save(name, format, serialize.Contents{Entries: entries(c.tensors, c.bytes)}); err != nil {
			return err
		}
		if err := c.alternate("open "+format, func() error { return nil }, command("open")...); err != nil {
			return err
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// read measures reading all tensors of a file of a quarter of the size.
func (c commits) read() error {
	for _, format := range formats {
		name, err := c.file(format)
		if err != nil {
			return err
		}
		if err := serialize.Save(name, format, serialize.Contents{Entries: entries(c.tensors/4, c.bytes/4)}); err != nil {
			return err
		}
		if err := c.alternate("load "+format, func() error { return nil }, "-measure", "load", "-to", name); err != nil {
			return err
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// convert measures conversions of the whole size between pairs of formats.
func (c commits) convert() error {
	for _, pair := range conversions {
		from, err := c.file(pair[0])
		if err != nil {
			return err
		}
		to, err := c.file(pair[1])
		if err != nil {
			return err
		}
		if err := serialize.Save(from, pair[0], serialize.Contents{Entries: entries(c.tensors, c.bytes)}); err != nil {
			return err
		}
		if err := c.alternate("convert "+pair[0]+" to "+pair[1], func() error { return os.Remove(to) }, "-convert", from, "-to", to); err != nil {
			return err
		}
		if err := os.Remove(from); err != nil {
			return err
		}
	}
	return nil
}
