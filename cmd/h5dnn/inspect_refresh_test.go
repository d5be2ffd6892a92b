package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefreshShowsWhatChanged has a file grow after it, and the last elements of a dataset, were shown.
func TestRefreshShowsWhatChanged(t *testing.T) {
	for _, remote := range []bool{false, true} {
		testRefresh(t, remote, "inspect", "", "(3, 4)", "(500, 4)")
		testRefresh(t, remote, "slice", ":/rows[-1]", "2.25  2.375]", "499.25  499.375]")
	}
	if status := run(t.Context(), []string{"h5dnn", "slice", "--refresh", "1s", "-o", "x.npy", "x.h5:/x"}, io.Discard, io.Discard); status == 0 {
		t.Error("slice writes a file again and again")
	}
}

// testRefresh runs a command with an address in a file, or in one at a URL, that grows once a text is shown, and waits for another text.
func testRefresh(t *testing.T, remote bool, command, path, before, after string) {
	t.Helper()
	folder := t.TempDir()
	name := filepath.Join(folder, "growing.h5")
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
	shownFile := name
	if remote {
		server := httptest.NewServer(http.FileServer(http.Dir(folder)))
		defer server.Close()
		shownFile = server.URL + "/growing.h5"
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	go func() {
		run(ctx, []string{"h5dnn", command, "--refresh", "5ms", shownFile + path}, w, io.Discard)
		w.Close()
	}()
	var shown strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := r.Read(buffer)
		shown.Write(buffer[:n])
		switch text := shown.String(); {
		case err != nil && strings.Contains(text, after):
			return
		case err != nil:
			t.Fatalf("ended: %v; shown:\n%s", err, text)
		case strings.Contains(text, after):
			stop()
		case strings.Contains(text, before):
			write("growing_2.h5")
		}
	}
}
