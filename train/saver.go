package train

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/internal/trace"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// A saver writes a run to a file while training goes on: it copies the run's state
// to host memory and writes the copy in another goroutine, one at a time. The file
// is replaced atomically.
type saver struct {
	file  string
	lock  *atomicfile.PathLock // nil if the caller of Fit has it
	every Interval
	kept  kept // saves beside the file
	copy  snapshot
	write chan error // the result of the write in progress, or nil
	time  time.Time  // when the last copy was taken
	step  uint64     // after which it was taken
	epoch int        // in which it was taken
}

// A snapshot is a copy of what a run file holds. Its arrays are reused.
type snapshot struct {
	meta   map[string]string
	names  []string
	arrays []storage.Array
}

// lockPatience is how long LockFile waits for a program that was killed: its files are closed a
// moment after it has left the list of processes.
const lockPatience = 2 * time.Second

// LockFile keeps other programs from training into the named run file until Unlock, or
// until this process ends. It waits up to two seconds for a lock that another program has.
func LockFile(name string) (*FileLock, error) {
	l, err := atomicfile.Lock(name)
	for late := time.Now().Add(lockPatience); errors.Is(err, atomicfile.ErrLocked) && time.Now().Before(late); {
		time.Sleep(10 * time.Millisecond)
		l, err = atomicfile.Lock(name)
	}
	if errors.Is(err, atomicfile.ErrLocked) {
		err = fmt.Errorf("%s: another program is training into it: %w", name, storage.ErrState)
	}
	return l, err
}

// A FileLock is the lock of a run file. Others may read the file.
type FileLock = atomicfile.PathLock

// newSaver returns a saver to the named file, after checking that it can be written and that its
// disk has room for size bytes. It locks the file unless the caller has, and close unlocks it.
func newSaver(file string, lock *FileLock, every Interval, step uint64, size int64) (*saver, error) {
	format, err := serialize.ByExtension(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("train: cannot save runs: %w", err)
	case !HoldsRuns(format):
		return nil, fmt.Errorf("train: cannot save runs to %s: the format %s does not hold several arrays with metadata of a run, or is not read and written; save an .h5, which h5dnn convert converts: %w", file, format.Name, serialize.ErrFormat)
	}
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("train: cannot save runs to %s: %w", file, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("train: cannot save runs to %s: %s is no directory: %w", file, folder, fs.ErrInvalid)
	}
	if err := atomicfile.CheckWritable(file); err != nil {
		return nil, fmt.Errorf("train: cannot save runs: %w", err)
	}
	if err := atomicfile.CheckSpace(file, size); err != nil {
		return nil, fmt.Errorf("train: cannot save runs to %s: %w", file, err)
	}
	s := &saver{file: file, every: every, time: time.Now(), step: step}
	if lock == nil {
		if s.lock, err = LockFile(file); err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	return s, nil
}

// HoldsRuns reports whether runs can be saved in a format and resumed from it: whether it holds several
// arrays with the metadata of a run.
func HoldsRuns(f serialize.Format) bool {
	_, lost := f.KeepMeta(map[string]string{metaConfig: "{}"})
	return f.Open != nil && f.Writable() && !f.Single && !f.Table && len(lost) == 0
}

// close waits for the write in progress and unlocks the file.
func (s *saver) close() error {
	_, err := s.wait()
	s.lock.Unlock()
	return err
}

// due reports whether the run is to be saved after a step.
func (s *saver) due(step uint64) bool {
	return s.every.Steps > 0 && step >= s.step+uint64(s.every.Steps) ||
		s.every.Time > 0 && time.Since(s.time) >= s.every.Time
}

// start takes a snapshot of r and starts to write it. No write may be in progress.
func (s *saver) start(r *Run) error {
	if err := s.copy.take(r, s.file); err != nil {
		return fmt.Errorf("save %s: %w", s.file, err)
	}
	s.time, s.step, s.epoch = time.Now(), r.Position.Step, r.Position.Epoch
	done := make(chan error, 1)
	s.write = done
	go func() { done <- s.save() }()
	return nil
}

// save writes the snapshot, and keeps the file if that is asked for.
func (s *saver) save() error {
	defer trace.Begin(trace.Saving, "write after step", int(s.step)).End()
	if err := s.copy.save(s.file); err != nil || !s.kept.any() {
		return err
	}
	return s.kept.keep(s.file, s.step)
}

// poll reports whether a write has ended since the last call, and its error.
func (s *saver) poll() (ended bool, err error) {
	select {
	case err = <-s.write:
		s.write = nil
		return true, err
	default:
		return false, nil
	}
}

// wait is poll once the write in progress, if any, has ended.
func (s *saver) wait() (ended bool, err error) {
	if s.write == nil {
		return false, nil
	}
	err = <-s.write
	s.write = nil
	return true, err
}

// take copies the state of r, to be saved in the named file, to host memory.
func (s *snapshot) take(r *Run, file string) (err error) {
	defer trace.Begin(trace.Saving, "copy", -1).End()
	if s.meta, err = r.fileMeta(file); err != nil {
		return err
	}
	n := 0
	for name, a := range r.arrays() {
		if n == len(s.names) {
			s.names, s.arrays = append(s.names, ""), append(s.arrays, storage.Array{})
		}
		to := &s.arrays[n]
		if to.Data == nil || to.Type != a.Type || !slices.Equal(to.Shape, a.Shape) {
			if *to, err = storage.Make(storage.CPU, a.Type, a.Shape...); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := a.CopyTo(*to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.names[n] = name
		n++
	}
	s.names, s.arrays = s.names[:n], s.arrays[:n]
	return nil
}

// all yields the arrays of the snapshot.
func (s *snapshot) all(yield func(string, storage.Array) bool) {
	for i, name := range s.names {
		if !yield(name, s.arrays[i]) {
			return
		}
	}
}

func (s *snapshot) save(file string) error {
	if err := atomicfile.CheckSpace(file, sizeOf(s.all)); err != nil {
		return fmt.Errorf("save %s: %w", file, err)
	}
	return serialize.Save(file, "", serialize.Contents{Entries: serialize.Arrays(s.all), Meta: s.meta})
}

// sizeOf returns the bytes of the elements of arrays.
func sizeOf(arrays iter.Seq2[string, storage.Array]) (size int64) {
	for _, a := range arrays {
		size += int64(a.NBytes())
	}
	return size
}

// upToDate reports whether the last snapshot is of r as it is.
func (s *saver) upToDate(r *Run) bool {
	return s.copy.meta != nil && s.step == r.Position.Step && s.epoch == r.Position.Epoch
}
