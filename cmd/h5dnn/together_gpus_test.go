//go:build cgo

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const gpusConfig = `
data: {file: %s, x: 'train/images[:150]', y: 'train/labels[:150]', val_x: 'valid/images[:40]', val_y: 'valid/labels[:40]', shuffle: window, window: 3}
model: [flatten, {dense: 12}, {batchnorm1d: {num_features: 12}}, relu, {dropout: 0.1}, {dense: 10}]
metrics: [{top_k: 2}]
clip_norm: 1
ema: 0.9
batch: 32
accumulate: 2
epochs: 2
shards: 4
threads: 1
device: cuda:0
`

// onGPUs runs this program on a number of processes, each with an interpreted GPU of its own, as torchrun starts them on hosts with one GPU each.
// Without others it is a process alone.
func onGPUs(processes int, more []string, args ...string) ([]string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	outs, errs := make([]bytes.Buffer, processes), make([]error, processes)
	var all sync.WaitGroup
	for rank := range processes {
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), "H5DNN_TEST_AS_PROGRAM=1", "H5DNN_TEST_GPUS=yes")
		if processes > 1 {
			c.Env = append(c.Env, fmt.Sprint("RANK=", rank), fmt.Sprint("WORLD_SIZE=", processes), "LOCAL_RANK=0", "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+port)
		}
		c.Env = append(c.Env, more...)
		c.Stdout, c.Stderr = &outs[rank], &outs[rank]
		all.Go(func() { errs[rank] = c.Run() })
	}
	all.Wait()
	said := make([]string, processes)
	for rank := range outs {
		if said[rank] = outs[rank].String(); errs[rank] != nil {
			err = fmt.Errorf("rank %d: %w: %s", rank, errs[rank], said[rank])
		}
	}
	return said, err
}

// TestTogetherOnGPUs: processes with a GPU each, which NCCL joins, give the file of one process with one GPU.
func TestTogetherOnGPUs(t *testing.T) {
	folder := t.TempDir()
	data, config := filepath.Join(folder, "data.h5"), filepath.Join(folder, "config.yaml")
	writeLawData(t, data)
	if err := os.WriteFile(config, fmt.Appendf(nil, gpusConfig, data), 0o666); err != nil {
		t.Fatal(err)
	}
	file := func(n int) string { return filepath.Join(folder, fmt.Sprintf("%d.h5", n)) }
	sizes := []int{1, 2}
	if *wholeLaw {
		sizes = append(sizes, 4)
	}
	for _, n := range sizes {
		said, err := onGPUs(n, nil, "train", config, "-o", file(n))
		if err != nil {
			t.Fatalf("%d processes: %v", n, err)
		}
		if !strings.Contains(said[0], "epoch 2/2") || strings.Join(said[1:], "") != "" {
			t.Errorf("%d processes print %q", n, said)
		}
		if differ := (launcher{}).differences(t, file(1), file(n)); differ != "" {
			t.Errorf("%d processes:\n%s", n, differ)
		}
	}
	for _, c := range []struct {
		more []string
		args []string
		want string
	}{
		{nil, []string{"--device", "cpu"}, "device: processes that NCCL joins have a GPU each"},
		{[]string{"LOCAL_RANK=7"}, nil, "LOCAL_RANK is 7, and the number of GPUs here 2; or start them with mpirun -n 2"},
		{[]string{"MASTER_PORT="}, nil, "nccl: 2 processes without MASTER_ADDR and MASTER_PORT"},
		{[]string{"H5DNN_TEST_FAULTS=ncclCommInitRank=missing"}, nil, "without mpirun each needs a GPU, and NCCL: "},
	} {
		said, err := onGPUs(2, c.more, append([]string{"train", config, "-o", file(9)}, c.args...)...)
		if err == nil || !strings.Contains(said[0], c.want) {
			t.Errorf("%v, %v: %v\n%s\nwant %s", c.more, c.args, err, said, c.want)
		}
	}
}
