package hdf5

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A family is a file and those it leads to. All lie in one folder, out of which
// neither ".." nor a symbolic link gets.
type family struct {
	folder string // absolute
	root   *os.Root

	mu    sync.Mutex
	files map[string]*File    // by path below the folder
	raw   map[string]*os.File // files that are not HDF5
}

// maxFamily is how many files one file may lead to at a time.
const maxFamily = 4096

// newFamily allows f to open files of a folder.
func (f *File) newFamily(folder string) error {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return fmt.Errorf("folder of files that may be opened: %w", err)
	}
	f.family = &family{folder: absolute, root: root, files: map[string]*File{}, raw: map[string]*os.File{}}
	if path, err := f.below(filepath.Base(f.name)); err == nil {
		f.family.files[path] = f
	}
	return nil
}

// close closes all files of the family but f.
func (m *family) close(f *File) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []error{m.root.Close()}
	for _, other := range m.files {
		if other != f {
			all = append(all, other.closeSelf())
		}
	}
	for _, raw := range m.raw {
		all = append(all, raw.Close())
	}
	return errors.Join(all...)
}

// below returns the path, below the family's folder, of a file that f names.
// An absolute name that leads elsewhere is tried beside f, as libhdf5 does.
func (f *File) below(name string) (string, error) {
	if f.family == nil {
		return "", fmt.Errorf("file %q is another one, and others are not opened unless that is allowed (Options.Follow): %w", name, storage.ErrState)
	}
	beside := func(name string) (string, error) {
		absolute, err := filepath.Abs(filepath.Join(filepath.Dir(f.name), name))
		if err != nil {
			return "", err
		}
		return filepath.Rel(f.family.folder, absolute)
	}
	path, err := beside(name)
	if filepath.IsAbs(name) {
		if path, err = filepath.Rel(f.family.folder, name); err != nil || outside(path) {
			path, err = beside(filepath.Base(name))
		}
	}
	if err != nil || outside(path) {
		return "", fmt.Errorf("file %q lies outside of %s, the only folder that files may be opened in: %w", name, f.family.folder, storage.ErrState)
	}
	return path, nil
}

func outside(path string) bool {
	return path == ".." || strings.HasPrefix(path, ".."+string(filepath.Separator))
}

// other returns the HDF5 file that f calls name.
func (f *File) other(name string) (*File, error) {
	if name == "." {
		return f, nil
	}
	path, err := f.below(name)
	if err != nil {
		return nil, err
	}
	m := f.family
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.files[path]; ok {
		return known, nil
	}
	file, err := m.open(path)
	if err != nil {
		return nil, err
	}
	g := &File{name: filepath.Join(m.folder, path), file: file, family: m, options: f.options}
	if err := g.start(); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", g.name, err)
	}
	m.files[path] = g
	return g, nil
}

// open opens a file of the folder; a pipe would wait for its writer otherwise.
func (m *family) open(path string) (*os.File, error) {
	if len(m.files)+len(m.raw) >= maxFamily {
		return nil, fmt.Errorf("leads to more than %d files", maxFamily)
	}
	return m.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// rawFile returns the file that f calls name, whatever is in it.
func (f *File) rawFile(name string) (*os.File, error) {
	path, err := f.below(name)
	if err != nil {
		return nil, err
	}
	m := f.family
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.raw[path]; ok {
		return known, nil
	}
	file, err := m.open(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	m.raw[path] = file
	return file, nil
}

// lookupOutside follows an external link.
func (f *File) lookupOutside(m *Object, budget *int) (*Object, error) {
	g, err := f.other(m.Other)
	if err != nil {
		return nil, f.fail(m.Path, err)
	}
	return g.lookup("/", m.Target, budget)
}

// readExternal reads a piece of a dataset whose elements lie one after the
// other in other files.
func (s *source) readExternal(dst []byte, p piece, t []track) error {
	const most = 32 << 20
	from := s.within(p, t, nil, s.d.Shape)
	lo, hi := from.Bounds()
	size := hi - lo + s.size
	if size > most && p.from.Len() > 1 {
		low, high := p.halve(s.shape, widest(p.from))
		for _, half := range []piece{low, high} {
			if err := s.readPieces(dst, half); err != nil {
				return err
			}
		}
		return nil
	}
	buf := takeScratch(size)
	defer giveScratch(buf)
	if err := s.d.readFiles(buf, lo); err != nil {
		return err
	}
	from.Offset -= lo
	s.gather(dst, buf, p.to, from)
	return nil
}

// widest returns the axis along which a view reaches furthest.
func widest(v views.View) (axis int) {
	reach := func(k int) int { return max(v.Stride[k], -v.Stride[k]) * (v.Shape[k] - 1) }
	for k := range v.Shape {
		if reach(k) > reach(axis) {
			axis = k
		}
	}
	return axis
}

// readFiles fills buf with the bytes at a place of the dataset. What the files
// have not got is zero, as libhdf5 has it.
func (d *Dataset) readFiles(buf []byte, at int) error {
	clear(buf)
	for _, e := range d.External {
		size := e.Size
		if size == Unlimited {
			size = at + len(buf)
		}
		if at >= size {
			at -= size
			continue
		}
		file, err := d.file.rawFile(e.Name)
		if err != nil {
			return err
		}
		n := min(size-at, len(buf))
		if _, err := file.ReadAt(buf[:n], int64(e.Offset+at)); err != nil && err != io.EOF {
			return err
		}
		if buf, at = buf[n:], 0; len(buf) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d bytes of it are in none of its files", len(buf))
}
