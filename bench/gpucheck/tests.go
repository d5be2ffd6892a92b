package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A group is tests of one package that run in one process, until one of them faults, crashes or
// hangs. The rest then run in a new process, without that trial.
type group struct {
	title, pack string
	run, skip   string // patterns of tests
	args        []string
	show        bool // what the tests log, in the report
	limit       time.Duration
}

// mostFaults is how many processes of a group may end before its time.
const mostFaults = 4

// faultStatus is that of package cudatest.
const faultStatus = 3

// A trialLog follows the output of tests.
type trialLog struct {
	current  string // the trial that runs
	done     []string
	failed   []string
	passed   int
	fault    string
	verdicts *output
	group    string
}

var (
	startLine   = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(\S+)`)
	verdictLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)`)
	faultLine   = regexp.MustCompile(`^GPU FAULT: (.*)`)
)

func (l *trialLog) line(line string) {
	if m := startLine.FindStringSubmatch(line); m != nil {
		l.current = m[1]
	}
	if m := faultLine.FindStringSubmatch(line); m != nil {
		l.fault = m[1]
	}
	m := verdictLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	fmt.Fprintf(l.verdicts, "%s\t%s\t%s\t%s\n", m[1], l.group, m[2], m[3])
	if !strings.Contains(m[2], "/") {
		l.done = append(l.done, m[2])
	}
	switch m[1] {
	case "PASS":
		l.passed++
	case "FAIL":
		l.failed = append(l.failed, m[2])
	}
}

// tests runs a group.
func (c *check) tests(g group) {
	c.report.printf("\n## %s\n\n", g.title)
	folder := filepath.Join(c.here, "tests", g.pack)
	log := &trialLog{verdicts: c.trials, group: g.pack}
	began, ended, faults := time.Now(), 0, []string{}
	limit := c.limitOf(g.limit)
	for left := limit; ended < mostFaults; left = limit - time.Since(began) {
		command := append([]string{"./test", "-test.v", "-test.run", g.run, "-test.timeout", "0"}, g.args...)
		if skip := skipped(g.skip, log.done, faults); skip != "" {
			command = append(command, "-test.skip", skip)
		}
		log.current, log.fault = "", ""
		failures := len(log.failed)
		e := process{command: command, folder: folder, env: c.testEnv(), limit: max(left, time.Second), line: log.line}.run()
		how := ""
		switch {
		case e.err == nil || e.status == 1 && !e.hung && log.fault == "":
		case e.status == faultStatus:
			how = "FAULT"
		case e.hung:
			how = "HANG"
		default:
			how, log.fault = "CRASH", fmt.Sprint(e.err)
		}
		if how == "" {
			c.keep(g.title, e, log.failed[failures:])
			if g.show {
				c.report.printf("```\n%s\n```\n", strings.Join(saidBy(e.log, 30), "\n"))
			}
			break
		}
		ended++
		trial := log.current
		fmt.Fprintf(c.trials, "%s\t%s\t%s\t\n", how, g.pack, trial)
		log.failed = append(log.failed, trial)
		faults = append(faults, trial)
		c.keep(fmt.Sprintf("%s: %s in %s: %s", g.title, how, trial, log.fault), e, log.failed[failures:])
		c.report.printf("**%s** in %s: %s\n", how, trial, log.fault)
		if how == "FAULT" {
			c.sanitize(g, folder, trial)
		}
		if time.Since(began) > limit {
			c.report.printf("The rest did not run: %v are over.\n", limit)
			break
		}
	}
	c.report.printf("%d trials passed, %d failed, in %v.\n", log.passed, len(log.failed), time.Since(began).Round(100*time.Millisecond))
	for _, name := range log.failed {
		c.wrong = append(c.wrong, g.title+": "+name)
	}
}

// skipped is a pattern of the tests that have run, and of the trials that ended their process.
func skipped(skip string, done, faults []string) string {
	var all []string
	if skip != "" {
		all = append(all, skip)
	}
	for _, name := range slices.Concat(done, faults) {
		if name == "" {
			continue
		}
		all = append(all, exactly(name))
	}
	return strings.Join(all, "|")
}

// exactly is a pattern of a trial.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return strings.Join(parts, "/")
}

func (c *check) testEnv() []string {
	return append(c.env(), "H5DNN_TEST_GPU=1")
}

// env is the environment of every program here.
func (c *check) env() (env []string) {
	if code := filepath.Join(c.here, "code"); exists(code) {
		env = append(env, "H5DNN_CUDA_CODE="+code)
	}
	return append(env, "H5DNN_CUDA_CACHE="+filepath.Join(c.scratch, "cache"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (c *check) limitOf(d time.Duration) time.Duration {
	if c.limit > 0 {
		return c.limit
	}
	return min(d, max(time.Second, time.Until(c.until)))
}
