package main

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

var errNoPipes = errors.New("pipes are not read on Windows; save the input to a file")

// isPipe is true for all descriptors, whose names this system does not have.
func isPipe(int) bool { return true }

func replaceDescriptor(int, *os.File) error { return errNoPipes }

// A pipeReader reads nothing.
type pipeReader struct {
	context.Context
	fd int
}

func (pipeReader) Read([]byte) (int, error) { return 0, errNoPipes }

// Terminals understand colours once they are told to.
func init() {
	for _, output := range []windows.Handle{windows.Stdout, windows.Stderr} {
		var mode uint32
		if windows.GetConsoleMode(output, &mode) == nil {
			windows.SetConsoleMode(output, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
		}
	}
}
