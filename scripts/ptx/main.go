// Command ptx compiles the kernels for GPUs to kernels/device/ptx, one file for each unit of
// the sources that has changed; with -all, for every unit. Needs clang 19, named by CLANG if it
// is not clang++-19, and no CUDA toolkit.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/h5dnn/h5dnn/kernels/device"
	"github.com/h5dnn/h5dnn/kernels/device/source"
)

const folder = "kernels/device"

func main() {
	all := flag.Bool("all", false, "compile what has not changed, too")
	flag.Parse()
	if err := compile(*all); err != nil {
		fmt.Fprintln(os.Stderr, "ptx:", err)
		os.Exit(1)
	}
}

// compile writes the PTX of the units whose sources have changed, and removes the files of
// units that no longer exist.
func compile(all bool) error {
	units, err := source.Units(folder)
	if err != nil {
		return err
	}
	have := device.Hashes()
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, u := range units {
		if all || have[u.Name] != u.Hash {
			group.Go(func() error { return write(u) })
		}
		delete(have, u.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if err := os.Remove(path(name)); err != nil {
			return err
		}
	}
	return group.Wait()
}

func path(name string) string { return filepath.Join(folder, "ptx", name+".ptx.gz") }

func write(u source.Unit) error {
	var code []string
	for _, target := range device.Targets {
		text, err := assemble(u, target)
		if err != nil {
			return fmt.Errorf("%s for %s: %w", u.Name, target, err)
		}
		code = append(code, text)
	}
	merged, err := device.Merge(u.Hash, code)
	if err != nil {
		return fmt.Errorf("%s: %w", u.Name, err)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(merged))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path(u.Name), b.Bytes(), 0o666)
}

var comments = regexp.MustCompile(`(?m)[ \t]*//.*$`)

// assemble compiles u for a target, without comments and empty lines.
func assemble(u source.Unit, target string) (string, error) {
	args := append(slices.Clone(source.Flags), "--cuda-gpu-arch="+target, "-S", "-o", "-", u.File)
	if u.Line != "" {
		args = append(args, "-DONLY(OP)="+u.Line) // which takes the place of ONLY(OP), or ONLY()
	}
	c := exec.Command(cmp.Or(os.Getenv("CLANG"), "clang++-19"), args...)
	c.Dir, c.Stderr = folder, os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(comments.ReplaceAllString(string(out), "")) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(line)
		}
	}
	return b.String(), nil
}
