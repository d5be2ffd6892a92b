package atomicfile

import "os"

// A Set is several files that belong together, such as shards and their index. All are
// written before the first is put in place.
type Set struct{ files []*File }

// Write writes to a new file that Commit will put at path. As with the function Write, a
// writer may write to the file named f.Name() instead, or replace it.
func (s *Set) Write(path string, write func(f *File) error) error {
	f, err := Create(path, Options{})
	if err != nil {
		return err
	}
	s.files = append(s.files, f)
	return write(f)
}

// Commit puts the files in place, in the order in which they were written. The last one
// names the others: it is removed before they are replaced, so that a crash in between
// leaves no index of files that it does not fit.
func (s *Set) Commit() error {
	for _, f := range s.files {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	committing.Lock() // an interrupted program exits when all files are in place
	defer committing.Unlock()
	if n := len(s.files); n > 1 && s.files[n-1].old != nil {
		if err := os.Remove(s.files[n-1].path); err != nil {
			return err
		}
	}
	for _, f := range s.files {
		if err := f.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// Discard removes the files that Commit has not put in place, so that it can be deferred.
func (s *Set) Discard() {
	for _, f := range s.files {
		f.Discard()
	}
}
