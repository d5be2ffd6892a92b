package serializetest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// PythonVariable names the Python interpreter with other libraries, for tests that compare
// with them; by default it is python3.
const PythonVariable = "H5DNN_PYTHON"

// Python runs a script with arguments and returns what it prints. It skips the test, saying
// why, if there is no Python or it lacks one of the modules.
func Python(t *testing.T, modules []string, script string, args ...string) string {
	t.Helper()
	name := os.Getenv(PythonVariable)
	if name == "" {
		name = "python3"
	}
	python, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no Python to compare with: %v; %s names it", err, PythonVariable)
	}
	if out, err := exec.Command(python, "-c", "import "+strings.Join(modules, ",")).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("%s lacks a module to compare with: %s; %s names another", python, lines[len(lines)-1], PythonVariable)
	}
	c := exec.Command(python, append([]string{"-c", script}, args...)...)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return string(out)
}
