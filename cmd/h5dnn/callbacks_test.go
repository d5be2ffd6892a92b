//go:build cgo

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const callbacksConfig = `
data: {file: %s, x: train/images, y: train/labels, split: 0.1, shuffle: window}
model: [flatten, {dense: 24}, {batchnorm1d: {num_features: 24}}, relu, {dropout: 0.1}, {dense: 10}]
optimizer: {adam: {lr: 0.02}}
schedule: constant
batch: 32
epochs: 60
shards: 2
threads: 1
callbacks: %s
`

// TestCallbacksAfterAKill: early stopping, the best checkpoints and averages of weights, killed at random times and resumed until the run is complete,
// end with the bits of a run that was not, and with the same files beside it.
func TestCallbacksAfterAKill(t *testing.T) {
	digits, err := filepath.Abs("../../testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(30, 81))
	for name, callbacks := range map[string]string{
		"early stopping": "[{early_stopping: {patience: 8}}, {checkpoint: {best: 3, last: 1}}]",
		"swa":            "[{swa: {start: 0.6, lr: 0.01}}, {checkpoint: {best: 2, monitor: val_accuracy}}]",
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			config := filepath.Join(folder, "config.yaml")
			if err := os.WriteFile(config, fmt.Appendf(nil, callbacksConfig, digits, callbacks), 0o666); err != nil {
				t.Fatal(err)
			}
			whole := filepath.Join(folder, "whole.h5")
			began := time.Now()
			if out, err := (launcher{}).run(t, 1, "train", config, "-o", whole); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			took := time.Since(began)
			for range *killedRuns {
				file := filepath.Join(folder, "killed.h5")
				kept, _ := filepath.Glob(filepath.Join(folder, "killed*"))
				for _, old := range kept {
					os.Remove(old)
				}
				args, kills := []string{"train", config, "-o", file, "--save-every", "9steps"}, 0
				for attempt := 0; ; attempt++ {
					c := launcher{}.command(1, args...)
					var out bytes.Buffer
					c.Stdout, c.Stderr = &out, &out
					if err := c.Start(); err != nil {
						t.Fatal(err)
					}
					if attempt < 4 {
						kill := time.AfterFunc(took/5+time.Duration(random.Int64N(int64(took/3))), func() { syscall.Kill(c.Process.Pid, syscall.SIGKILL) })
						defer kill.Stop()
					}
					err := c.Wait()
					if err == nil {
						break
					}
					if !strings.Contains(err.Error(), "killed") {
						t.Fatalf("%v\n%s", err, &out)
					}
					kills++
					if _, missing := os.Stat(file); missing == nil {
						args = []string{"train", "--resume", file, "--save-every", "9steps"}
					}
				}
				t.Logf("killed %d times", kills)
				if differ := (launcher{}).differences(t, whole, file); differ != "" {
					t.Errorf("after %d kills:\n%s", kills, differ)
				}
				if a, b := besides(t, whole), besides(t, file); a != b {
					t.Errorf("after %d kills there are%s; want%s", kills, b, a)
				}
			}
		})
	}
}

// besides lists the ends of the names of the saves beside a run file.
func besides(t *testing.T, file string) (list string) {
	t.Helper()
	base := strings.TrimSuffix(file, ".h5")
	names, err := filepath.Glob(base + "-step*.h5")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		list += " " + strings.TrimPrefix(name, base)
	}
	return list
}
