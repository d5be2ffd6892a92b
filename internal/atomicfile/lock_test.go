package atomicfile_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
)

// TestMain locks the path in an environment variable, if there is one, until it is
// killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("H5DNN_TEST_LOCK"); path != "" {
		if _, err := atomicfile.Lock(path); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("locked\n")
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLocksEndWithTheirProcess locks a path in a process that is killed.
func TestLocksEndWithTheirProcess(t *testing.T) {
	for _, name := range []string{"run.h5", strings.Repeat("n", 255)} {
		path := filepath.Join(t.TempDir(), name)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "H5DNN_TEST_LOCK="+path)
		stdin, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
			t.Fatal(line, err)
		}
		if l, err := atomicfile.Lock(path); !errors.Is(err, atomicfile.ErrLocked) {
			t.Errorf("while another process has it: %v, %v", l, err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		l, err := atomicfile.Lock(path)
		if err != nil {
			t.Fatalf("after the process was killed: %v", err)
		}
		if again, err := atomicfile.Lock(path); !errors.Is(err, atomicfile.ErrLocked) {
			t.Errorf("in one process: %v, %v", again, err)
		}
		l.Unlock()
		if left := list(t, filepath.Dir(path)); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// TestWriteProtectedFilesAreNotReplaced needs a user other than root.
func TestWriteProtectedFilesAreNotReplaced(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("old"), 0o444); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	replace(t, name, "new", os.ErrPermission)
	if err := atomicfile.CheckWritable(name); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}
