// Package pythontest runs Python in tests that compare with its libraries. Where there is
// no Python, or a library is missing, they are skipped and say so.
package pythontest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Variable names the Python interpreter that has the libraries; by default it is python3.
const Variable = "H5DNN_PYTHON"

// Run runs a script with arguments and returns what it prints. It skips the test, saying
// why, if there is no Python or it lacks one of the modules.
func Run(t testing.TB, modules []string, script string, args ...string) string {
	t.Helper()
	return Command(t, exec.Command(Interpreter(t, Variable, modules...), append([]string{"-c", script}, args...)...))
}

// Interpreter returns the Python interpreter that an environment variable names, or
// python3. It skips the test, saying why, if Python is missing or lacks one of the modules.
func Interpreter(t testing.TB, variable string, modules ...string) string {
	t.Helper()
	name := os.Getenv(variable)
	if name == "" {
		name = "python3"
	}
	python, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no Python to compare with: %v; %s names it", err, variable)
	}
	if out, err := exec.Command(python, "-c", "import "+strings.Join(modules, ",")).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("%s lacks a module to compare with: %s; %s names another", python, lines[len(lines)-1], variable)
	}
	return python
}

// Command runs c and returns what it prints. The test fails, with what c prints to
// stderr, if it does not succeed.
func Command(t testing.TB, c *exec.Cmd) string {
	t.Helper()
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	return string(out)
}
