package hdf5

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// linkedFiles are a file and the files that it refers to, directly or through others. All
// are in one folder, or below one URL. Neither ".." nor a symbolic link leads out of it.
type linkedFiles struct {
	folder string   // absolute, or a URL without a slash at its end
	root   *os.Root // nil for a URL

	mu    sync.Mutex
	files map[string]*linkedFile // by path relative to the folder
}

// A linkedFile is an open file of the folder.
type linkedFile struct {
	file interface {
		io.ReaderAt
		io.Closer
	}
	size int64
	hdf5 *File // nil for raw data
}

// maxLinkedFiles limits the number of files that one file may refer to.
const maxLinkedFiles = 4096

// allowFolder lets f open files of a folder.
func (f *File) allowFolder(folder string) error {
	if storage.IsURL(folder) {
		f.linked = &linkedFiles{folder: strings.TrimSuffix(folder, "/"), files: map[string]*linkedFile{}}
		if remote, ok := f.r.(storage.Remote); ok {
			if at, err := f.resolveName(path.Base(f.name)); err == nil {
				f.linked.files[at] = &linkedFile{remote, int64(f.size), f}
			}
		}
		return nil
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return fmt.Errorf("folder of files that may be opened: %w", err)
	}
	f.linked = &linkedFiles{folder: absolute, root: root, files: map[string]*linkedFile{}}
	if f.file == nil {
		return nil
	}
	if path, err := f.resolveName(filepath.Base(f.file.Name())); err == nil {
		f.linked.files[path] = &linkedFile{f.file, int64(f.size), f}
	}
	return nil
}

// close closes all files except f.
func (m *linkedFiles) close(f *File) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []error
	if m.root != nil {
		all = append(all, m.root.Close())
	}
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		switch other := m.files[path]; other.hdf5 {
		case f:
		case nil:
			all = append(all, other.file.Close())
		default:
			all = append(all, other.hdf5.closeSelf())
		}
	}
	return errors.Join(all...)
}

// A NotFollowedError reports that a file refers to another one and was opened without
// Options.Follow. It is of kind storage.ErrState.
type NotFollowedError struct {
	Name string // of the other file
}

func (e *NotFollowedError) Error() string {
	return fmt.Sprintf("refers to file %q, and other files are not opened", e.Name)
}

func (e *NotFollowedError) Unwrap() error { return storage.ErrState }

// resolveName returns the path, relative to the folder, of a file that f names. If an
// absolute name leads out of the folder, a file of that base name beside f is tried, as
// libhdf5 does.
func (f *File) resolveName(name string) (string, error) {
	if f.linked == nil {
		return "", &NotFollowedError{name}
	}
	if f.linked.root == nil {
		return f.resolveURL(name)
	}
	beside := func(name string) (string, error) {
		absolute, err := filepath.Abs(filepath.Join(f.dir, name))
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
		return "", fmt.Errorf("file %q is outside of %s, the only folder in which files may be opened: %w", name, f.linked.folder, storage.ErrState)
	}
	return path, nil
}

// resolveURL is resolveName below a URL, where an absolute name is of a file beside f.
func (f *File) resolveURL(name string) (string, error) {
	base, beside := f.linked.folder+"/", ""
	if strings.HasPrefix(f.dir, base) {
		beside = f.dir[len(base):]
	}
	at, inside := strings.CutPrefix(name, base)
	switch {
	case storage.IsURL(name) && inside:
		at = path.Clean(at)
	case path.IsAbs(name):
		at = path.Join(beside, path.Base(name))
	case !storage.IsURL(name):
		at = path.Join(beside, name)
	}
	if storage.IsURL(name) && !inside || outside(at) {
		return "", fmt.Errorf("file %q is not below %s, the only URL at which files may be opened: %w", storage.WithoutSecrets(name), storage.WithoutSecrets(f.linked.folder), storage.ErrState)
	}
	return at, nil
}

func outside(path string) bool {
	return path == ".." || strings.HasPrefix(path, ".."+string(filepath.Separator))
}

// linkedFile returns the HDF5 file that f refers to by name.
func (f *File) linkedFile(name string) (g *File, err error) {
	if name == "." {
		return f, nil
	}
	err = f.follow(name, func(l *linkedFile, path string) error {
		if g = l.hdf5; g != nil {
			return nil
		}
		g = &File{name: path, dir: filepath.Dir(path), r: l.file, close: l.file.Close, linked: f.linked, options: f.options, chunks: f.chunks}
		if storage.IsURL(path) {
			g.name, g.dir = storage.WithoutSecrets(path), storage.Folder(path)
		} else {
			g.file, _ = l.file.(*os.File)
		}
		if err := g.start(l.size); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		l.hdf5 = g
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// externalFile returns the file of raw data that f refers to by name.
func (f *File) externalFile(name string) (file io.ReaderAt, err error) {
	err = f.follow(name, func(l *linkedFile, _ string) error {
		file = l.file
		return nil
	})
	return file, err
}

// follow calls use with the file that f refers to by name, which is opened once, without waiting for the
// writer of a pipe, and its absolute path. One goroutine at a time calls use.
func (f *File) follow(name string, use func(l *linkedFile, path string) error) error {
	path, err := f.resolveName(name)
	if err != nil {
		return err
	}
	m := f.linked
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.files[path]
	if l == nil {
		if len(m.files) >= maxLinkedFiles {
			return fmt.Errorf("refers to more than %d files", maxLinkedFiles)
		}
		if l, err = m.open(f.options.Context, path); err != nil {
			return err
		}
		m.files[path] = l
	}
	return use(l, storage.InFolder(m.folder, path))
}

// open opens a file of the folder.
func (m *linkedFiles) open(ctx context.Context, path string) (*linkedFile, error) {
	absolute := storage.InFolder(m.folder, path)
	if m.root == nil {
		remote, err := storage.OpenRemote(ctx, absolute)
		if err != nil {
			return nil, err
		}
		return &linkedFile{file: remote, size: remote.Size()}, nil
	}
	file, err := m.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	size, err := regularSize(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", absolute, err)
	}
	return &linkedFile{file: file, size: size}, nil
}

// followExternalLink returns the object that an external link leads to.
func (f *File) followExternalLink(link *Object, budget *int) (*Object, error) {
	g, err := f.linkedFile(link.TargetFile)
	if err != nil {
		return nil, f.fail(link.Path, err)
	}
	return g.lookup("/", link.Target, budget)
}

// readBuffered reads elements that are contiguous but not mapped: in external files, or
// behind an io.ReaderAt. read fills a buffer with bytes of the dataset from an offset on.
// A range with few of the requested elements, or a large one, is divided.
func (s *source) readBuffered(dst []byte, p transfer, read func(buf []byte, at int) error) error {
	const maxBuffer, minBuffer = 32 << 20, 64 << 10
	from := s.viewOf(p.from)
	lo, hi := from.Bounds()
	size := hi - lo + s.size
	if n := p.to.Len(); n > 1 && (size > maxBuffer || size > max(minBuffer, 4*n*s.size)) {
		axis := widest(from)
		n := from.Shape[axis]
		if err := s.readBuffered(dst, p.part(axis, 0, n/2), read); err != nil {
			return err
		}
		return s.readBuffered(dst, p.part(axis, n/2, n), read)
	}
	buf := scratch.Get(size)
	defer scratch.Put(buf)
	if err := read(buf, lo); err != nil {
		return err
	}
	from.Offset -= lo
	s.gather(dst, buf, p.to, from)
	return nil
}

// widest returns the axis along which a view extends furthest.
func widest(v views.View) (axis int) {
	extent := func(k int) int { return v.Stride[k] * (v.Shape[k] - 1) }
	for k := range v.Shape {
		if extent(k) > extent(axis) {
			axis = k
		}
	}
	return axis
}

// readExternal fills buf with the bytes of the dataset from an offset on. Bytes beyond the
// end of an external file are zero, as in libhdf5.
func (d *Dataset) readExternal(buf []byte, at int) error {
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
	return fmt.Errorf("its external files lack %d bytes", len(buf))
}

// LinkedFiles returns the existing local files that f refers to and may open, directly or
// through others: targets of external links, sources of virtual datasets and files of raw
// data. It visits every object of these files.
func (f *File) LinkedFiles() (all []fs.FileInfo) {
	if f.linked == nil {
		return nil
	}
	seen := map[*File]bool{}
	for files := []*File{f}; len(files) > 0; files = f.linked.unseen(seen) {
		for _, g := range files {
			seen[g] = true
			g.openLinked()
		}
	}
	f.linked.mu.Lock()
	defer f.linked.mu.Unlock()
	for _, l := range f.linked.files {
		file, local := l.file.(*os.File)
		if !local || l.hdf5 == f {
			continue
		}
		if info, err := file.Stat(); err == nil {
			all = append(all, info)
		}
	}
	return all
}

// unseen lists the open HDF5 files that are not in seen.
func (m *linkedFiles) unseen(seen map[*File]bool) (files []*File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		if g := m.files[path].hdf5; g != nil && !seen[g] {
			files = append(files, g)
		}
	}
	return files
}

// openLinked opens the files that the objects of f refer to, except those that cannot be
// opened.
func (f *File) openLinked() {
	for o := range f.Walk() {
		switch o.Kind {
		case KindExternal:
			f.linkedFile(o.TargetFile)
		case KindDataset:
			d, err := o.Dataset() // opens the sources of virtual datasets
			if err != nil {
				continue
			}
			for _, e := range d.External {
				d.file.externalFile(e.Name)
			}
		}
	}
}
