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
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// A linkedFiles is a file and those it leads to. All lie in one folder, out of which
// neither ".." nor a symbolic link gets.
type linkedFiles struct {
	folder string // absolute
	root   *os.Root

	mu       sync.Mutex
	files    map[string]*File    // by path below the folder
	external map[string]*os.File // files that are not HDF5
}

// maxLinkedFiles is how many files one file may lead to at a time.
const maxLinkedFiles = 4096

// allowFolder allows f to open files of a folder.
func (f *File) allowFolder(folder string) error {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return fmt.Errorf("folder of files that may be opened: %w", err)
	}
	f.linked = &linkedFiles{folder: absolute, root: root, files: map[string]*File{}, external: map[string]*os.File{}}
	if path, err := f.resolveName(filepath.Base(f.name)); err == nil {
		f.linked.files[path] = f
	}
	return nil
}

// close closes all files of the family but f.
func (m *linkedFiles) close(f *File) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []error{m.root.Close()}
	for _, other := range m.files {
		if other != f {
			all = append(all, other.closeSelf())
		}
	}
	for _, raw := range m.external {
		all = append(all, raw.Close())
	}
	return errors.Join(all...)
}

// resolveName returns the path, below the family's folder, of a file that f names.
// An absolute name that leads elsewhere is tried beside f, as libhdf5 does.
func (f *File) resolveName(name string) (string, error) {
	if f.linked == nil {
		return "", fmt.Errorf("file %q is another one, and others are not opened unless that is allowed (Options.Follow): %w", name, storage.ErrState)
	}
	beside := func(name string) (string, error) {
		absolute, err := filepath.Abs(filepath.Join(filepath.Dir(f.name), name))
		if err != nil {
			return "", err
		}
		return filepath.Rel(f.linked.folder, absolute)
	}
	path, err := beside(name)
	if filepath.IsAbs(name) {
		if path, err = filepath.Rel(f.linked.folder, name); err != nil || outside(path) {
			path, err = beside(filepath.Base(name))
		}
	}
	if err != nil || outside(path) {
		return "", fmt.Errorf("file %q lies outside of %s, the only folder that files may be opened in: %w", name, f.linked.folder, storage.ErrState)
	}
	return path, nil
}

func outside(path string) bool {
	return path == ".." || strings.HasPrefix(path, ".."+string(filepath.Separator))
}

// linkedFile returns the HDF5 file that f calls name.
func (f *File) linkedFile(name string) (*File, error) {
	if name == "." {
		return f, nil
	}
	path, err := f.resolveName(name)
	if err != nil {
		return nil, err
	}
	m := f.linked
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.files[path]; ok {
		return known, nil
	}
	file, err := m.open(path)
	if err != nil {
		return nil, err
	}
	g := &File{name: filepath.Join(m.folder, path), file: file, linked: m, options: f.options}
	if err := g.start(); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", g.name, err)
	}
	m.files[path] = g
	return g, nil
}

// open opens a file of the folder; a pipe would wait for its writer otherwise.
func (m *linkedFiles) open(path string) (*os.File, error) {
	if len(m.files)+len(m.external) >= maxLinkedFiles {
		return nil, fmt.Errorf("leads to more than %d files", maxLinkedFiles)
	}
	return m.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// externalFile returns the file that f calls name, whatever is in it.
func (f *File) externalFile(name string) (*os.File, error) {
	path, err := f.resolveName(name)
	if err != nil {
		return nil, err
	}
	m := f.linked
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.external[path]; ok {
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
	m.external[path] = file
	return file, nil
}

// followExternalLink follows an external link.
func (f *File) followExternalLink(m *Object, budget *int) (*Object, error) {
	g, err := f.linkedFile(m.TargetFile)
	if err != nil {
		return nil, f.fail(m.Path, err)
	}
	return g.lookup("/", m.Target, budget)
}

// readExternal reads a piece of a dataset whose elements lie one after the
// other in other files.
func (s *source) readExternal(dst []byte, p transfer, t []axisSlice) error {
	const most = 32 << 20
	from := s.viewOfChunk(p, t, nil, s.d.Shape)
	lo, hi := from.Bounds()
	size := hi - lo + s.size
	if size > most && p.from.Len() > 1 {
		low, high := p.halve(s.shape, widest(p.from))
		for _, half := range []transfer{low, high} {
			if err := s.readTransfer(dst, half); err != nil {
				return err
			}
		}
		return nil
	}
	buf := scratch.Get(size)
	defer scratch.Put(buf)
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
		file, err := d.file.externalFile(e.Name)
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
