package cuda

// #include <stdlib.h>
// #include "libraries.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// A Library is one of NVIDIA's that is used where it is found, and done without
// where it is not.
type Library struct {
	Name    string // "cuBLASLt"
	Use     string // what for
	Path    string // of the file that was found
	Version string // "13.4.1"
	Missing error  // why it is not used; nil if it is
}

// Libraries looks for NVIDIA's libraries, once, and returns what became of each.
// The variable H5DNN_CUDA_LIBS names the only folders to look in, or is "off".
func Libraries() []Library {
	all := make([]Library, len(libraries))
	for i, l := range libraries {
		all[i] = l.find()
	}
	return all
}

// A library is how one of them is found.
type library struct {
	name, use string
	file      string   // without the version
	versions  []string // of its interface, newest first
	wheel     string   // the folder that its own Python wheel has
	pip       string   // that wheel, for the newest version
	find      func() Library
}

// In the order in which C counts them.
var libraries = []*library{
	{name: "cuBLASLt", use: "products of matrices", file: "libcublasLt.so.", versions: []string{"13", "12"}, wheel: "cublas", pip: "nvidia-cublas"},
	{name: "cuDNN", use: "convolutions", file: "libcudnn.so.", versions: []string{"9"}, wheel: "cudnn", pip: "nvidia-cudnn-cu13"},
	{name: "NVRTC", use: "kernels written in CUDA C++", file: "libnvrtc.so.", versions: []string{"13", "12"}, wheel: "cuda_nvrtc", pip: "nvidia-cuda-nvrtc"},
}

const (
	cublasLt = C.H5_LIBRARY_CUBLASLT
	cudnn    = C.H5_LIBRARY_CUDNN
	nvrtc    = C.H5_LIBRARY_NVRTC
)

func init() {
	for i, l := range libraries {
		l.find = sync.OnceValue(func() Library { return l.load(i) })
	}
}

// overridden holds the libraries that tests bring, by name.
var overridden = map[string]func(set func(name string, function unsafe.Pointer)){}

// OverrideLibrary makes this process use a library of its own instead of
// NVIDIA's of that name, as Override does for the driver.
func OverrideLibrary(name string, use func(set func(name string, function unsafe.Pointer))) {
	overridden[name] = use
}

// errOff is why libraries are missing where they were turned off.
var errDisabled = errors.New("turned off by H5DNN_CUDA_LIBS=off")

// look finds and opens the library.
func (l *library) load(index int) Library {
	found := Library{Name: l.name, Use: l.use}
	if use := overridden[l.name]; use != nil {
		use(overrideFunction)
		found.Path = "override"
	} else if found.Path, found.Missing = l.open(index); found.Missing != nil {
		return found
	}
	var parts [3]C.int
	C.h5_library_version(C.int(index), &parts[0])
	found.Version = fmt.Sprintf("%d.%d.%d", parts[0], parts[1], parts[2])
	return found
}

func overrideFunction(name string, function unsafe.Pointer) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	if C.h5_library_override(s, function) == 0 {
		panic("cuda: no library has " + name)
	}
}

// open opens the first of the library's candidates that can be, and returns its path.
func (l *library) open(index int) (path string, err error) {
	if os.Getenv("H5DNN_CUDA_LIBS") == "off" {
		return "", errDisabled
	}
	var wrong []string
	for _, path := range l.candidates() {
		at, err := openLibrary(index, path)
		if err == nil {
			return at, nil
		}
		if text := err.Error(); !strings.Contains(text, "cannot open shared object file: No such file") {
			wrong = append(wrong, text)
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	return "", fmt.Errorf("not found%s; install it, of CUDA's packages or by pip install %s, or name its folder in H5DNN_CUDA_LIBS", searchedFolders(), l.pip)
}

// onlyIn says where was looked, if that was not everywhere.
func searchedFolders() string {
	if folders := os.Getenv("H5DNN_CUDA_LIBS"); folders != "" {
		return " in " + folders
	}
	return ""
}

func openLibrary(index int, path string) (at string, err error) {
	s := C.CString(path)
	defer C.free(unsafe.Pointer(s))
	var file [4096]C.char
	if problem := C.h5_library_open(C.int(index), s, &file[0], C.size_t(len(file))); problem != nil {
		text := C.GoString(problem)
		if !strings.Contains(text, path) {
			text = path + " " + text
		}
		return "", errors.New(text)
	}
	return C.GoString(&file[0]), nil
}

// candidates are where the library may lie, as NVIDIA's own cuda.pathfinder
// looks: where the dynamic linker knows of, the toolkit that is named, the
// toolkits that are installed, Python's wheels, conda's environment.
func (l *library) candidates() (paths []string) {
	folders := filepath.SplitList(os.Getenv("H5DNN_CUDA_LIBS"))
	if len(folders) == 0 {
		for _, version := range l.supportedVersions() {
			paths = append(paths, l.file+version)
		}
		folders = l.folders()
	}
	for _, folder := range folders {
		for _, version := range l.supportedVersions() {
			if path := filepath.Join(folder, l.file+version); exists(path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// served are the versions that the driver is not too old for: those of CUDA's own
// libraries are CUDA's.
func (l *library) supportedVersions() []string {
	d, err := Find()
	if err != nil || override != nil || l.name == "cuDNN" {
		return l.versions
	}
	return l.versionsUpTo(d.Version)
}

// upTo are the versions that are not newer than one of CUDA, such as "12.4".
func (l *library) versionsUpTo(cuda string) []string {
	major, _, _ := strings.Cut(cuda, ".")
	return slices.DeleteFunc(slices.Clone(l.versions), func(version string) bool {
		return len(version) > len(major) || len(version) == len(major) && version > major
	})
}

func (l *library) folders() (all []string) {
	for _, name := range []string{"CUDA_PATH", "CUDA_HOME"} {
		if root := os.Getenv(name); root != "" {
			all = append(all, filepath.Join(root, "lib64"))
		}
	}
	all = append(all, glob("/usr/local/cuda*/lib64")...)
	for _, root := range pythons() {
		for _, packages := range glob(filepath.Join(root, "lib/python3*/site-packages/nvidia")) {
			all = append(all, filepath.Join(packages, "cu13/lib"), filepath.Join(packages, l.wheel, "lib"))
		}
	}
	if root := os.Getenv("CONDA_PREFIX"); root != "" {
		all = append(all, filepath.Join(root, "lib"))
	}
	return all
}

// pythons are the roots of Python environments: the one that is named, and that of
// python3, which in an environment is a link out of it. Python itself is not started.
func pythons() (roots []string) {
	if root := os.Getenv("VIRTUAL_ENV"); root != "" {
		roots = append(roots, root)
	}
	if python, err := exec.LookPath("python3"); err == nil {
		roots = append(roots, filepath.Dir(filepath.Dir(python)))
		if python, err = filepath.EvalSymlinks(python); err == nil {
			roots = append(roots, filepath.Dir(filepath.Dir(python)))
		}
	}
	return append(roots, glob("/opt/*/.venv")...)
}

// glob is filepath.Glob for patterns that are right, the last match first: of
// versions the newest.
func glob(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	slices.Reverse(found)
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openCompanions opens the other parts of cuDNN that lie beside it. It would
// open them itself by name alone, and mix them up with those of another version.
func openSublibraries(path string) error {
	for _, part := range glob(filepath.Join(filepath.Dir(path), "libcudnn_*.so.9")) {
		s := C.CString(part)
		problem := C.h5_library_open_part(s)
		C.free(unsafe.Pointer(s))
		if problem != nil {
			return errors.New(C.GoString(problem))
		}
	}
	return nil
}
