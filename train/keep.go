package train

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// keptFile returns the name under which the save of a run file after a step is kept:
// run-step1200.h5 for run.h5.
func keptFile(file string, step uint64) string {
	base, ext := splitFormat(file)
	return fmt.Sprintf("%s-step%d%s", base, step, ext)
}

// splitFormat splits the extension of a format, such as .ckpt.h5, off a name.
func splitFormat(file string) (base, ext string) {
	format, err := serialize.ByExtension(file)
	if err != nil {
		return file, ""
	}
	for _, known := range format.Extensions {
		if len(known) > len(ext) && strings.HasSuffix(strings.ToLower(file), known) {
			ext = file[len(file)-len(known):]
		}
	}
	return strings.TrimSuffix(file, ext), ext
}

// keptSteps returns the steps of the kept saves of a run file, from the first to the last.
func keptSteps(file string) ([]uint64, error) {
	base, ext := splitFormat(file)
	prefix := filepath.Base(base) + "-step"
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	var steps []uint64
	for _, e := range entries {
		middle, found := strings.CutPrefix(e.Name(), prefix)
		middle, ends := strings.CutSuffix(middle, ext)
		step, err := strconv.ParseUint(middle, 10, 64)
		if found && ends && err == nil && filepath.Base(keptFile(file, step)) == e.Name() {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// checkKept returns an error if there are kept saves of later steps than a run that begins or
// goes on at step: they are of another run, and would be taken for newer ones.
func checkKept(file string, step uint64) error {
	steps, err := keptSteps(file)
	if err != nil {
		return err
	}
	if n := len(steps); n > 0 && steps[n-1] > step {
		return fmt.Errorf("%s is of a later step than this run, which is at step %d; move it away: %w", keptFile(file, steps[n-1]), step, storage.ErrState)
	}
	return nil
}

// keep makes the run file, just saved after a step, stay when it is replaced, and removes kept
// saves but the last n. The two names are links to one file, so that nothing is copied.
func keep(file string, step uint64, n int) error {
	kept := keptFile(file, step)
	if err := os.Remove(kept); err != nil && !os.IsNotExist(err) { // the same step was saved before
		return err
	}
	if err := os.Link(file, kept); err != nil {
		return fmt.Errorf("keep %s: %w; set keep to 0 if the file system has no hard links", file, err)
	}
	steps, err := keptSteps(file)
	if err != nil {
		return err
	}
	for _, old := range steps[:max(0, len(steps)-n)] {
		if err := os.Remove(keptFile(file, old)); err != nil {
			return err
		}
	}
	return nil
}
