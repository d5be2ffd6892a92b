//go:build cgo

package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/collective/mpi"
)

const togetherConfig = `
data: {file: %s, x: train/images, y: train/labels, split: 0.1, shuffle: window}
model: [flatten, {dense: 24}, {batchnorm1d: {num_features: 24}}, relu, {dropout: 0.1}, {dense: 10}]
metrics: [{top_k: 2}]
clip_norm: 1
ema: 0.9
batch: 64
accumulate: %d
epochs: %d
shards: 4
threads: 1
`

// A launcher runs this program on several processes.
type launcher struct {
	name, program string
	flags         []string
	folder        string // of the libraries for MPI
}

// launchers returns the launchers of the installed MPIs, with their libraries.
func launchers(t *testing.T) (all []launcher) {
	folder := t.TempDir()
	out, err := exec.Command("sh", "../../scripts/mpi.sh", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("scripts/mpi.sh: %v\n%s", err, out)
	}
	for name, flags := range map[string][]string{"openmpi": {"--oversubscribe"}, "mpich": nil} {
		program, err := exec.LookPath("mpirun." + name)
		if err != nil {
			t.Logf("no mpirun.%s here", name)
			continue
		}
		all = append(all, launcher{name, program, flags, folder})
	}
	if len(all) == 0 {
		t.Skip("neither mpirun.openmpi nor mpirun.mpich is here")
	}
	return all
}

// command returns h5dnn on n processes, or without a launcher if n is 1.
func (l launcher) command(n int, args ...string) *exec.Cmd {
	program, arguments := os.Args[0], args
	if n > 1 {
		program, arguments = l.program, append(append(append([]string{}, l.flags...), "-n", strconv.Itoa(n), os.Args[0]), args...)
	}
	c := exec.Command(program, arguments...)
	c.Env = append(os.Environ(), "H5DNN_TEST_AS_PROGRAM=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", mpi.PathVariable+"="+l.folder)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// run returns the output of h5dnn on n processes.
func (l launcher) run(t *testing.T, n int, args ...string) (string, error) {
	t.Helper()
	c := l.command(n, args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(2*time.Minute, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	err := c.Wait()
	return out.String(), err
}

// differences lists what two run files do not have alike, besides times.
func (l launcher) differences(t *testing.T, a, b string) string {
	t.Helper()
	out, _ := l.run(t, 1, "diff", "--json", a, b)
	var lines []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"name"`) && !strings.Contains(line, "history/seconds") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func writeTogether(t *testing.T, folder string, accumulate, epochs int) string {
	t.Helper()
	digits, err := filepath.Abs("../../testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, fmt.Sprintf("%d-%d.yaml", accumulate, epochs))
	if err := os.WriteFile(file, fmt.Appendf(nil, togetherConfig, digits, accumulate, epochs), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTogetherIsAlone: the same run on 1, 2 and 4 processes of each MPI gives the same file.
func TestTogetherIsAlone(t *testing.T) {
	for _, l := range launchers(t) {
		for _, accumulate := range []int{1, 3} {
			folder := t.TempDir()
			config := writeTogether(t, folder, accumulate, 2)
			for _, n := range []int{1, 2, 4} {
				file := filepath.Join(folder, fmt.Sprintf("%d.h5", n))
				out, err := l.run(t, n, "train", config, "-o", file)
				if err != nil {
					t.Fatalf("%s, %d processes: %v\n%s", l.name, n, err, out)
				}
				if strings.Count(out, "epoch 2/2") != 1 {
					t.Errorf("%s, %d processes print\n%s", l.name, n, out)
				}
				if differ := l.differences(t, filepath.Join(folder, "1.h5"), file); differ != "" {
					t.Errorf("%s, %d processes:\n%s", l.name, n, differ)
				}
			}
		}
	}
}

var killedRuns = flag.Int("killed-runs", 2, "runs on several processes that TestTogetherAfterAKill kills twice, with each MPI")

// TestTogetherAfterAKill: however processes end, a run goes on on another number of them, and gives the bits of one that
// was not killed.
func TestTogetherAfterAKill(t *testing.T) {
	const epochs = 30
	ways := []string{"rank", "all", "rank terminated"}
	random := rand.New(rand.NewPCG(30, 30))
	for _, l := range launchers(t) {
		folder := t.TempDir()
		config := writeTogether(t, folder, 1, epochs)
		whole := filepath.Join(folder, "whole.h5")
		if out, err := l.run(t, 1, "train", config, "-o", whole); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for i := range *killedRuns {
			how := ways[i%len(ways)]
			file := filepath.Join(folder, fmt.Sprintf("%d.h5", i))
			args := []string{"train", config, "-o", file, "--save-every", "7steps"}
			for attempt, n := 0, 4; ; attempt++ {
				c := l.command(n, args...)
				var out bytes.Buffer
				c.Stdout, c.Stderr = &out, &out
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				if attempt < 2 {
					killSome(c.Process.Pid, how, time.Duration(300+random.IntN(1500))*time.Millisecond)
				}
				late := time.AfterFunc(2*time.Minute, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
				err := c.Wait()
				late.Stop()
				if _, missing := os.Stat(file); missing == nil {
					args = []string{"train", "--resume", file, "--save-every", "7steps"}
				}
				if err == nil && attempt >= 2 {
					break
				}
				if attempt >= 2 {
					t.Fatalf("%s, %s: %v\n%s", l.name, how, err, &out)
				}
				n = []int{2, 4, 1}[random.IntN(3)]
			}
			if differ := l.differences(t, whole, file); differ != "" {
				t.Errorf("%s, %s:\n%s", l.name, how, differ)
			}
		}
	}
}

// killSome ends processes that a launcher with a process ID has started, after a time.
func killSome(launcher int, how string, after time.Duration) {
	time.Sleep(after)
	ranks := descendants(launcher)
	if len(ranks) == 0 {
		ranks = []int{launcher}
	}
	switch how {
	case "all":
		syscall.Kill(-launcher, syscall.SIGKILL)
		for _, rank := range ranks {
			syscall.Kill(rank, syscall.SIGKILL)
		}
	case "rank":
		syscall.Kill(ranks[len(ranks)/2], syscall.SIGKILL)
	default:
		syscall.Kill(ranks[len(ranks)/2], syscall.SIGTERM)
	}
}

// descendants lists the processes below one that run this program.
func descendants(parent int) (all []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	children := map[int][]int{}
	programs := map[int]bool{}
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		above, _ := strconv.Atoi(fields[1])
		children[above] = append(children[above], pid)
		program, _ := os.Readlink(filepath.Join(folder, "exe"))
		programs[pid] = program == os.Args[0]
	}
	for queue := []int{parent}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			if queue = append(queue, child); programs[child] {
				all = append(all, child)
			}
		}
	}
	return all
}

// TestTogetherFailsOnce: an error that all processes have is one line.
func TestTogetherFailsOnce(t *testing.T) {
	for _, l := range launchers(t) {
		config := writeTogether(t, t.TempDir(), 1, 1)
		for _, c := range []struct {
			n    int
			args []string
			want string
		}{
			{2, []string{"train", "--x", "a"}, "h5dnn train: "},
			{3, []string{"train", config}, "h5dnn train: 3 processes for the 4 shards of the run; start as many as divide the shards"},
			{2, []string{"train", config, "--batch", "30"}, "h5dnn train: --batch: 30 samples for 4 shards; want an equal part for each, such as 28 or 32"},
		} {
			out, err := l.run(t, c.n, append(c.args, "-o", filepath.Join(t.TempDir(), "run.h5"))...)
			if err == nil || strings.Count(out, "h5dnn train: ") != 1 || !strings.Contains(out, c.want) {
				t.Errorf("%s, %v: %v\n%s\nwant one line %s", l.name, c.args, err, out, c.want)
			}
		}
	}
}
