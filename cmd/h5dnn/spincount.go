package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
)

// limitSpinning restarts the process with GOMP_SPINCOUNT set, if the command computes
// and the user has not set it. By default OpenMP's threads spin for about 20 ms before
// they sleep, which wastes the processors that other processes need (decision 0008).
// OpenMP reads the environment before main runs.
func limitSpinning() {
	environ, again := environment(os.Args, os.Environ())
	if !again {
		return
	}
	if program, err := os.Executable(); err == nil {
		_ = syscall.Exec(program, os.Args, environ) // returns only on failure; then run with the default
	}
}

// environment returns the environment to restart with, and whether to restart.
func environment(args, environ []string) ([]string, bool) {
	if len(args) < 2 || !slices.Contains([]string{"train", "eval", "predict"}, args[1]) {
		return environ, false
	}
	chosen := func(v string) bool {
		return strings.HasPrefix(v, "GOMP_SPINCOUNT=") || strings.HasPrefix(v, "OMP_WAIT_POLICY=")
	}
	if slices.ContainsFunc(environ, chosen) {
		return environ, false
	}
	return append(environ, "GOMP_SPINCOUNT=3000"), true
}
