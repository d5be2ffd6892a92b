package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

var (
	//go:embed peer_torch.py
	torchScript string
	//go:embed peer_h5py.py
	h5pyScript string
	//go:embed peer_torch_gpu.py
	torchGPUScript string
)

// A peer is a process that times the same rows with another program. The nil
// peer times nothing.
type peer struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	version string
}

func startPeer(python, script string, threads int, in folders) (*peer, error) {
	if python == "" {
		return &peer{version: "none"}, nil
	}
	p := &peer{command: exec.Command(python, "-c", script, fmt.Sprint(threads), in.data, in.made, fmt.Sprint(in.small))}
	p.command.Env = append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", threads))
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("peer %s: %w", python, err)
	}
	return p, nil
}

// time asks for n timings of a row, in seconds.
func (p *peer) time(row string, n int) (times []float64, err error) {
	if p.command == nil {
		return nil, nil
	}
	fmt.Fprintf(p.in, "%d %s\n", n, row)
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	return times, json.Unmarshal(line, &times)
}

func (p *peer) stop() {
	if p.command != nil {
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
			for _, flag := range []string{"avx2", "avx512f", "avx512_bf16", "amx_tile"} {
				if slices.Contains(strings.Fields(value), flag) {
					isa = flag
				}
			}
		}
	}
	return fmt.Sprintf("%s (%s), %d cores, %s %s", model, isa, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
