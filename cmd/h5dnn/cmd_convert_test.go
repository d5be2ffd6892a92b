package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConvertToStandardOutput compares what is written to - with the file of the same
// format. The report comes on standard error.
func TestConvertToStandardOutput(t *testing.T) {
	const in = "../../testdata/checkpoint.safetensors"
	for _, format := range []string{"native", "safetensors", "npz", "torch"} {
		name := filepath.Join(t.TempDir(), "out")
		var out, errs bytes.Buffer
		if status := run(t.Context(), []string{"h5dnn", "convert", in, name, "--to", format}, &out, &errs); status != statusFine {
			t.Fatal(errs.String())
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if status := run(t.Context(), []string{"h5dnn", "convert", in, "-", "--to", format}, &out, &errs); status != statusFine {
			t.Fatal(errs.String())
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: %d bytes on standard output differ from the %d bytes of the file", format, out.Len(), len(want))
		}
		if !strings.Contains(errs.String(), "7 arrays written to standard output; nothing lost") {
			t.Errorf("%s: standard error is %q; want the report", format, errs.String())
		}
	}
}
