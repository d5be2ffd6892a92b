package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

func many(in folders) string { return filepath.Join(in.made, "many.h5") }

// command runs a program on a file, its output thrown away.
func command(file func(folders) string, name string, args ...string) func(folders) (task, error) {
	return func(in folders) (task, error) {
		if _, err := exec.LookPath(name); err != nil {
			return task{}, err
		}
		if _, err := os.Stat(file(in)); err != nil {
			return task{}, err
		}
		return task{once: func() error { return exec.Command(name, append(args, file(in))...).Run() }}, nil
	}
}

// firstOutput runs inspect until the first byte it prints.
func firstOutput(in folders) (task, error) {
	var running *exec.Cmd
	end := func() error {
		if running == nil {
			return nil
		}
		return running.Wait()
	}
	once := func() error {
		running = exec.Command("bin/h5dnn", "inspect", gzipped(in))
		out, err := running.StdoutPipe()
		if err != nil {
			return err
		}
		if err := running.Start(); err != nil {
			return err
		}
		_, err = io.ReadFull(out, make([]byte, 1))
		return err
	}
	return task{before: end, once: once, done: func() { end() }}, nil
}
