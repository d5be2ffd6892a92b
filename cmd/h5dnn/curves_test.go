//go:build cgo

package main

import (
	"context"
	"image"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gonum.org/v1/plot"
)

// TestTicksAreRound: of epochs, of shares and of losses over decades.
func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		ticks     plot.Ticker
		low, high float64
		want      string
	}{
		{roundTicks{whole: true}, 1, 3, "1 2 3"},
		{roundTicks{whole: true}, 1, 60, "10 20 30 40 50 60"},
		{roundTicks{}, 0.43, 1, "0.5 0.6 0.7 0.8 0.9 1.0"},
		{roundTicks{}, 0.9601, 0.9902, "0.965 0.970 0.975 0.980 0.985 0.990"},
		{logTicks{}, 0.09, 2.2, "0.1 0.2 0.5 1 2"},
		{logTicks{}, 1e-4, 1e3, "0.0001 0.001 0.01 0.1 1 10 100 1e+03"},
	} {
		var labels []string
		for _, tick := range c.ticks.Ticks(c.low, c.high) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// TestCurvesAreDrawn: of every kind of history, large enough to be read.
func TestCurvesAreDrawn(t *testing.T) {
	for name, h := range map[string]map[string][]float64{
		"one epoch":    {"loss": {0.5}},
		"decades":      {"loss": {1e3, 1, 1e-3}, "val_loss": {1e3, 2, 1}},
		"zero":         {"loss": {0, 0, 0}, "accuracy": {1, 1, 1}},
		"not a number": {"loss": {1, math.NaN(), 2}, "val_loss": {math.Inf(1), math.NaN(), math.NaN()}},
		"nothing":      {"loss": {math.NaN()}},
	} {
		file := filepath.Join(t.TempDir(), "curves.png")
		if err := drawCurves(file, h); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if c, _, err := image.DecodeConfig(f); err != nil || c.Width < 640 || c.Height < 480 {
			t.Errorf("%s: %d x %d, %v", name, c.Width, c.Height, err)
		}
	}
}

// TestPlotsOfRunsWithLongNames trains into a file whose name has 255 bytes.
func TestPlotsOfRunsWithLongNames(t *testing.T) {
	withDigits(t)
	for _, name := range []string{strings.Repeat("n", 252) + ".h5", strings.Repeat("ü", 126) + ".h5"} {
		if status, out, errs := in(t, context.Background(), append(slices.Clone(digitFlags), "--epochs", "1", "-o", name)...); status != 0 || errs != "" {
			t.Errorf("status %d, %q, %q", status, out, errs)
		}
		if plot := curvesName(name); !exists(plot) || len(plot) > 255 || !utf8.ValidString(plot) {
			t.Errorf("%d bytes, no plot %s", len(plot), plot)
		}
	}
}
