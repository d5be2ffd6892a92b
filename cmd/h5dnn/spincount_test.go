package main

import (
	"slices"
	"testing"
)

// TestOnlyComputeCommandsRestartOnce also checks that a user's setting is respected.
func TestOnlyComputeCommandsRestartOnce(t *testing.T) {
	train := []string{"h5dnn", "train"}
	environ, again := environment(train, []string{"HOME=/"})
	if !again || !slices.Contains(environ, "HOME=/") || len(environ) != 2 {
		t.Fatalf("train: %v, %v; want one variable more", environ, again)
	}
	for _, test := range []struct{ args, environ []string }{
		{train, environ},
		{train, []string{"OMP_WAIT_POLICY=active"}},
		{[]string{"h5dnn", "inspect"}, nil},
		{[]string{"h5dnn"}, nil},
	} {
		if _, again := environment(test.args, test.environ); again {
			t.Errorf("%v with %v starts again", test.args, test.environ)
		}
	}
}
