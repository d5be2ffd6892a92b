package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// TestHelpFlags: the program and each command print their help for --help and -h, to stdout.
func TestHelpFlags(t *testing.T) {
	help := func(args ...string) string {
		t.Helper()
		var out, failed bytes.Buffer
		if status := run(context.Background(), append([]string{"h5dnn"}, args...), &out, &failed); status != 0 || failed.Len() > 0 {
			t.Fatalf("%q: status %d, %s", args, status, failed.String())
		}
		return out.String()
	}
	names := []string{""}
	for _, command := range commands() {
		names = append(names, command.Name)
	}
	for _, name := range names {
		command := slices.DeleteFunc([]string{name}, func(s string) bool { return s == "" })
		long, short := help(append(command, "--help")...), help(append(command, "-h")...)
		want := strings.TrimSpace("h5dnn "+name) + " - "
		if name == "help" { // asks for the help of the program
			want = "h5dnn - "
		}
		if !strings.Contains(long, want) || long != short {
			t.Errorf("%q --help prints %q, -h prints %q; want %q in both", command, long, short, want)
		}
	}
	if help() != help("--help") {
		t.Error("without arguments the program does not print its help")
	}
}
