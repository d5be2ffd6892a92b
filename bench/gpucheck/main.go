// Command gpucheck runs what "make gpu-check" has packed, on a machine with an NVIDIA GPU: tests
// and benchmarks, each in a process of its own, so that one that crashes or hangs leaves the rest.
//
//	gpu-check/run [-part correctness|speed|all]
//
// Results are written to $OUT as they come, in at most eight files of at most 16 MiB. The status is
// 0 if everything succeeded, 1 if something did not, 2 if nothing can run.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	part := flag.String("part", "all", "correctness, speed or all")
	out := flag.String("out", cmp.Or(os.Getenv("OUT"), "gpu-check-results"), "folder for results")
	python := flag.String("python", cmp.Or(os.Getenv("PYTHON"), "python3"), "interpreter with PyTorch")
	device := flag.String("device", "cuda:0", "the GPU")
	small := flag.Bool("small", false, "sizes that an interpreter of the code can do; times mean nothing")
	limit := flag.Duration("limit", 0, "limit for each step, instead of its own")
	flag.Parse()
	c, err := newCheck(*out, *python, *device, *small, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpu-check:", err)
		os.Exit(2)
	}
	ok, err := c.run(*part)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpu-check:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// A check is one run of everything.
type check struct {
	here    string // the unpacked folder
	python  string // empty if it has no PyTorch
	device  string
	small   bool
	limit   time.Duration // of each step, instead of its own; 0 for none
	until   time.Time     // when the part should be over
	scratch string        // for large files, in memory if there is space

	report  *output // RESULTS.md
	failed  *output // logs of what failed, in the order of failure
	passed  *output // logs of what succeeded
	trials  *output // each trial's verdict
	outputs outputs
	wrong   []string // what failed, in order
}

// budget is what a part may take, unless -limit is set.
const budget = 4 * time.Minute

func newCheck(out, python, device string, small bool, limit time.Duration) (*check, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &check{here: filepath.Dir(self), python: python, device: device, small: small, limit: limit}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	out, err = filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	c.outputs = outputs{folder: out}
	for _, o := range []struct {
		to   **output
		name string
	}{{&c.report, "RESULTS.md"}, {&c.failed, "failed.log"}, {&c.passed, "passed.log"}, {&c.trials, "trials.tsv"}} {
		if *o.to, err = c.outputs.create(o.name); err != nil {
			return nil, err
		}
	}
	c.report.echo = os.Stdout
	c.scratch, err = scratchFolder()
	return c, err
}

// scratchFolder returns a folder for large files: in memory if there is space for them.
func scratchFolder() (string, error) {
	root := ""
	if free, err := freeSpace("/dev/shm"); err == nil && free > 24<<30 {
		root = "/dev/shm"
	}
	return os.MkdirTemp(root, "gpu-check-")
}

// run runs a part and reports whether all of it succeeded.
func (c *check) run(part string) (ok bool, err error) {
	defer os.RemoveAll(c.scratch)
	parts := map[string]func(){"correctness": c.correctness, "speed": c.speed}
	selected := []string{part}
	if part == "all" {
		selected = []string{"correctness", "speed"}
	}
	if parts[selected[0]] == nil {
		return false, fmt.Errorf("no part %q; choose correctness, speed or all", part)
	}
	began := time.Now()
	c.report.printf("# h5dnn on a GPU\n\nBy gpu-check, %s UTC, parts: %s.\n\n", began.UTC().Format("2 January 2006, 15:04"), strings.Join(selected, ", "))
	c.about()
	if err := c.starts(); err != nil {
		c.report.printf("**%v**\n", err)
		return false, err
	}
	for _, name := range selected {
		c.until = time.Now().Add(budget)
		parts[name]()
	}
	c.report.printf("\n## Summary\n\n%s after %v.\n", c.verdict(), time.Since(began).Round(time.Second))
	for _, what := range c.wrong {
		c.report.printf("- %s\n", what)
	}
	return len(c.wrong) == 0, nil
}

func (c *check) verdict() string {
	if len(c.wrong) == 0 {
		return "Everything succeeded"
	}
	return fmt.Sprintf("**%d failures** (full logs in failed.log, the first failure first)", len(c.wrong))
}

// about writes what was packed, and the machine.
func (c *check) about() {
	about, _ := os.ReadFile(filepath.Join(c.here, "about.txt"))
	c.report.printf("```\n%s```\n", about)
	host, _ := os.Hostname()
	c.report.printf("\nOn %s: %d cores, %s.\n", host, runtime.NumCPU(), firstLineOf("/proc/version"))
}

func firstLineOf(name string) string {
	text, _ := os.ReadFile(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
