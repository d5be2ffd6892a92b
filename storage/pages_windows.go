package storage

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapPages maps the first size bytes of f, for reading, and returns a duplicate of f. No bytes
// are not mapped.
func mapPages(f *os.File, size int) (*os.File, []byte, error) {
	process := windows.CurrentProcess()
	var handle windows.Handle
	err := windows.DuplicateHandle(process, windows.Handle(f.Fd()), process, &handle, 0, false, windows.DUPLICATE_SAME_ACCESS)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, nil, err
	}
	duplicate := os.NewFile(uintptr(handle), f.Name())
	if size == 0 {
		return duplicate, []byte{}, nil
	}
	section, err := windows.CreateFileMapping(handle, nil, windows.PAGE_READONLY, uint32(uint64(size)>>32), uint32(size), nil)
	if err != nil {
		duplicate.Close()
		return nil, nil, err
	}
	defer windows.CloseHandle(section) // the view keeps it
	address, err := windows.MapViewOfFile(section, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		duplicate.Close()
		return nil, nil, err
	}
	return duplicate, unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size), nil
}

func unmapPages(bytes []byte) error {
	return windows.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(bytes))))
}

// ReleasePages does nothing: the system takes pages of files when it needs memory.
func ReleasePages([]byte) error { return nil }

// PrefetchPages does nothing: the system reads ahead by itself.
func PrefetchPages([]byte) error { return nil }
