// Command cubins compiles the code of all kernels to machine code with NVIDIA's assembler, into a
// folder that H5DNN_CUDA_CODE may name.
//
//	go run ./scripts/cubins -ptxas ptxas -o FOLDER 90
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/kernels/device"
)

func main() {
	ptxas := flag.String("ptxas", "ptxas", "the assembler")
	out := flag.String("o", "", "folder to write to")
	flag.Parse()
	for _, text := range flag.Args() {
		capability, err := strconv.Atoi(text)
		if err == nil {
			err = compileAll(*ptxas, *out, capability)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "cubins:", err)
			os.Exit(1)
		}
	}
}

// compileAll compiles all entries for a compute capability, as many at once as there are processors.
func compileAll(ptxas, out string, capability int) error {
	entries, err := device.Entries(capability)
	if err != nil {
		return err
	}
	names, failed := make(chan string), make(chan error, len(entries))
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for name := range names {
				if err := compile(ptxas, out, capability, name); err != nil {
					failed <- fmt.Errorf("%s: %w", name, err)
				}
			}
		})
	}
	for _, name := range entries {
		names <- name
	}
	close(names)
	all.Wait()
	close(failed)
	return <-failed
}

func compile(ptxas, out string, capability int, entry string) error {
	text, err := device.Entry(capability, entry)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "cubins-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	source, object := filepath.Join(folder, "entry.ptx"), filepath.Join(folder, "entry.cubin")
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		return err
	}
	if said, err := exec.Command(ptxas, fmt.Sprintf("-arch=sm_%d", capability), source, "-o", object).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	code, err := os.ReadFile(object)
	if err != nil {
		return err
	}
	return cuda.StoreCode(out, capability, text, code)
}
