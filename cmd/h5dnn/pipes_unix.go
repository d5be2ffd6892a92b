//go:build unix

package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// isPipe reports whether a descriptor reads from a pipe or a socket.
func isPipe(fd int) bool {
	var info unix.Stat_t
	if unix.Fstat(fd, &info) != nil {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	kind := info.Mode & unix.S_IFMT
	return err == nil && (kind == unix.S_IFIFO || kind == unix.S_IFSOCK) && flags&unix.O_ACCMODE != unix.O_WRONLY
}

// replaceDescriptor makes a descriptor one of file.
func replaceDescriptor(fd int, file *os.File) error { return unix.Dup2(int(file.Fd()), fd) }

// A pipeReader reads a descriptor that stays open, until its context is done.
type pipeReader struct {
	ctx context.Context
	fd  int
}

func (r pipeReader) Read(b []byte) (int, error) {
	for {
		if err := r.ctx.Err(); err != nil {
			return 0, err
		}
		n, err := unix.Read(r.fd, b)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN: // a pipe that its other end has made non-blocking
			unix.Poll([]unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}}, 100)
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}
