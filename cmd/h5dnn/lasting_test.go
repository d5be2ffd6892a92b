package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// epochsOf returns the number of epochs that a run file has.
func epochsOf(t *testing.T, name string) int {
	t.Helper()
	run, err := train.Resume(name, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	return run.Position.Epoch
}

// TestTrainingOutlivesItsPipe closes standard output after a line, as head does.
func TestTrainingOutlivesItsPipe(t *testing.T) {
	withDigits(t)
	cmd := program(t, append(slices.Clone(digitFlags), "--epochs", "20", "-o", "run.h5")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.ReadFull(out, make([]byte, 1))
	out.Close()
	if err := cmd.Wait(); err != nil || errs.Len() > 0 {
		t.Errorf("%v, says %q; want nothing", err, errs.String())
	}
	if n := epochsOf(t, "run.h5"); n != 20 {
		t.Errorf("%d epochs; want 20", n)
	}
}

// TestTrainingReportsThatItsReportIsLost writes to a device without room.
func TestTrainingReportsThatItsReportIsLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("there is no device that is always full: %v", err)
	}
	defer full.Close()
	withDigits(t)
	cmd := program(t, append(slices.Clone(digitFlags), "--epochs", "2", "-o", "run.h5")...)
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &errs
	cmd.Run()
	if cmd.ProcessState.ExitCode() != statusTrouble || !strings.Contains(errs.String(), "run written to run.h5; its report is lost: ") {
		t.Errorf("status %d, says %q", cmd.ProcessState.ExitCode(), errs.String())
	}
	if n := epochsOf(t, "run.h5"); n != 2 {
		t.Errorf("%d epochs; want 2", n)
	}
}

// startTraining starts a run without end and waits for its first epoch.
func startTraining(t *testing.T, before ...string) (cmd *exec.Cmd, errs *bytes.Buffer) {
	t.Helper()
	cmd = program(t, append(slices.Clone(digitFlags), "--epochs", "1000000", "-o", "run.h5", "--force")...)
	if len(before) > 0 {
		path, err := exec.LookPath(before[0])
		if err != nil {
			t.Skipf("the test needs %s: %v", before[0], err)
		}
		cmd.Path, cmd.Args = path, append(before, cmd.Args...)
	}
	errs = &bytes.Buffer{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "epoch ") {
	}
	go io.Copy(io.Discard, out)
	return cmd, errs
}

// TestHangUpSavesTheRun unless it is ignored, as under nohup.
func TestHangUpSavesTheRun(t *testing.T) {
	withDigits(t)
	for _, signal := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM, os.Interrupt} {
		cmd, errs := startTraining(t)
		cmd.Process.Signal(signal)
		cmd.Wait()
		if cmd.ProcessState.ExitCode() != statusInterrupted || !strings.Contains(errs.String(), "train --resume run.h5") {
			t.Errorf("%v: status %d, says %q", signal, cmd.ProcessState.ExitCode(), errs.String())
		}
		if n := epochsOf(t, "run.h5"); n < 1 {
			t.Errorf("%v: %d epochs saved", signal, n)
		}
	}
	cmd, _ := startTraining(t, "nohup")
	cmd.Process.Signal(syscall.SIGHUP)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("under nohup, a hang-up ends training: %v", err)
	case <-time.After(300 * time.Millisecond):
		cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	}
}

// TestResumingFinishedRunsIsFine: there is nothing to do.
func TestResumingFinishedRunsIsFine(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	if status, _, errs := in(t, ctx, append(slices.Clone(digitFlags), "--epochs", "2", "-o", "run.h5")...); status != 0 {
		t.Fatal(errs)
	}
	before, _ := os.ReadFile("run.h5")
	status, out, errs := in(t, ctx, "train", "--resume", "run.h5")
	if want := "run.h5: all 2 epochs are done; continue with more --epochs\n"; status != 0 || out != want || errs != "" {
		t.Errorf("status %d, %q, %q; want %q", status, out, errs, want)
	}
	status, out, errs = in(t, ctx, "train", "--resume", "run.h5", "--json")
	if status != 0 || out != "" || errs == "" {
		t.Errorf("--json: status %d, %q, %q", status, out, errs)
	}
	status, _, errs = in(t, ctx, "train", "--resume", "run.h5", "-o", "other.h5")
	if status != statusTrouble || !strings.Contains(errs, "other.h5 is not written") {
		t.Errorf("-o: status %d, %q", status, errs)
	}
	if after, err := os.ReadFile("run.h5"); !bytes.Equal(before, after) {
		t.Errorf("the run file has changed, %v", err)
	}
}

// TestResumingTellsWhereBitsDiffer changes the number of threads.
func TestResumingTellsWhereBitsDiffer(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	if status, _, errs := in(t, ctx, append(slices.Clone(digitFlags), "--epochs", "1", "--threads", "2", "-o", "run.h5")...); status != 0 {
		t.Fatal(errs)
	}
	for threads, want := range map[string]string{"2": "", "1": "note: 1 threads instead of 2: results differ in their last bits from those of a run that was not interrupted; 2 threads would keep them\n"} {
		whole, err := os.ReadFile("run.h5")
		if err != nil {
			t.Fatal(err)
		}
		status, _, errs := in(t, ctx, "train", "--resume", "run.h5", "--epochs", "2", "--threads", threads)
		if status != 0 || errs != want {
			t.Errorf("%s threads: status %d, %q; want %q", threads, status, errs, want)
		}
		if err := os.WriteFile("run.h5", whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSameThreadsGiveTheSameBits trains twice with each number of threads. With another number the
// order of sums is another one: oneDNN divides products of dense layers along their sums, too, on
// processors without AVX-512.
func TestSameThreadsGiveTheSameBits(t *testing.T) {
	withDigits(t)
	for threads := range 4 {
		var first string
		for range 2 {
			status, out, errs := in(t, context.Background(), append(slices.Clone(digitFlags), "--model", "mlp", "--epochs", "2", "--threads", fmt.Sprint(threads+1), "-o", "run.h5", "--force")...)
			if want := fmt.Sprintf("%d threads, on which the last bits depend\n", threads+1); status != 0 || !strings.Contains(out, want) {
				t.Fatalf("%q, %q", out, errs)
			}
			weights := weightsOf(t, "run.h5")
			if first == "" {
				first = weights
			}
			if weights == "" || weights != first {
				t.Errorf("%d threads: other weights in the second run", threads+1)
			}
		}
	}
}

// weightsOf returns the bits of the weights in a run file.
func weightsOf(t *testing.T, name string) string {
	t.Helper()
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all strings.Builder
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Name, "model/") {
			bits, err := blocks.Read(e.Array)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s %x\n", e.Name, bits)
		}
	}
	return all.String()
}

// TestNoHistoryEndsARunThroughItsPlot draws losses that are not finite, or huge.
func TestNoHistoryEndsARunThroughItsPlot(t *testing.T) {
	t.Chdir(t.TempDir())
	nan, inf := math.NaN(), math.Inf(1)
	for _, losses := range [][]float64{{nan}, {1, nan, 0.5}, {inf, 1}, {1, 1e308, -1e308}, {0, 0}, {-inf, nan}, {1e-320, 1e300}, {5e-324}, {1, 1 + 3e-16}, {1e15, 1e15 + 0.125}, {1e99, 1e-99}, {1e99}} {
		done := make(chan error, 1)
		go func() {
			done <- plotCurves("run.png", train.History{"loss": losses, "val_loss": {nan}, "accuracy": losses})
		}()
		select {
		case err := <-done:
			t.Logf("%v: %v", losses, err)
		case <-time.After(time.Minute):
			t.Fatalf("%v: drawing does not end", losses)
		}
	}
}

// TestPlotsThatFailAreWarnings puts a folder where the plot belongs, while training goes on.
func TestPlotsThatFailAreWarnings(t *testing.T) {
	withDigits(t)
	var errs bytes.Buffer
	out := afterLine{do: func() { os.Mkdir("run.png", 0o777) }}
	status := run(context.Background(), append([]string{"h5dnn"}, append(slices.Clone(digitFlags), "--epochs", "1", "-o", "run.h5")...), &out, &errs)
	if status != 0 || !strings.Contains(errs.String(), "warning: run.png is not drawn: ") || strings.Contains(out.String(), "run.png") {
		t.Errorf("status %d, %q, %q", status, out.String(), errs.String())
	}
}
