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

// A Library is an optional library of NVIDIA's.
type Library struct {
	Name    string // "cuBLASLt"
	Use     string // its purpose
	Path    string // of the loaded file
	Version string // "13.4.1"
	Missing error  // why it is not used; nil if it is
}

// Libraries searches for NVIDIA's libraries, once, and describes each. The environment
// variable H5DNN_CUDA_LIBS lists the only folders to search, or is "off".
func Libraries() []Library {
	all := make([]Library, len(libraries))
	for i, l := range libraries {
		all[i] = l.find()
	}
	return all
}

// overridePath is the Path of libraries that tests provide.
const overridePath = "override"

// absent reports whether the library is not installed, or was turned off.
func (l Library) absent() bool {
	return errors.Is(l.Missing, errAbsent) || errors.Is(l.Missing, errDisabled)
}

// A library says how to find a Library.
type library struct {
	name, use string
	file      string   // file name without the version
	versions  []string // ABI versions, newest first
	wheel     string   // its folder in Python wheels
	pip       string   // the wheel of the newest version
	find      func() Library
}

// libraries are in the order of C's enum.
var libraries = []*library{
	{name: "cuBLASLt", use: "products of matrices", file: "libcublasLt.so.", versions: []string{"13", "12"}, wheel: "cublas", pip: "nvidia-cublas"},
	{name: "cuDNN", use: "convolutions", file: "libcudnn.so.", versions: []string{"9"}, wheel: "cudnn", pip: "nvidia-cudnn-cu13"},
	{name: "NVRTC", use: "kernels written in CUDA C++", file: "libnvrtc.so.", versions: []string{"13", "12"}, wheel: "cuda_nvrtc", pip: "nvidia-cuda-nvrtc"},
	{name: "NCCL", use: "training on several GPUs", file: "libnccl.so.", versions: []string{"2"}, wheel: "nccl", pip: "nvidia-nccl-cu13"},
}

const (
	cublasLt = C.H5_LIBRARY_CUBLASLT
	cudnn    = C.H5_LIBRARY_CUDNN
	nvrtc    = C.H5_LIBRARY_NVRTC
	nccl     = C.H5_LIBRARY_NCCL
)

func init() {
	for i, l := range libraries {
		l.find = sync.OnceValue(func() Library { return l.load(i) })
	}
}

// overridden holds the libraries that tests provide, by name.
var overridden = map[string]func(set func(name string, function unsafe.Pointer)){}

// OverrideLibrary makes this process use other functions than NVIDIA's library of that
// name, as Override does for the driver.
func OverrideLibrary(name string, use func(set func(name string, function unsafe.Pointer))) {
	overridden[name] = use
}

// errAbsent is why libraries are missing that are not installed.
var errAbsent = errors.New("not found")

// errDisabled is why libraries are missing if they were turned off.
var errDisabled = errors.New("turned off by H5DNN_CUDA_LIBS=off")

// load finds and opens the library.
func (l *library) load(index int) Library {
	found := Library{Name: l.name, Use: l.use}
	if index == cudnn {
		openNeeds()
	}
	if use := overridden[l.name]; use != nil {
		found.Path = overridePath
		use(func(name string, function unsafe.Pointer) {
			if overrideFunction(name, function); function == nil {
				found.Missing = fmt.Errorf("has no %s: another version is needed", name)
			}
		})
		if found.Missing != nil {
			return found
		}
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

// open opens the first candidate that loads, and returns its path.
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
	return "", fmt.Errorf("%w%s; install it from CUDA's packages or with pip install %s, or name its folder in H5DNN_CUDA_LIBS", errAbsent, searchedFolders(), l.pip)
}

// searchedFolders describes the searched folders if H5DNN_CUDA_LIBS limits them.
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

// candidates are the paths to try, in the order of NVIDIA's cuda.pathfinder: the dynamic
// linker's path, the toolkit named by the environment, installed toolkits, Python
// wheels, the conda environment.
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

// supportedVersions are the versions that the driver supports. CUDA's own libraries have
// CUDA's major version.
func (l *library) supportedVersions() []string {
	d, err := Find()
	if err != nil || override != nil || l.name == "cuDNN" || l.name == "NCCL" {
		return l.versions
	}
	return l.versionsUpTo(d.Version)
}

// versionsUpTo are the versions no newer than one of CUDA, such as "12.4".
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

// pythons are the roots of Python environments: VIRTUAL_ENV, and the root of the python3 in
// PATH and of its link target. Python itself is not started.
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

// glob is filepath.Glob for valid patterns, in reverse order, so that newer versions
// come first.
func glob(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	slices.Reverse(found)
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openSublibraries opens cuDNN's sublibraries in the same folder. cuDNN itself would open
// them by name only, and might find another version's.
func openSublibraries(path string) error {
	return openParts(glob(filepath.Join(filepath.Dir(path), "libcudnn_*.so.9")))
}

// openParts opens libraries that may need each other, in an order in which they can be opened.
func openParts(parts []string) error {
	for len(parts) > 0 {
		var wrong []error
		rest := slices.DeleteFunc(slices.Clone(parts), func(part string) bool {
			err := openPart(part)
			if err != nil {
				wrong = append(wrong, err)
			}
			return err == nil
		})
		if len(rest) == len(parts) {
			return errors.Join(wrong...)
		}
		parts = rest
	}
	return nil
}

func openPart(path string) error {
	s := C.CString(path)
	defer C.free(unsafe.Pointer(s))
	if problem := C.h5_library_open_part(s); problem != nil {
		return errors.New(C.GoString(problem))
	}
	return nil
}

// openNeeds opens what sublibraries of cuDNN need: cuBLASLt, cuBLAS and NVRTC, from where they are
// found. Without them cuDNN may do, or says itself what it lacks.
func openNeeds() {
	for _, index := range []int{cublasLt, nvrtc} {
		l := libraries[index].find()
		if l.Missing != nil || l.Path == overridePath {
			continue
		}
		parts := []string{strings.Replace(l.Path, "libcublasLt", "libcublas", 1)}
		if index == nvrtc {
			parts = glob(filepath.Join(filepath.Dir(l.Path), "libnvrtc-builtins.so.*"))
		}
		for _, part := range parts {
			openPart(part)
		}
	}
}
