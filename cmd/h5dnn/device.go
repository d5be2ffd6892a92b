package main

import (
	"fmt"
	"strings"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// compute returns the device that config asks for, and sets its threads.
func compute(config train.Config) (storage.Device, error) {
	setThreads(config)
	switch name := config.Device; {
	case name == "" || name == "cpu":
		return storage.CPU, nil
	case strings.HasPrefix(name, "cuda"):
		d, err := cuda.Open(name)
		if err != nil {
			return nil, err
		}
		return d, nil
	default:
		return nil, fmt.Errorf("device %q: there are cpu, cuda, cuda:0 and so on; see h5dnn devices", name)
	}
}

// setThreads makes the cpu compute with as many threads as config asks for.
func setThreads(config train.Config) {
	if config.Threads > 0 {
		kernels.SetThreads(config.Threads)
	}
}
