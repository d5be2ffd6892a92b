// Package maker is the frame of the programs that make the data of examples: samples to train on, and fewer for validation.
package maker

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

// A Maker says which samples a program makes.
type Maker struct {
	File  string // written unless the command names another
	Noun  string // of the samples, in the plural
	N     int    // samples to train on, unless -n says another number
	Share int    // samples to train on for each of validation

	// Samples returns the datasets of n samples by name.
	Samples func(r *rand.Rand, n int) map[string]*tensor.Tensor
}

// Main writes the file that the flags -n and -seed and the first argument describe. An error ends the program.
func (m Maker) Main() {
	seed := flag.Uint64("seed", 1, "of the random numbers")
	Command(m.File, m.N, fmt.Sprintf("%s to train on; one in %d as many are for validation", m.Noun, m.Share), func(file string, n int) error {
		m.File = file
		return m.Save(n, *seed)
	})
}

// Command calls save with the file that the first argument names and the number of -n, whose meaning usage says. An error ends
// the program.
func Command(file string, n int, usage string, save func(file string, n int) error) {
	flag.IntVar(&n, "n", n, usage)
	flag.Parse()
	if flag.NArg() > 0 {
		file = flag.Arg(0)
	}
	if err := save(file, n); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

// Save writes n samples to train on as train/NAME and n/Share others as val/NAME, and prints how many.
func (m Maker) Save(n int, seed uint64) error {
	if n < m.Share {
		return fmt.Errorf("-n %d; want at least %d", n, m.Share)
	}
	all := map[string]*tensor.Tensor{}
	for stream, part := range []string{"train", "val"} {
		count := n / []int{1, m.Share}[stream]
		for name, x := range m.Samples(rand.New(rand.NewPCG(seed, uint64(stream))), count) {
			all[part+"/"+name] = x
		}
	}
	if err := tensors.SaveAll(m.File, all, nil); err != nil {
		return err
	}
	fmt.Printf("%s: %d %s to train on, %d for validation\n", m.File, n, m.Noun, n/m.Share)
	return nil
}

// GoSource calls do with each file of some packages of Go's standard library and of the packages below them, but tests and tables.
func GoSource(packages []string, do func(text []byte)) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	for _, name := range packages {
		err := filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src", name), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "tables.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil {
				do(text)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
