//go:build cgo

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestReportOfARunFile: the page has the curves and what the validation data show; without the data it has the curves, and
// says what it lacks. An existing page is replaced with --force only.
func TestReportOfARunFile(t *testing.T) {
	withDigits(t)
	if status, _, errs := in(t, context.Background(), slices.Concat(digitFlags, []string{"--split", "0.2", "--epochs", "1", "-o", "run.h5"})...); status != 0 {
		t.Fatal(errs)
	}
	parts := func(file string) (matrix, worst bool) {
		page, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(page), `id="panels"`) {
			t.Fatalf("%v: %s", err, page)
		}
		return strings.Contains(string(page), `id="confusion"`), strings.Contains(string(page), "data:image/png;base64,")
	}
	if status, out, errs := in(t, context.Background(), "report", "run.h5"); status != 0 || out != "report written to run.html\n" {
		t.Fatalf("status %d, %q, %q", status, out, errs)
	}
	if matrix, worst := parts("run.html"); !matrix || !worst {
		t.Errorf("matrix %v, pictures %v in the page; want both", matrix, worst)
	}
	if status, _, errs := in(t, context.Background(), "report", "run.h5"); status == 0 || !strings.Contains(errs, "run.html exists; use --force") {
		t.Errorf("an existing page: status %d, %q", status, errs)
	}
	if err := os.Remove("testdata/digits.h5"); err != nil {
		t.Fatal(err)
	}
	status, _, errs := in(t, context.Background(), "report", "run.h5", "-o", "other.html")
	if matrix, worst := parts("other.html"); status != 0 || matrix || worst || !strings.Contains(errs, "the data cannot be read: ") {
		t.Errorf("without the data: status %d, %q, matrix %v, pictures %v", status, errs, matrix, worst)
	}
}
