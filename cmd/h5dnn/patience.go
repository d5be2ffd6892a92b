package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
)

// settle starts the process once more, with a shorter patience for OpenMP's
// threads, if the command computes and the user has not chosen one. They spin
// some 20 ms for each other before they sleep; where other processes want the
// processors too, that is time thrown away (decision 0008). OpenMP reads this
// from the environment before anything of ours runs.
func settle() {
	environ, again := environment(os.Args, os.Environ())
	if !again {
		return
	}
	if program, err := os.Executable(); err == nil {
		_ = syscall.Exec(program, os.Args, environ) // returns only if it cannot; then as we are
	}
}

// environment returns the environment to start again with, if that is needed.
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
