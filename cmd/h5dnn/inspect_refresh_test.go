package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspectRefreshShowsWhatChanged has a file grow after it was shown.
func TestInspectRefreshShowsWhatChanged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "growing.h5")
	write := func(from string) {
		content, err := os.ReadFile(filepath.Join("../../storage/hdf5/testdata", from))
		if err == nil {
			err = os.WriteFile(name+".new", content, 0o600)
		}
		if err == nil {
			err = os.Rename(name+".new", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("growing_1.h5")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	go func() {
		run(ctx, []string{"h5dnn", "inspect", "--refresh", "5ms", name}, w, io.Discard)
		w.Close()
	}()
	var shown strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := r.Read(buffer)
		shown.Write(buffer[:n])
		switch text := shown.String(); {
		case err != nil && strings.Contains(text, "(500, 4)"):
			return
		case err != nil:
			t.Fatalf("ended: %v; shown:\n%s", err, text)
		case strings.Contains(text, "(500, 4)"):
			stop()
		case strings.Contains(text, "(3, 4)"):
			write("growing_2.h5")
		}
	}
}
