package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// cudaTool returns the path of a tool of NVIDIA's, or "".
func cudaTool(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/local/cuda*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	return ""
}

// sanitize runs the trial that faulted again under compute-sanitizer, if there is one, and if it finds
// nothing there the whole group, for a minute together.
func (c *check) sanitize(g group, folder, trial string) {
	tool := cudaTool("compute-sanitizer")
	if tool == "" {
		c.report.printf("There is no compute-sanitizer to tell more.\n")
		return
	}
	began := time.Now()
	for _, run := range []string{exactly(trial), g.run} {
		command := append([]string{tool, "--tool", "memcheck", "--print-limit", "20", "./test", "-test.v", "-test.run", run}, g.args...)
		e := process{command: command, folder: folder, env: c.testEnv(), limit: max(time.Second, time.Minute-time.Since(began))}.run()
		c.log(c.failed, "compute-sanitizer: "+run, e)
		said, found := sanitizerSays(string(e.log))
		switch {
		case found:
			c.report.printf("compute-sanitizer tells more in failed.log: %s\n", said)
			return
		case said != "":
			c.report.printf("compute-sanitizer does not work here: %s\n", said)
			return
		case e.hung:
			c.report.printf("compute-sanitizer was not done in time.\n")
			return
		}
	}
	c.report.printf("compute-sanitizer found nothing.\n")
}

// sanitizerSays returns what compute-sanitizer found first, or why it did not run. Its lines begin
// with "========="; what it found takes several lines, of which the first has no further indent, and
// the last line counts the errors. A call that fails is an error too, of less interest than an access.
func sanitizerSays(log string) (text string, found bool) {
	access, call, trouble, summary := "", "", "", ""
	for line := range strings.Lines(log) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "========= ")
		if !ok {
			continue
		}
		switch {
		case strings.HasPrefix(line, "ERROR SUMMARY: "):
			summary = line
		case strings.HasPrefix(line, "Error: "), strings.HasPrefix(line, "Internal "):
			trouble = cmp.Or(trouble, line)
		case strings.HasPrefix(line, "Program hit "):
			call = cmp.Or(call, line)
		case strings.HasPrefix(line, "Target application returned an error"), strings.HasPrefix(line, "COMPUTE-SANITIZER"), strings.HasPrefix(line, " "):
		default:
			access = cmp.Or(access, line)
		}
	}
	if errors, ok := strings.CutPrefix(summary, "ERROR SUMMARY: "); ok && !strings.HasPrefix(errors, "0 ") {
		return cmp.Or(access, call, summary), true
	}
	return trouble, false
}

// counters has ncu count what the ten dearest kernels of a step do.
func (c *check) counters(table string) {
	text, _ := os.ReadFile(table)
	var names []string
	for i, line := range strings.Split(string(text), "\n") {
		if fields := strings.Split(line, ","); i > 0 && len(fields) > 1 && fields[0] == "own" && len(names) < 10 {
			names = append(names, fields[1])
		}
	}
	to := filepath.Join(c.outputs.folder, "ncu.csv")
	c.outputs.count++
	command := []string{cmp.Or(cudaTool("ncu"), "ncu"), "--csv", "--page", "raw", "--set", "basic", "--launch-count", "40", "--kernel-name", "regex:^(" + strings.Join(names, "|") + ")$", "--log-file", to,
		c.program("bench"), "-device", c.device, "-data", c.program("data"), "-made", c.scratch, "-step", filepath.Join(c.scratch, "step.csv"), "-steps", "1"}
	if c.small {
		command = append(command, "-small")
	}
	c.step(step{title: "Counters of the ten dearest kernels, in ncu.csv", command: command, limit: 60 * time.Second, lines: 5, may: true})
	log, err := os.ReadFile(to)
	if err != nil {
		return // the step has said that there is no ncu
	}
	rows, err := counterRows(string(log))
	if err != nil {
		c.report.printf("ncu counted nothing: %v\n", err)
		return
	}
	c.report.printf("\n```\n%s```\n", rows)
}

// shownCounters are those of ncu's that the report shows.
var shownCounters = []string{
	"Kernel Name", "gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
	"sm__warps_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread",
}

// counterRows returns a line for each kernel that ncu has counted, of what it writes with --csv
// --page raw: its own messages, which begin with "==", then a line of names, one of units, and one for each
// launch.
func counterRows(log string) (string, error) {
	var table strings.Builder
	trouble := ""
	for line := range strings.Lines(log) {
		switch {
		case strings.HasPrefix(line, "==ERROR=="), strings.HasPrefix(line, "==WARNING=="):
			trouble = cmp.Or(trouble, strings.TrimSpace(line))
		case strings.HasPrefix(line, "=="):
		default:
			table.WriteString(line)
		}
	}
	lines := csv.NewReader(strings.NewReader(strings.TrimSpace(table.String())))
	lines.FieldsPerRecord = -1 // the program's output may be among them
	all, err := lines.ReadAll()
	if err != nil {
		return "", fmt.Errorf("its table cannot be read: %w", err)
	}
	for len(all) > 0 && all[0][0] != "ID" {
		all = all[1:]
	}
	if len(all) < 3 {
		return "", fmt.Errorf("%s", cmp.Or(trouble, "no kernel is in its table"))
	}
	var b strings.Builder
	for i, line := range all {
		var fields []string
		for _, name := range shownCounters {
			for k, column := range all[0] {
				if column == name && k < len(line) {
					fields = append(fields, line[k])
				}
			}
		}
		if i == 1 {
			fields[0] = "unit"
		}
		fmt.Fprintln(&b, strings.Join(fields, "; "))
	}
	return b.String(), nil
}
