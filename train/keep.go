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

// kept says which saves stay beside the run file: the last ones, and the saves of some steps.
type kept struct {
	last  int
	steps []uint64
}

// any reports whether some save stays.
func (k kept) any() bool { return k.last > 0 || len(k.steps) > 0 }

// keep makes the run file, just saved after a step, stay when it is replaced, and removes other saves than
// those of k. The two names are links to one file, so that nothing is copied.
func (k kept) keep(file string, step uint64) error {
	if k.last > 0 || slices.Contains(k.steps, step) {
		name := keptFile(file, step)
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) { // the same step was saved before
			return err
		}
		if err := os.Link(file, name); err != nil {
			return fmt.Errorf("keep %s: %w; set keep to 0 and leave out checkpoint if the file system has no hard links", file, err)
		}
	}
	steps, err := keptSteps(file)
	if err != nil {
		return err
	}
	for _, old := range steps[:max(0, len(steps)-k.last)] {
		if slices.Contains(k.steps, old) {
			continue
		}
		if err := os.Remove(keptFile(file, old)); err != nil {
			return err
		}
	}
	return nil
}

// kept returns the saves that the configuration and the callbacks keep.
func (t *trainer) kept() kept {
	k := kept{last: t.r.Config.Keep}
	for _, c := range t.callbacks {
		if c, ok := c.(*Checkpoint); ok {
			c.keep(&k)
		}
	}
	return k
}

// openKept checks the saves beside the run file, and keeps the one that a run was resumed from, if a kill came between the
// two names.
func (t *trainer) openKept() error {
	keeps := slices.ContainsFunc(t.callbacks, func(c Callback) bool { _, is := c.(*Checkpoint); return is })
	if t.saver == nil || !keeps && t.r.Config.Keep == 0 {
		return nil
	}
	file, p := t.options.File, t.r.Position
	if err := checkKept(file, p.Step); err != nil || p.Step == 0 || p.Finished {
		return err
	}
	f, err := serialize.Open(file)
	if err != nil {
		return nil // another file, which is going to be replaced
	}
	defer f.Close()
	saved := &Run{}
	if err := saved.loadMeta(f.Meta(), file); err != nil || saved.Position.Step != p.Step {
		return nil
	}
	return t.kept().keep(file, p.Step)
}
