//go:build cgo

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// compute opens the device of config and sets the number of threads.
func compute(config train.Config) (storage.Device, error) {
	setThreads(config)
	shareThreads(config)
	if d, err := ownGPU(config); d != nil || err != nil {
		return d, err
	}
	return storage.DeviceNamed(cmp.Or(config.Device, "cpu"))
}

// deviceFlag selects the device that a trained model runs on.
func deviceFlag() cli.Flag {
	return &cli.StringFlag{Name: "device", Usage: "cpu, or a GPU as listed by h5dnn devices (cuda:0)", Value: "cpu"}
}

// resumedOn loads the named run on the device and with the threads that the flags
// select, whatever device it was trained on.
func resumedOn(c *cli.Context, name string) (*train.Run, error) {
	if models.IsKeras(name) {
		return nil, fmt.Errorf("%s is a model of Keras; make a run of it with h5dnn convert %s run.h5", name, name)
	}
	config := train.Config{Device: c.String("device"), Threads: c.Int("threads")}
	device, err := compute(config)
	if err != nil {
		return nil, err
	}
	run, err := resume(c.Context, name, device)
	if err == nil {
		run.Config.Device, run.Config.Threads = config.Device, config.Threads
	}
	return run, err
}

// profiled runs f and prints the profile of the named device, and what it did without.
func profiled(w io.Writer, device string, f func() error) error {
	if !strings.HasPrefix(device, "cuda") {
		return errors.New("--profile needs a GPU; choose one with --device")
	}
	d, err := cuda.Open(device)
	if err != nil {
		return err
	}
	p := d.Profile()
	defer func() {
		p.Stop()
		fmt.Fprint(w, p)
		fmt.Fprintln(w, "code of kernels: "+d.LoadSummary())
		for _, text := range d.Fallbacks() {
			fmt.Fprintln(w, "note: "+text)
		}
	}()
	return f()
}

// traced calls f and writes a trace of it to the file of --trace, if there is one: to FILE-rank1.json and so on in other
// processes than the first.
func traced(c *cli.Context, f func() error) error {
	name := c.String("trace")
	if name == "" {
		return f()
	}
	if g := group(); g != nil && g.Rank() > 0 {
		ext := filepath.Ext(name)
		name = fmt.Sprintf("%s-rank%d%s", strings.TrimSuffix(name, ext), g.Rank(), ext)
	}
	r := trace.Start(true)
	err := f()
	r.Stop()
	if n := r.Dropped(); n > 0 {
		fmt.Fprintf(c.App.ErrWriter, "note: %s has the first events only, %d more are left out; trace fewer steps\n", name, n)
	}
	return cmp.Or(err, atomicfile.Write(name, func(file *atomicfile.File) error { return r.WriteChrome(file) }))
}

// namedBy returns the name of the file in a flag, or none.
func namedBy(c *cli.Context, flag string) []string {
	if name := c.String(flag); name != "" {
		return []string{name}
	}
	return nil
}

// setThreads sets the number of compute threads.
func setThreads(config train.Config) {
	if config.Threads > 0 {
		native.SetThreads(config.Threads)
	}
}

// resume loads the run in the named file on a device.
func resume(ctx context.Context, name string, device storage.Device) (*train.Run, error) {
	if err := isFile(name); err != nil {
		return nil, err
	}
	addInput(ctx, name, nil)
	return train.Resume(name, device, openOptions(ctx))
}

// resumeWith returns the run of a file, after configure has changed its
// configuration, on the device that configure returns.
func resumeWith(ctx context.Context, name string, configure func(*train.Config) (storage.Device, error)) (*train.Run, error) {
	if err := isFile(name); err != nil {
		return nil, err
	}
	config, err := train.ReadConfig(name)
	if err != nil {
		return nil, err
	}
	device, err := configure(&config)
	if err != nil {
		return nil, err
	}
	run, err := train.Resume(name, device, openOptions(ctx))
	if err == nil {
		config.Data.Normalize, config.Model, config.Classes = run.Config.Data.Normalize, run.Config.Model, run.Config.Classes
		run.Config = config
	}
	return run, err
}
