package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDumbTerminalsGetNoBars: a terminal that cannot write a line again, as TERM says, gets no
// control sequences.
func TestDumbTerminalsGetNoBars(t *testing.T) {
	for kind, want := range map[string]bool{"dumb": false, "xterm": true} {
		shown := onTerminal(t, "TERM="+kind, "verify", "../../testdata/digits.h5")
		if got := strings.Contains(shown, "\x1b"); got != want || !strings.Contains(shown, "no problems found") {
			t.Errorf("TERM=%s shows %q; want control sequences: %v", kind, shown, want)
		}
	}
}

// onTerminal runs a command with a terminal as its output, and returns what the terminal receives.
func onTerminal(t *testing.T, env string, args ...string) string {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer control.Close()
	fd := int(control.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	received := make(chan string)
	go func() {
		b, _ := io.ReadAll(control) // ends with EIO when the terminal is closed
		received <- string(b)
	}()
	cmd := program(t, args...)
	cmd.Env = append(cmd.Env, env)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	terminal.Close()
	return <-received
}

// TestTerminalsFoldAlikeObjects: on a terminal alike objects are one line, with the range of
// their names and lengths; --all shows each of them.
func TestTerminalsFoldAlikeObjects(t *testing.T) {
	const episodes = "../../testdata/episodes.h5"
	shown := onTerminal(t, "NO_COLOR=1", "inspect", episodes)
	for _, want := range []string{"demo_0 … demo_11/  12 alike", "@num_samples = 5 (the first; others differ)", "actions  float32 (5…14, 2)", "pose  float32 (5…14, 3)"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not shown:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "demo_3") {
		t.Error("demo_3 is shown, which is like the others")
	}
	for _, more := range []string{"--all", "--stats"} {
		if all := onTerminal(t, "NO_COLOR=1", "inspect", episodes, more); !strings.Contains(all, "demo_3") {
			t.Errorf("%s does not show demo_3", more)
		}
	}
}
