//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTraceOfTraining: --trace writes complete events on named threads, of all kinds of work that training on chunks does on the CPU, and
// a name of each operation. An existing file is replaced with --force only.
func TestTraceOfTraining(t *testing.T) {
	withDigits(t)
	args := slices.Concat(digitFlags, []string{"--split", "0.2", "--epochs", "2", "--trace", "trace.json", "-o", "run.h5"})
	if status, _, errs := in(t, context.Background(), args...); status != 0 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile("trace.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Ph, Cat, Name string
			Pid, Tid      *int
			Ts, Dur       *float64
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	count, named, names := map[string]int{}, map[int]bool{}, map[string]bool{}
	for _, e := range file.TraceEvents {
		switch {
		case e.Ph == "M" && e.Tid != nil:
			named[*e.Tid] = true
		case e.Ph == "X":
			if e.Ts == nil || e.Dur == nil || e.Pid == nil || e.Tid == nil || !named[*e.Tid] || *e.Dur < 0 {
				t.Fatalf("event %+v lacks a time, or its thread a name", e)
			}
			count[e.Cat]++
			names[e.Name] = true
		}
	}
	for kind, least := range map[string]int{"reading": 1, "decoding": 9, "copying": 9, "waiting": 36, "step": 36, "operation": 36 * 5, "validation": 2, "saving": 2} {
		if count[kind] < least {
			t.Errorf("%d events of %s, want %d or more", count[kind], kind, least)
		}
	}
	if count["step"] != 36 || !names["step 36"] || !names["epoch 2"] || !names["linear"] {
		t.Errorf("%d steps of 36; names %v", count["step"], names)
	}
	if status, _, errs := in(t, context.Background(), append(args[:len(args)-1], "other.h5")...); status == 0 || !strings.Contains(errs, "trace.json exists") {
		t.Errorf("an existing file: status %d, %q", status, errs)
	}
}

// TestLogsAreReplacedByForce: a new run refuses to replace the log of another without --force, and continues its own with --resume.
func TestLogsAreReplacedByForce(t *testing.T) {
	withDigits(t)
	if err := os.WriteFile("logged.yaml", []byte("data: {file: testdata/digits.h5, x: train/images, y: train/labels}\nepochs: 1\ncallbacks: [csv, {tensorboard: {folder: board}}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args []string
		want string // in the error
		rows int
	}{
		{[]string{"-o", "a.h5"}, "", 2},
		{[]string{"-o", "b.h5"}, "board/events.out.tfevents.0.h5dnn exists; use --force", 0},
		{[]string{"-o", "a.h5", "--force"}, "", 2},
	} {
		status, _, errs := in(t, context.Background(), append([]string{"train", "logged.yaml"}, step.args...)...)
		text, _ := os.ReadFile("a.csv")
		if (status != 0) != (step.want != "") || !strings.Contains(errs, step.want) || step.want == "" && strings.Count(string(text), "\n") != step.rows {
			t.Errorf("%q: status %d, %q, %q", step.args, status, errs, text)
		}
	}
	status, _, errs := in(t, context.Background(), "train", "--resume", "a.h5", "--epochs", "3")
	if text, err := os.ReadFile("a.csv"); status != 0 || err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("resumed: status %d, %q, %q, %v", status, errs, text, err)
	}
}
