//go:build cgo

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/collective/mpi"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
	"github.com/h5dnn/h5dnn/train"
)

// A law is a run whose bits do not depend on the processes that compute it.
type law struct {
	model      string
	dropLast   bool
	accumulate int
}

var lawModels = map[string]string{
	"mlp": "[flatten, {dense: 24}, {batchnorm1d: {num_features: 24}}, relu, {dropout: 0.1}, {dense: 10}]",
	"cnn": "[{conv2d: {out_channels: 4, kernel_size: 3}}, {batchnorm2d: {num_features: 4, sync: true}}, relu, {maxpool2d: 2}, {dropout: 0.1}, flatten, {dense: 10}]",
}

// lawConfig trains on 1,003 samples: the last batch of 64 has 43, which 4 shards do not divide.
const lawConfig = `
data: {file: %s, x: train/images, y: train/labels, val_x: valid/images, val_y: valid/labels, shuffle: window, window: 6}
model: %s
precision: fp16
metrics: [{top_k: 2}]
clip_norm: 1
ema: 0.9
batch: 64
drop_last: %v
accumulate: %d
epochs: %d
shards: 4
threads: 1
`

var wholeLaw = flag.Bool("whole-law", false, "try each model, with and without drop_last, accumulate 1 and 3, on several processes; else two of these eight runs")

// laws lists the runs to try. Of two of them each setting has both values.
func laws() (all []law) {
	for _, model := range []string{"mlp", "cnn"} {
		for _, dropLast := range []bool{false, true} {
			for _, accumulate := range []int{1, 3} {
				if *wholeLaw || (model == "cnn") == dropLast && (accumulate == 3) != dropLast {
					all = append(all, law{model, dropLast, accumulate})
				}
			}
		}
	}
	return all
}

func (l law) String() string {
	return fmt.Sprintf("%s, drop_last %v, accumulate %d", l.model, l.dropLast, l.accumulate)
}

// write writes the data and the configuration of a run to a folder, and returns the path of the configuration.
func (l law) write(t *testing.T, folder string, epochs int) string {
	t.Helper()
	data, file := filepath.Join(folder, "data.h5"), filepath.Join(folder, "config.yaml")
	writeLawData(t, data)
	if err := os.WriteFile(file, fmt.Appendf(nil, lawConfig, data, lawModels[l.model], l.dropLast, l.accumulate, epochs), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// writeLawData writes images with labels in compressed chunks, whose rows the last chunk does not fill.
func writeLawData(t *testing.T, name string) {
	t.Helper()
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(10, 3))
	for part, n := range map[string]int{"/train": 1003, "/valid": 203} {
		images, labels := make([]uint8, n*64), make([]int32, n)
		for i := range labels {
			labels[i] = int32(random.IntN(10))
			for k := range 64 {
				images[i*64+k] = uint8(random.IntN(150) + k*int(labels[i]+1)%11*10)
			}
		}
		gzip := []filter.Filter{filter.Deflate(4)}
		if err := errors.Join(w.WriteWith(part+"/images", storage.From(images, n, 1, 8, 8), hdf5write.Layout{Chunks: []int{17, 1, 8, 8}, Filters: gzip}),
			w.WriteWith(part+"/labels", storage.From(labels, n), hdf5write.Layout{Chunks: []int{100}, Filters: gzip})); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// replicas trains on a number of processes that are goroutines here, and returns the run file.
func (l law) replicas(t *testing.T, config string, processes int) string {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.h5")
	errs := make([]error, processes)
	var all sync.WaitGroup
	for rank, g := range collective.Local(processes) {
		all.Go(func() {
			errs[rank] = func() error {
				config, err := train.ParseConfig(text)
				if err != nil {
					return err
				}
				data, err := openData(t.Context(), config)
				if err != nil {
					return err
				}
				defer data.Close()
				run, err := train.New(t.Context(), config, data.Data, storage.CPU)
				if err != nil {
					return err
				}
				return run.Fit(t.Context(), data.Data, train.Options{File: file, Group: g})
			}()
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return file
}

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
	out, err := l.run(t, 1, "diff", "--json", a, b)
	if strings.Contains(out, "h5dnn diff: ") {
		t.Fatalf("%v\n%s", err, out)
	}
	var lines []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"name"`) && !strings.Contains(line, "history/seconds") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestTogetherIsAlone: the same run on 1, 2 and 4 processes of each MPI, and on goroutines, gives the same file.
func TestTogetherIsAlone(t *testing.T) {
	defer native.SetThreads(native.Threads())
	native.SetThreads(1)
	all := launchers(t)
	for _, r := range laws() {
		folder := t.TempDir()
		config, one := r.write(t, folder, 2), filepath.Join(folder, "one.h5")
		if out, err := all[0].run(t, 1, "train", config, "-o", one); err != nil {
			t.Fatalf("%s: %v\n%s", r, err, out)
		}
		for _, n := range []int{1, 2, 4} {
			if differ := all[0].differences(t, one, r.replicas(t, config, n)); differ != "" {
				t.Errorf("%s, %d goroutines:\n%s", r, n, differ)
			}
			for _, l := range all {
				if n == 1 {
					continue
				}
				file := filepath.Join(folder, fmt.Sprintf("%s-%d.h5", l.name, n))
				out, err := l.run(t, n, "train", config, "-o", file)
				if err != nil {
					t.Fatalf("%s, %s, %d processes: %v\n%s", r, l.name, n, err, out)
				}
				if strings.Count(out, "epoch 2/2") != 1 {
					t.Errorf("%s, %s, %d processes print\n%s", r, l.name, n, out)
				}
				if differ := l.differences(t, one, file); differ != "" {
					t.Errorf("%s, %s, %d processes:\n%s", r, l.name, n, differ)
				}
			}
		}
		t.Logf("%s: equal", r)
	}
}

// TestTwoHosts: two hosts with two processes each, joined by TCP, give the file of one process.
func TestTwoHosts(t *testing.T) {
	all := launchers(t)
	i := slices.IndexFunc(all, func(l launcher) bool { return l.name == "openmpi" })
	if i < 0 {
		t.Skip("no mpirun.openmpi here")
	}
	l := all[i]
	folder := t.TempDir()
	config, one, two := laws()[0].write(t, folder, 2), filepath.Join(folder, "one.h5"), filepath.Join(folder, "two.h5")
	if out, err := l.run(t, 1, "train", config, "-o", one); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := l.command(1)
	c.Args = []string{"sh", "../../scripts/hosts.sh", "-x", "H5DNN_TEST_AS_PROGRAM", "-x", mpi.PathVariable, os.Args[0], "train", config, "-o", two}
	c.Path = "/bin/sh"
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() == 77 {
		t.Skipf("no network namespaces here: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "bytes from host1 to host2") {
		t.Fatalf("%v\n%s", err, out)
	}
	if differ := l.differences(t, one, two); differ != "" {
		t.Errorf("two hosts:\n%s", differ)
	}
	t.Logf("%s", out)
}

var killedRuns = flag.Int("killed-runs", 1, "runs on several processes that TestTogetherAfterAKill kills twice, with each MPI, and runs of each kind that TestCallbacksAfterAKill kills")

// TestTogetherAfterAKill: however processes end, a run goes on on another number of them, and gives the bits of one that
// was not killed.
func TestTogetherAfterAKill(t *testing.T) {
	const epochs = 20
	ways := []string{"one is", "all are", "one by SIGTERM is", "all by SIGTERM are"}
	random := rand.New(rand.NewPCG(30, 30))
	folder, kills := t.TempDir(), 0
	for k, l := range launchers(t) {
		for i := range *killedRuns {
			r, how := laws()[(i+k)%len(laws())], ways[(i+k)%len(ways)]
			config, whole := r.write(t, folder, epochs), filepath.Join(folder, r.String()+".h5")
			if !exists(whole) {
				if out, err := l.run(t, 1, "train", config, "-o", whole); err != nil {
					t.Fatalf("%s: %v\n%s", r, err, out)
				}
			}
			file := filepath.Join(folder, fmt.Sprintf("%s-%d.h5", l.name, i))
			said := fmt.Sprintf("%s, %s, %s killed, processes:", l.name, r, how)
			args := []string{"train", config, "-o", file, "--save-every", "7steps"}
			n := 4
			for killed := 0; ; {
				said += fmt.Sprintf(" %d", n)
				c := l.command(n, args...)
				var out bytes.Buffer
				c.Stdout, c.Stderr = &out, &out
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				late := time.AfterFunc(2*time.Minute, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
				var ranks []int
				if killed < 2 {
					ranks = killSome(c.Process.Pid, how, time.Duration(100+random.IntN(1400))*time.Millisecond)
				}
				err := c.Wait()
				if !late.Stop() || !allEnd(ranks, time.Minute) {
					t.Fatalf("%s: they hang\n%s", said, &out)
				}
				if exists(file) {
					args = []string{"train", "--resume", file, "--save-every", "7steps"}
				}
				if len(ranks) == 0 && err != nil {
					t.Fatalf("%s: %v\n%s", said, err, &out)
				} else if len(ranks) == 0 {
					break
				}
				killed++
				kills++
				n = []int{2, 4, 1}[random.IntN(3)]
			}
			if differ := l.differences(t, whole, file); differ != "" {
				t.Errorf("%s\n%s", said, differ)
			}
			t.Log(said)
		}
	}
	t.Logf("%d kills", kills)
}

// killSome ends processes that a launcher with a process ID has started, after a time, and returns all it has started.
func killSome(launcher int, how string, after time.Duration) []int {
	time.Sleep(after)
	all := descendants(launcher)
	ranks, signal := all, syscall.SIGKILL
	if strings.Contains(how, "SIGTERM") {
		signal = syscall.SIGTERM
	}
	if how == "all are" && len(all) > 0 {
		syscall.Kill(-launcher, signal)
	}
	if !strings.HasPrefix(how, "all") && len(all) > 0 {
		ranks = all[len(all)/2:][:1]
	}
	for _, rank := range ranks {
		syscall.Kill(rank, signal)
	}
	return all
}

// allEnd waits until processes that are not children of this one have ended, and reports false if some do not.
func allEnd(processes []int, patience time.Duration) bool {
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		if !slices.ContainsFunc(processes, func(p int) bool { return programOf(p) == os.Args[0] }) {
			return true
		}
	}
	return false
}

// programOf returns the path of the program that a process runs, or "" if it has ended.
func programOf(process int) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", process))
	return path
}

// descendants lists the processes below one, and itself, that run this program.
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
		programs[pid] = programOf(pid) == os.Args[0]
	}
	for queue := []int{parent}; len(queue) > 0; queue = queue[1:] {
		if programs[queue[0]] {
			all = append(all, queue[0])
		}
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

// TestEvaluationTogetherIsAlone: eval prints the same numbers on 1, 2 and 4 processes, and predict writes the same file.
func TestEvaluationTogetherIsAlone(t *testing.T) {
	for _, l := range launchers(t) {
		folder := t.TempDir()
		run := filepath.Join(folder, "run.h5")
		if out, err := l.run(t, 1, "train", laws()[0].write(t, folder, 1), "-o", run); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		data := filepath.Join(folder, "data.h5")
		content, err := os.ReadFile(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"data2.h5", "data3.h5"} { // more samples than one process predicts at a time
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var numbers string
		var file []byte
		for _, n := range []int{1, 2, 4} {
			out, err := l.run(t, n, "eval", run, data, "--x", "train/images", "--y", "train/labels", "--json", "--threads", "1", "--confusion")
			if err != nil || !strings.Contains(out, `"samples":1003`) || n > 1 && out != numbers {
				t.Errorf("%s: eval on %d processes: %v\n%s\nwant\n%s", l.name, n, err, out, numbers)
			}
			predictions := filepath.Join(folder, fmt.Sprintf("%d.csv", n))
			if out, err := l.run(t, n, "predict", run, filepath.Join(folder, "data*.h5:/train/images"), "-o", predictions, "--threads", "1"); err != nil {
				t.Fatalf("%s: predict on %d processes: %v\n%s", l.name, n, err, out)
			}
			have, err := os.ReadFile(predictions)
			if err != nil || n > 1 && !bytes.Equal(have, file) {
				t.Errorf("%s: predict on %d processes: %v, %d bytes; want %d like one process", l.name, n, err, len(have), len(file))
			}
			numbers, file = out, have
		}
		if out, err := l.run(t, 3, "eval", run, data, "--x", "train/images", "--y", "train/labels"); err == nil || !strings.Contains(out, "3 processes for the 4 shards of the run") {
			t.Errorf("%s: eval on 3 processes: %v\n%s", l.name, err, out)
		}
		if out, err := l.run(t, 3, "eval", run, data, "--x", "train/images", "--y", "train/labels", "--shards", "3"); err != nil {
			t.Errorf("%s: eval of 3 shards: %v\n%s", l.name, err, out)
		}
	}
}

// TestTogetherFailsOnce: an error that all processes have is one line.
func TestTogetherFailsOnce(t *testing.T) {
	for _, l := range launchers(t) {
		config := laws()[0].write(t, t.TempDir(), 1)
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
