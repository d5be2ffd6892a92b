package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

var (
	//go:embed peer_torch.py
	torchScript string
	//go:embed peer_inference.py
	inferenceScript string
	//go:embed peer_torch_tensor.py
	torchTensorScript string
	//go:embed peer_h5py.py
	h5pyScript string
	//go:embed peer_torch_gpu.py
	torchGPUScript string
	//go:embed peer_rows.py
	rowsScript string // defines what the others end with
)

// A peer is a process that times the same rows with another program. The nil
// peer times nothing.
type peer struct {
	command *exec.Cmd
	make    func() *exec.Cmd // to start it again; nil if it cannot be
	in      io.WriteCloser
	out     *bufio.Reader
	version string
}

func startPeer(python, script string, threads int, in folders) (*peer, error) {
	if python == "" {
		return &peer{version: "none"}, nil
	}
	p := &peer{make: func() *exec.Cmd {
		c := exec.Command(python, "-c", rowsScript+script, fmt.Sprint(threads), in.data, in.made, fmt.Sprint(in.small))
		c.Env = append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", threads))
		return c
	}}
	p.command = p.make()
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("peer %s: %w", python, err)
	}
	return p, nil
}

// peers are the programs beside which this one is measured.
type peers struct {
	*peer
	again  *peer  // like the first, to show the noise of the machine; nil beside another program
	files  *peer  // makes the files of rows; nil if the first peer does
	remove func() // after the peers have stopped
}

// startPeers starts the peer of a suite, or this program at commit base.
func startPeers(s suite, base, python string, threads int, in folders) (all peers, err error) {
	all.remove = func() {}
	if base == "" {
		all.peer, err = startPeer(python, s.script, threads, in)
		return all, err
	}
	if all.peer, all.again, all.remove, err = startBase(base, threads, in); err != nil {
		return all, err
	}
	if s.makesFiles {
		if all.files, err = startPeer(python, s.script, threads, in); err != nil {
			all.stop()
		}
	}
	return all, err
}

// turns is the least number of turns of each side: a difference between two commits is small.
func (all peers) turns() int {
	if all.again != nil {
		return 9
	}
	return 3
}

func (all peers) stop() {
	for _, p := range []*peer{all.peer, all.again, all.files} {
		p.stop()
	}
	all.remove()
}

// peerLimit is how long a peer may take to answer. torch.compile takes minutes.
const peerLimit = 10 * time.Minute

// time asks for n timings of a row, in seconds. A peer that dies or does not answer is
// started again, for the next rows.
func (p *peer) time(row string, n int) (times []float64, err error) {
	if p == nil || p.command == nil {
		return nil, nil
	}
	fmt.Fprintf(p.in, "%d %s\n", n, row)
	limit := time.AfterFunc(peerLimit, func() { p.command.Process.Kill() })
	line, err := p.out.ReadBytes('\n')
	hung := !limit.Stop()
	if err == nil {
		return times, json.Unmarshal(line, &times)
	}
	p.stop()
	ended := fmt.Errorf("peer: it ended: %v", p.command.ProcessState)
	if hung {
		ended = fmt.Errorf("peer: no answer after %v", peerLimit)
	}
	if p.make == nil {
		return nil, ended
	}
	p.command = p.make()
	return nil, errors.Join(ended, p.start())
}

func (p *peer) stop() {
	if p != nil && p.command != nil {
		p.in.Close()
		p.command.Wait()
	}
}

// machine describes the processor in a line.
func machine() string {
	model, isa := "unknown processor", ""
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "model name":
			model = strings.TrimSpace(value)
		case "flags":
			for _, flag := range []string{"avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile"} {
				if slices.Contains(strings.Fields(value), flag) {
					isa = flag
				}
			}
		}
	}
	return fmt.Sprintf("%s (%s), %d cores, %s %s", model, isa, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
