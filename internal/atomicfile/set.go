package atomicfile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A Set is several files that an index names, such as shards. All are written before the first
// is put in place.
type Set struct {
	files []*File
	names []string // that Write was called with, without folders
}

// Write writes to a new file that Commit will put at path. As with the function Write, a
// writer may write to the file named f.Name() instead, or replace it.
func (s *Set) Write(path string, write func(f *File) error) error {
	f, err := Create(path, Options{})
	if err != nil {
		return err
	}
	s.files, s.names = append(s.files, f), append(s.names, filepath.Base(path))
	return write(f)
}

// An IndexWriter writes an index, in which a file has the name that named returns for it.
type IndexWriter func(w io.Writer, named func(file string) string) error

// to returns the function that writes the index to a file.
func (x IndexWriter) to(named func(file string) string) func(f *File) error {
	return func(f *File) error {
		w := bufio.NewWriter(f)
		return cmp.Or(x(w, named), w.Flush())
	}
}

// Commit puts the files in place, in the order in which they were written, and then their index
// at path.
//
// A crash in between leaves an index and the files that it names, either the old or the new
// ones: before files are replaced, the old index is replaced by one that names hidden links to the
// new files. The next Commit removes such links. Where the file system has no links, the old index is
// removed before files are replaced, so that a crash leaves none that they do not fit.
func (s *Set) Commit(path string, index IndexWriter) error {
	err := s.Write(path, index.to(func(file string) string { return file }))
	if err != nil {
		return err
	}
	for _, f := range s.files {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	committing.Lock() // an interrupted program exits when all files are in place
	defer committing.Unlock()
	last := len(s.files) - 1
	if err := commitIf(s.files[:last], func(f *File) bool { return f.old == nil }); err != nil {
		return err
	}
	if s.files[last].old != nil {
		if err := s.keepIndexed(path, index); err != nil {
			return err
		}
	}
	if err := commitIf(s.files, func(f *File) bool { return !f.ended }); err != nil {
		return err
	}
	for _, link := range linksOf(path) {
		os.Remove(link)
	}
	return nil
}

// commitIf puts the files in place that wanted selects.
func commitIf(files []*File, wanted func(*File) bool) error {
	for _, f := range files {
		if wanted(f) {
			if err := f.Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepIndexed replaces the old index by one that names links to the files that will be replaced,
// or removes it where there are no links.
func (s *Set) keepIndexed(path string, index IndexWriter) error {
	last := len(s.files) - 1
	links := map[string]string{} // by the names of files
	id := rand.Uint32()
	for i, f := range s.files[:last] {
		if f.ended {
			continue
		}
		link := fmt.Sprintf("%s.%08x.%05d%s", linkPrefix(path), id, i, filepath.Ext(s.names[i]))
		if err := os.Link(f.Name(), link); err != nil {
			for _, other := range links {
				os.Remove(filepath.Join(filepath.Dir(path), other))
			}
			return os.Remove(s.files[last].path)
		}
		links[s.names[i]] = filepath.Base(link)
	}
	if len(links) == 0 {
		return nil
	}
	return Write(path, index.to(func(file string) string { return cmp.Or(links[file], file) }))
}

// linkPrefix begins the names of the links that Commit makes for an index.
func linkPrefix(path string) string {
	const longest = ".01234567.00000.safetensors"
	return strings.TrimSuffix(hidden(path, longest), longest)
}

// linksOf lists the links that Commit has made for an index.
func linksOf(path string) []string {
	links, _ := filepath.Glob(escapeGlob(linkPrefix(path)) + ".????????.?????*")
	return links
}

// Discard removes the files that Commit has not put in place, so that it can be deferred.
func (s *Set) Discard() {
	for _, f := range s.files {
		f.Discard()
	}
}
