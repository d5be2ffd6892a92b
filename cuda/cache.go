package cuda

// #include <stdlib.h>
// #include "calls.h"
import "C"

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"
)

// loadCached loads PTX for d: machine code that was shipped or cached, or what the driver
// compiles, which it caches. It returns where the code is from.
//
// A file holds the code of one entry behind codeMagic and its checksum. It is written under
// a temporary name and renamed, so that processes may share the folder. Files that are
// damaged, or that the driver refuses, are replaced.
func (m *module) loadCached(d *Device, text string) (from string, err error) {
	folders := codeFoldersOf(d)
	m.describe(text)
	if folders.shipped != "" {
		if code, err := readCode(folders.name(folders.shipped, text)); err == nil && m.loadCode(d, code) == nil {
			return "shipped", nil
		}
	}
	if folders.cache == "" {
		if folders.why != nil {
			d.fallBack("kernels are compiled anew by every process", folders.why)
		}
		return "compiled", m.load(d, text)
	}
	file := folders.name(folders.cache, text)
	if code, err := readCode(file); err == nil && m.loadCode(d, code) == nil {
		return "cached", nil
	}
	code, err := compileCode(d, text)
	if err != nil {
		if again := m.load(d, text); again != nil {
			return "", again // which has the compiler's messages
		}
		d.fallBack("kernels are compiled anew by every process", err)
		return "compiled", nil
	}
	if err := m.loadCode(d, code); err != nil {
		return "", err
	}
	if err := writeCode(file, code); err != nil {
		d.fallBack("kernels are compiled anew by every process", err)
	}
	return "compiled", nil
}

// loadCode loads machine code for d.
func (m *module) loadCode(d *Device, code []byte) error {
	image := C.CBytes(append(code, 0))
	defer C.free(image)
	var log compilerLog
	return log.explain(check("load compiled code", C.h5_module(d.context, &m.handle, image, &log[0], C.size_t(len(log)-1))))
}

// compileCode returns the machine code that the driver compiles PTX to for d.
func compileCode(d *Device, text string) ([]byte, error) {
	if err := driverHas("cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuLinkDestroy"); err != nil {
		return nil, err
	}
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	var log compilerLog
	var state C.h5_handle
	var code unsafe.Pointer
	var size C.size_t
	result := C.h5_link(d.context, unsafe.Pointer(s), C.size_t(len(text)+1), &log[0], C.size_t(len(log)-1), &state, &code, &size)
	if state != 0 {
		defer C.h5_link_destroy(d.context, state)
	}
	if err := log.explain(check("compile PTX", result)); err != nil {
		return nil, err
	}
	return C.GoBytes(code, C.int(size)), nil
}

// codeFolders are where compiled code lies for one device.
type codeFolders struct {
	shipped string // with the program, or empty
	cache   string // folder, or empty
	why     error  // why there is no cache, unless it was turned off
}

// name returns the file of PTX in a folder.
func (codeFolders) name(folder, text string) string {
	sum := sha256.Sum256([]byte(text))
	return filepath.Join(folder, hex.EncodeToString(sum[:16]))
}

// codeFoldersOf returns the folders for d: $H5DNN_CUDA_CODE/sm_90, and
// $H5DNN_CUDA_CACHE/sm_90/DRIVER, where the user's cache folder is the default.
func codeFoldersOf(d *Device) (f codeFolders) {
	architecture := fmt.Sprintf("sm_%d", d.Capability)
	if folder := os.Getenv("H5DNN_CUDA_CODE"); folder != "" {
		f.shipped = filepath.Join(folder, architecture)
	}
	root := os.Getenv("H5DNN_CUDA_CACHE")
	switch {
	case root == "off" || root == "" && override != nil: // tests leave the user's cache alone
		return f
	case root == "":
		folder, err := os.UserCacheDir()
		if err != nil {
			f.why = fmt.Errorf("no folder for a cache: %w; name one in H5DNN_CUDA_CACHE", err)
			return f
		}
		root = filepath.Join(folder, "h5dnn", "cuda")
	}
	f.cache = filepath.Join(root, architecture, driverName())
	return f
}

// driverName tells drivers whose compilers may differ apart: by the version of CUDA, and by
// the name and size of the library, such as libcuda.so.580.159.
var driverName = sync.OnceValue(func() string {
	driver, err := Find()
	if err != nil {
		return "none"
	}
	name := "cuda" + driver.Version
	file := driver.File
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if info, err := os.Stat(file); err == nil {
		name += fmt.Sprintf("-%s-%d", strings.TrimPrefix(filepath.Base(file), "libcuda.so."), info.Size())
	}
	return name
})

const codeMagic = "h5dnn code 1\n"

var errDamaged = errors.New("damaged")

// encodeCode returns the content of a file of compiled code.
func encodeCode(code []byte) []byte {
	sum := sha256.Sum256(code)
	return bytes.Join([][]byte{[]byte(codeMagic), sum[:], code}, nil)
}

func readCode(file string) ([]byte, error) {
	all, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(all, []byte(codeMagic))
	if !ok || len(rest) < sha256.Size {
		return nil, errDamaged
	}
	if sum := sha256.Sum256(rest[sha256.Size:]); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, errDamaged
	}
	return rest[sha256.Size:], nil
}

// writeCode writes a file, whole or not at all. It need not survive a crash: then its
// checksum is wrong.
func writeCode(file string, code []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".partial-*")
	if err != nil {
		return err
	}
	_, err = f.Write(encodeCode(code))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// StoreCode stores machine code, which ptxas has made of an entry's PTX, in a folder for
// H5DNN_CUDA_CODE to name.
func StoreCode(folder string, capability int, ptx string, code []byte) error {
	return writeCode(codeFolders{}.name(filepath.Join(folder, fmt.Sprintf("sm_%d", capability)), ptx), code)
}
