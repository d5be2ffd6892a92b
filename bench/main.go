// Command bench times h5dnn beside a peer on the same work, in one run, with the
// same number of threads, and writes a table of medians and their ratios.
//
//	go run ./bench -python PYTHON -o bench/RESULTS.md
//
// The peer is a process that answers requests (peer_torch.py): "ROW COUNT" on
// its input is answered by COUNT times in seconds on its output. The two take
// turns, a few repetitions each, so that a machine whose speed drifts does not
// favour either.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/kernels"
)

func main() {
	python := flag.String("python", "python3", "interpreter with PyTorch, for the peer; empty for h5dnn alone")
	out := flag.String("o", "", "file for the table; none for standard output alone")
	only := flag.String("only", "", "substring of the rows to run")
	threads := flag.Int("threads", 2, "threads for each side")
	seconds := flag.Float64("seconds", 6, "time to spend on a row, both sides together")
	data := flag.String("data", "../shared/data", "folder with mnist.h5, for the rows that read it")
	flag.Parse()
	if err := run(*python, *out, *only, *threads, *seconds, *data); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func run(python, out, only string, threads int, seconds float64, data string) error {
	runtime.LockOSThread() // so that all arithmetic has one caller, and OpenMP one team
	kernels.SetThreads(threads)
	p, err := startPeer(python, threads, data)
	if err != nil {
		return err
	}
	defer p.stop()
	var results []result
	for _, r := range selected(only) {
		res, err := measure(r, p, seconds, data)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Println(res)
		results = append(results, res)
	}
	if out == "" {
		return nil
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	writeTable(f, results, p.version, threads)
	return f.Close()
}

// A result is what both sides took for one row, in seconds.
type result struct {
	row
	ours, theirs []float64
	skipped      error
}

func (r result) ratio() float64 { return median(r.ours) / median(r.theirs) }

func (r result) String() string {
	if r.skipped != nil {
		return fmt.Sprintf("%-52s skipped: %v", r.name, r.skipped)
	}
	if len(r.theirs) == 0 {
		return fmt.Sprintf("%-52s %9.4f ms", r.name, 1e3*median(r.ours))
	}
	return fmt.Sprintf("%-52s %9.4f ms, peer %9.4f ms, ratio %.2f (bar %.2f)",
		r.name, 1e3*median(r.ours), 1e3*median(r.theirs), r.ratio(), r.bar)
}

// measure lets the two sides take turns at a row until time is up.
func measure(r row, p *peer, seconds float64, data string) (result, error) {
	res := result{row: r}
	once, done, err := r.prepare(data)
	if err != nil {
		res.skipped = err
		return res, nil
	}
	defer done()
	if _, err := repeat(once, 1); err != nil { // compiles, allocates
		return res, err
	}
	first, err := repeat(once, 1)
	if err != nil {
		return res, err
	}
	count := min(max(int(seconds/40/first[0]), 1), 500)
	if _, err := p.time(r.name, 1); err != nil {
		return res, err
	}
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end) || len(res.ours) < 3; {
		ours, err := repeat(once, count)
		if err != nil {
			return res, err
		}
		theirs, err := p.time(r.name, count)
		if err != nil {
			return res, err
		}
		res.ours, res.theirs = append(res.ours, ours...), append(res.theirs, theirs...)
	}
	return res, nil
}

// repeat returns how many seconds each of n calls took. One before them, if they
// are several, finds the caches and the threads as the other side's turn left them.
func repeat(once func() error, n int) ([]float64, error) {
	if n > 1 {
		if err := once(); err != nil {
			return nil, err
		}
	}
	times := make([]float64, n)
	for i := range times {
		start := time.Now()
		if err := once(); err != nil {
			return nil, err
		}
		times[i] = time.Since(start).Seconds()
	}
	return times, nil
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	if len(x) == 0 {
		return 0
	}
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func writeTable(w io.Writer, results []result, peer string, threads int) {
	fmt.Fprintf(w, "# h5dnn beside its peer\n\nWritten by `make bench` on %s.\n\n", time.Now().Format("2 January 2006"))
	fmt.Fprintf(w, "Machine: %s; %d threads a side. Peer: %s.\n\n", machine(), threads, peer)
	fmt.Fprintf(w, "Medians of alternating runs; a ratio below 1 is in h5dnn's favour. The bar is what the ratio should not exceed.\n\n")
	fmt.Fprintf(w, "| work | h5dnn, ms | peer, ms | ratio | bar | |\n|---|---:|---:|---:|---:|---|\n")
	for _, r := range results {
		if r.skipped != nil {
			fmt.Fprintf(w, "| %s | | | | %.2f | skipped: %v |\n", r.name, r.bar, r.skipped)
			continue
		}
		verdict := "met"
		if r.ratio() > r.bar {
			verdict = "**missed**"
		}
		fmt.Fprintf(w, "| %s | %.4g | %.4g | %.2f | %.2f | %s |\n", r.name, 1e3*median(r.ours), 1e3*median(r.theirs), r.ratio(), r.bar, verdict)
	}
}
