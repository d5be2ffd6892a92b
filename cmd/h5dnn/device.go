package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// compute returns the device that config asks for, and sets its threads.
func compute(config train.Config) (storage.Device, error) {
	setThreads(config)
	if name := config.Device; name != "" && name != "cpu" {
		return cuda.Open(name)
	}
	return storage.CPU, nil
}

// deviceFlag says where what was trained is used.
func deviceFlag() cli.Flag {
	return &cli.StringFlag{Name: "device", Usage: "what computes: cpu, or a GPU as h5dnn devices names it (cuda:0)", Value: "cpu"}
}

// resumedOn returns the named run, on the device and with the threads that flags
// ask for: where it was trained does not matter.
func resumedOn(c *cli.Context, name string) (*train.Run, error) {
	config := train.Config{Device: c.String("device"), Threads: c.Int("threads")}
	device, err := compute(config)
	if err != nil {
		return nil, err
	}
	run, err := resume(name, device)
	if err == nil {
		run.Config.Device, run.Config.Threads = config.Device, config.Threads
	}
	return run, err
}

// profiled runs f, and then writes what the device of that name was asked for.
func profiled(w io.Writer, device string, f func() error) error {
	if !strings.HasPrefix(device, "cuda") {
		return errors.New("--profile counts what a GPU is asked for; choose one by --device")
	}
	d, err := cuda.Open(device)
	if err != nil {
		return err
	}
	p := d.Profile()
	defer func() {
		p.Stop()
		fmt.Fprint(w, p)
	}()
	return f()
}

// setThreads makes the cpu compute with as many threads as config asks for.
func setThreads(config train.Config) {
	if config.Threads > 0 {
		native.SetThreads(config.Threads)
	}
}
