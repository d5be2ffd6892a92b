package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// makesData finds the program that makes the data of an example, among its comments.
var makesData = regexp.MustCompile(`# +go run (\./examples/\S+)`)

// TestExamplesTrain trains an epoch of each example, of a few samples where a program makes them.
func TestExamplesTrain(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	folders, err2 := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || err2 != nil || len(files) < 5 || len(folders) < 3 {
		t.Fatalf("examples %v and %v, %v, %v", files, folders, err, err2)
	}
	for _, file := range append(files, folders...) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			run := filepath.Join(t.TempDir(), "run.h5")
			args := []string{"train", file, "--epochs", "1", "-o", run}
			if program := makesData.FindSubmatch(text); program != nil {
				args = append(args, "--data", madeBy(t, string(program[1])))
			} else if regexp.MustCompile(`(?m)^kind:`).Match(text) {
				t.Skip("no configuration of h5dnn")
			} else if file := regexp.MustCompile(`h5dnn (?:import|convert) .*/(\S+)`).FindSubmatch(text); file != nil {
				t.Skipf("%s is not made by a program of its own", file[1])
			}
			if status, _, errs := in(t, context.Background(), args...); status != 0 {
				t.Errorf("%s: status %d: %s", file, status, errs)
			}
		})
	}
}

// madeBy returns a file of few samples that a program makes.
func madeBy(t *testing.T, program string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command, which makes the data")
	}
	data := filepath.Join(t.TempDir(), "data.h5")
	command := exec.Command("go", "run", program, "-n", "64", data)
	command.Dir = filepath.Join("..", "..")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command.Args, err, out)
	}
	return data
}
