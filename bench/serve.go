package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// With -serve as its first argument the program answers requests as a peer does: for each
// line "COUNT ROW" it writes COUNT times in seconds; for rows it does not have, none. That is how
// an older commit is measured (-base), into whose folder this file is copied: it uses only
// what the older commit has. GOMAXPROCS sets the number of threads.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "-serve" {
		runtime.LockOSThread() // OpenMP keeps its threads for the calling thread
		serve(folders{os.Args[2], os.Args[3], os.Args[4], false})
		os.Exit(0)
	}
}

func serve(in folders) {
	fmt.Println(os.Args[5])
	var current task
	name := ""
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var count int
		text, row, _ := strings.Cut(lines.Text(), " ")
		fmt.Sscan(text, &count)
		if row != name {
			current.finish()
			current, name = servedTask(row, in), row
		}
		times := []float64{}
		if current.once != nil {
			var err error
			if times, err = current.repeat(count); err != nil {
				fmt.Fprintf(os.Stderr, "bench: base: %s: %v\n", row, err)
			}
		}
		text2, _ := json.Marshal(times)
		fmt.Println(string(text2))
	}
}

// servedTask returns the task of a row, or none.
func servedTask(name string, in folders) task {
	for _, s := range suites {
		for _, r := range s.rows {
			if r.name == name {
				t, err := r.prepare(in)
				if err != nil {
					fmt.Fprintf(os.Stderr, "bench: base: %s: %v\n", name, err)
				}
				return t
			}
		}
	}
	return task{}
}
