// Command bench times h5dnn beside a peer on the same work, in one run, with the
// same number of threads, and writes a table of medians and their ratios.
//
//	go run ./bench -python PYTHON -o bench/RESULTS.md
//	go run ./bench -python PYTHON -suite inference -o bench/INFERENCE.md
//	go run ./bench -python PYTHON -suite tensor -o bench/TENSOR.md
//	go run ./bench -python PYTHON -suite io -o bench/IO.md
//	go run ./bench -python PYTHON -suite gpu -device cuda:0 -o TABLE.md
//	go run ./bench -python "" -suite host -o bench/HOST.md
//	go run ./bench -base COMMIT
//
// The peer is a process that answers requests (peer_torch.py, peer_inference.py, peer_h5py.py, peer_torch_gpu.py):
// to "COUNT ROW" on its input it answers COUNT times in seconds, and a COUNT of 0 only prepares.
// The two take turns, a few repetitions each, so that a change of the machine's speed does not favour
// either. With -base the peer is this program at another commit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/kernels/native"
)

func main() {
	python := flag.String("python", "python3", "interpreter with PyTorch, for the peer; empty for h5dnn alone")
	out := flag.String("o", "", "file for the table; none for standard output alone")
	only := flag.String("only", "", "substring of the rows to run")
	threads := flag.Int("threads", 2, "threads for each side")
	seconds := flag.Float64("seconds", 6, "time to spend on a row, both sides together")
	data := flag.String("data", "../shared/data", "folder with mnist.h5, for the rows that read it")
	made := flag.String("made", "bench/out", "folder for the files that the peer makes")
	name := flag.String("suite", "compute", "which table: compute, inference, tensor, io, gpu or host")
	device := flag.String("device", "cuda:0", "what the rows of GPUs run on")
	small := flag.Bool("small", false, "make those rows as small as an interpreter can do them; their times mean nothing")
	training := flag.Bool("training", false, "describe the training of the example CNN on a GPU: first steps, graph, bits, the CPU's losses")
	step := flag.String("step", "", "write the time of each kernel in its steps to `FILE`, as CSV, and what libraries chose")
	steps := flag.Int("steps", 20, "number of those steps")
	template := flag.String("template", "", "write to `FILE` what the row of 20 GiB is made from where there is no libhdf5")
	base := flag.String("base", "", "measure beside this program at a `COMMIT`, instead of the peer")
	flag.Parse()
	if *template != "" {
		rows := uploadRows
		if *small {
			rows = smallUploadRows
		}
		if err := writeTemplate(*template, rows, folders{small: *small}.sizes().row); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(2)
		}
		return
	}
	if err := describe(*training, *step, *steps, folders{*data, *made, *device, *small}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	} else if *training || *step != "" {
		return
	}
	s, ok := suites[*name]
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: no suite %q; choose compute, inference, tensor, io, gpu or host\n", *name)
		os.Exit(2)
	}
	if *base != "" {
		s = s.besideBase()
	}
	if err := run(s, *base, *python, *out, *only, *threads, *seconds, folders{*data, *made, *device, *small}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

// describe describes the training on a GPU, as the flags ask.
func describe(training bool, step string, steps int, in folders) error {
	if training {
		if err := describeTraining(in); err != nil {
			return err
		}
	}
	if step != "" {
		return profileStep(in, step, steps)
	}
	return nil
}

// A suite is the rows of one table, and the script of the peer beside them.
type suite struct {
	command, script string
	rows            []row
	makesFiles      bool // whether the script makes the files that the rows read
}

var suites = map[string]suite{
	"compute":   {command: "make bench", script: torchScript, rows: rows},
	"inference": {command: "make bench-inference", script: inferenceScript, rows: inferenceRows},
	"tensor":    {command: "make bench-tensor", script: torchTensorScript, rows: tensorRows},
	"io":        {command: "make bench-io", script: h5pyScript, rows: ioRows, makesFiles: true},
	"gpu":       {command: "make gpu-check", script: torchGPUScript, rows: gpuRows},
	"host":      {command: "make bench-host", rows: hostRows},
}

// folders are where the files of rows lie, and the GPU that computes.
type folders struct {
	data, made string
	device     string
	small      bool
}

func run(s suite, base, python, out, only string, threads int, seconds float64, in folders) error {
	runtime.LockOSThread() // so that all arithmetic has one caller, and OpenMP one team
	runtime.GOMAXPROCS(threads)
	native.SetThreads(threads)
	peers, err := startPeers(s, base, python, threads, in)
	if err != nil {
		return err
	}
	defer peers.stop()
	var results []result
	var failed []error
	for _, r := range s.selected(only) {
		res, err := measure(r, peers, seconds, in)
		if err != nil {
			res.untimed = fmt.Errorf("failed: %w", err)
			failed = append(failed, fmt.Errorf("%s: %w", r.name, err))
		}
		fmt.Println(res)
		results = append(results, res)
		if err := writeResults(out, s, results, peers.version, threads, in); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// writeResults writes the table of the rows so far, unless out is empty.
func writeResults(out string, s suite, results []result, peer string, threads int, in folders) error {
	if out == "" {
		return nil
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	writeTable(f, s.command, results, peer, threads)
	if in.small {
		fmt.Fprintf(f, "\n**Sizes are those that an interpreter can do (-small): the times mean nothing.**\n")
	}
	return f.Close()
}

// A result is what both sides took for one row, in seconds.
type result struct {
	row
	ours, theirs []float64
	again        []float64 // of a second peer like the first, if there is one
	peak         int       // bytes resident, at most, while h5dnn worked
	untimed      error     // why there are none
}

func (r result) ratio() float64 { return median(r.ours) / median(r.theirs) }

// noise is the relative difference between two peers that are alike.
func (r result) noise() float64 {
	if len(r.again) == 0 {
		return 0
	}
	return math.Abs(median(r.again)/median(r.theirs) - 1)
}

func (r result) String() string {
	if r.untimed != nil {
		return fmt.Sprintf("%-52s %v", r.name, r.untimed)
	}
	if len(r.theirs) == 0 {
		return fmt.Sprintf("%-52s %9.4f ms", r.name, 1e3*median(r.ours))
	}
	text := fmt.Sprintf("%-52s %9.4f ms, peer %9.4f ms, ratio %s (bar %s)%s",
		r.name, 1e3*median(r.ours), 1e3*median(r.theirs), times(r.ratio()), times(r.bar), r.memory())
	if len(r.again) > 0 {
		text += fmt.Sprintf("; noise %.3f, %d pairs", r.noise(), len(r.theirs))
	}
	return text
}

// memory is the peak of resident memory, if the row measures it.
func (r result) memory() string {
	switch {
	case r.most == 0:
		return ""
	case r.most == anyMemory:
		return fmt.Sprintf("; peak %d MiB", r.peak>>20)
	}
	return fmt.Sprintf("; %d of %d MiB", r.peak>>20, r.most>>20)
}

func (r result) met() bool { return r.ratio() <= r.bar+r.noise() && (r.most <= 0 || r.peak <= r.most) }

// times writes a ratio of times, small ones as a speed-up: "5.2x faster".
func times(ratio float64) string {
	if ratio < 0.2 {
		return fmt.Sprintf("%.3gx faster", 1/ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}

// measure lets the two sides take turns at a row until time is up.
func measure(r row, peers peers, seconds float64, in folders) (result, error) {
	res := result{row: r}
	for _, p := range []*peer{peers.files, peers.peer, peers.again} {
		if _, err := p.time(r.name, 0); err != nil {
			return res, err
		}
	}
	ours, err := r.prepare(in)
	if err != nil {
		return res.without(err)
	}
	defer ours.finish()
	theirs := func(n int) ([]float64, error) { return peers.time(r.name, n) }
	switch {
	case r.limit > 0:
		theirs = func(int) ([]float64, error) { return []float64{r.limit}, nil }
	case r.beside != nil:
		t, err := r.beside(in)
		if err != nil {
			return res.without(err)
		}
		defer t.finish()
		theirs = t.repeat
	}
	again := func(n int) ([]float64, error) { return peers.again.time(r.name, n) }
	return res, res.alternate(ours, theirs, again, peers.turns(), seconds)
}

// without returns the result of a row for which a file or a program is missing; any other
// error is a failure.
func (r result) without(err error) (result, error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		r.untimed, err = fmt.Errorf("skipped: %w", err), nil
	}
	return r, err
}

// alternate fills in the times of all sides, in a number of turns or more.
func (r *result) alternate(ours task, theirs, again func(n int) ([]float64, error), fewest int, seconds float64) error {
	if _, err := ours.repeat(1); err != nil { // compiles, allocates
		return err
	}
	first, err := ours.repeat(1)
	if err != nil {
		return err
	}
	count := min(max(int(seconds/40/first[0]), 1), 500)
	for _, once := range []func(int) ([]float64, error){theirs, again} {
		if _, err := once(1); err != nil {
			return err
		}
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for turns := 0; time.Now().Before(end) || turns < fewest; turns++ {
		mine, err := r.watched(func() ([]float64, error) { return ours.repeat(count) })
		if err != nil {
			return err
		}
		other, err := theirs(count)
		if err != nil {
			return err
		}
		more, err := again(count)
		if err != nil {
			return err
		}
		r.ours, r.theirs, r.again = append(r.ours, mine...), append(r.theirs, other...), append(r.again, more...)
	}
	return nil
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	if len(x) == 0 {
		return 0
	}
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// watched measures the peak of memory during a turn, if the row does.
func (r *result) watched(turn func() ([]float64, error)) ([]float64, error) {
	if r.most == 0 {
		return turn()
	}
	if err := forgetPeak(); err != nil {
		return nil, err
	}
	times, err := turn()
	if err != nil {
		return nil, err
	}
	resident, err := peak()
	r.peak = max(r.peak, resident)
	return times, err
}

func writeTable(w io.Writer, command string, results []result, peer string, threads int) {
	fmt.Fprintf(w, "# h5dnn beside its peer\n\nWritten by `%s` on %s.\n\n", command, time.Now().Format("2 January 2006"))
	fmt.Fprintf(w, "Machine: %s; %d threads a side. Peer: %s.\n\n", machine(), threads, peer)
	fmt.Fprintf(w, "Medians of alternating runs; a ratio below 1 is in h5dnn's favour. The bar is what the ratio should not exceed.\n\n")
	fmt.Fprintf(w, "| work | h5dnn, ms | peer, ms | ratio | bar | |\n|---|---:|---:|---:|---:|---|\n")
	for _, r := range results {
		if r.untimed != nil {
			fmt.Fprintf(w, "| %s | | | | %s | %v |\n", r.name, times(r.bar), r.untimed)
			continue
		}
		verdict := "met"
		if !r.met() {
			verdict = "**missed**"
		}
		fmt.Fprintf(w, "| %s | %.4g | %.4g | %s | %s | %s%s |\n", r.name, 1e3*median(r.ours), 1e3*median(r.theirs), times(r.ratio()), times(r.bar), verdict, r.memory())
	}
}
