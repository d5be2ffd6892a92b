//go:build cgo

package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

func devicesCommand() *cli.Command {
	return &cli.Command{
		Name:  "devices",
		Usage: "show the CPU, GPUs and compute libraries of this machine",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "cuda", Usage: "show only GPUs, their driver and libraries"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
		},
		Action: func(c *cli.Context) error {
			if _, err := arguments(c); err != nil {
				return err
			}
			return showDevices(c.App.Writer, c.Bool("json"), c.Bool("cuda"))
		},
	}
}

func showDevices(w io.Writer, asJSON, onlyGPUs bool) error {
	if asJSON {
		return encodeDevices(w, onlyGPUs)
	}
	if !onlyGPUs {
		showCPU(w)
		if _, err := cuda.Find(); err != nil {
			_, err := fmt.Fprintln(w, "cuda  no driver was found; h5dnn devices --cuda lists where it was looked for")
			return err
		}
	}
	return showGPUs(w)
}

func showCPU(w io.Writer) {
	fmt.Fprintf(w, "cpu  %s with %s, %d cores, %d compute threads\n", runtime.GOARCH, native.ISA(), runtime.NumCPU(), native.Threads())
	for _, l := range append(native.Libraries(), hdf5Library()) {
		fmt.Fprintf(w, "  %s %s  %s\n", l.Name, l.Version, l.Detail)
	}
}

// showGPUs prints the CUDA driver, GPUs and libraries, or what is missing.
func showGPUs(w io.Writer) error {
	if err := showDriver(w); err != nil {
		return err
	}
	for _, l := range cuda.Libraries() {
		state := l.Path
		if l.Missing != nil {
			state = l.Missing.Error()
		}
		if _, err := fmt.Fprintf(w, "  %s  %s: %s\n", strings.TrimSpace(l.Name+" "+l.Version), l.Use, state); err != nil {
			return err
		}
	}
	return nil
}

func showDriver(w io.Writer) error {
	driver, err := cuda.Find()
	if err != nil {
		_, err = fmt.Fprintf(w, "cuda  %v\n", err)
		return err
	}
	gpus, err := cuda.Devices()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "cuda  CUDA %s, %s\n", driver.Version, driver.Path)
	for _, d := range gpus {
		fmt.Fprintf(w, "  %v  %s, compute capability %d.%d, %d multiprocessors, %.4g GiB\n", d, d.Model, d.Capability/10, d.Capability%10, d.Multiprocessors, float64(d.Memory)/(1<<30))
		for _, text := range fallbacks(d) {
			fmt.Fprintf(w, "    %s\n", text)
		}
	}
	return nil
}

// fallbacks returns what a GPU does without, and why, once its libraries are started; or why
// it cannot be used.
func fallbacks(d *cuda.Device) []string {
	if err := d.StartLibraries(); err != nil {
		return []string{err.Error()}
	}
	return d.Fallbacks()
}

// encodeDevices prints the devices and libraries as JSON.
func encodeDevices(w io.Writer, onlyGPUs bool) error {
	gpus, found := gpuFields()
	devices, all := []fields{}, fields{}
	if !onlyGPUs {
		devices = append(devices, fields{{"name", "cpu"}, {"arch", runtime.GOARCH}, {"isa", native.ISA()}, {"cores", runtime.NumCPU()}, {"threads", native.Threads()}})
		list := []fields{}
		for _, l := range append(native.Libraries(), hdf5Library()) {
			list = append(list, fields{{"name", l.Name}, {"version", l.Version}, {"path", l.Path}, {"detail", l.Detail}})
		}
		all = fields{{"libraries", list}}
	}
	all = append(fields{{"devices", append(devices, gpus...)}}, all...)
	return encodeLine(w, append(all, fields{{"cuda", append(found, libraryFields()...)}}...))
}

func libraryFields() fields {
	list := []fields{}
	for _, l := range cuda.Libraries() {
		about := fields{{"name", l.Name}, {"use", l.Use}}
		if l.Missing != nil {
			about = append(about, fields{{"missing", l.Missing.Error()}}...)
		} else {
			about = append(about, fields{{"version", l.Version}, {"path", l.Path}}...)
		}
		list = append(list, about)
	}
	return fields{{"libraries", list}}
}

// gpuFields returns the GPUs and the driver as JSON fields.
func gpuFields() (gpus []fields, found fields) {
	driver, err := cuda.Find()
	if err != nil {
		return nil, fields{{"missing", err.Error()}}
	}
	found = fields{{"version", driver.Version}, {"path", driver.Path}}
	all, err := cuda.Devices()
	if err != nil {
		return nil, append(found, fields{{"missing", err.Error()}}...)
	}
	for _, d := range all {
		gpus = append(gpus, fields{{"name", d.String()}, {"model", d.Model}, {"capability", d.Capability}, {"multiprocessors", d.Multiprocessors}, {"bytes", d.Memory}, {"fallbacks", append([]string{}, fallbacks(d)...)}})
	}
	return gpus, found
}

// hdf5Library is what HDF5 files are written with.
func hdf5Library() native.Library {
	l := native.Library{Name: "libhdf5", Version: "not found", Detail: "writes HDF5 files; they are read without it"}
	if version, err := hdf5write.LibraryVersion(); err == nil {
		l.Version = version
	} else {
		l.Detail = err.Error()
	}
	return l
}
