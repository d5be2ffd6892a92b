package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A process is a command with a limit. If it hangs it is asked for the stacks of all goroutines,
// as SIGQUIT asks Go and faulthandler makes Python, before it is killed.
type process struct {
	command []string
	folder  string
	env     []string // besides this process's
	limit   time.Duration
	line    func(line string) // is called with each line of output, as it comes; may be nil
}

// An ending is how a process ended.
type ending struct {
	status int // -1 if it was killed or did not start
	hung   bool
	err    error // nil if the status is 0
	took   time.Duration
	log    []byte // the output, of which the middle is left out if it is long
}

// kept is how much of the beginning, and of the end, of a process's output is kept.
const kept = 2 << 20

// quitting is how long a process that hangs has to write its stacks.
const quitting = 10 * time.Second

func (p process) run() (e ending) {
	began := time.Now()
	defer func() { e.took = time.Since(began) }()
	c := exec.Command(p.command[0], p.command[1:]...)
	c.Dir = p.folder
	c.Env = append(os.Environ(), append([]string{"GOTRACEBACK=all", "PYTHONFAULTHANDLER=1"}, p.env...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	if err != nil {
		return ending{status: -1, err: err}
	}
	defer out.Close()
	c.Stdout, c.Stderr = in, in
	if err := c.Start(); err != nil {
		in.Close()
		return ending{status: -1, err: err}
	}
	in.Close()
	read := make(chan []byte, 1)
	go func() { read <- p.read(out) }()
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	kill := func(s syscall.Signal) { syscall.Kill(-c.Process.Pid, s) }
	select {
	case e.err = <-done:
	case <-time.After(p.limit):
		e.hung = true
		kill(syscall.SIGQUIT)
		select {
		case e.err = <-done:
		case <-time.After(quitting):
			kill(syscall.SIGKILL)
			e.err = <-done
		}
		e.err = errors.Join(errors.New("not done after "+p.limit.String()), e.err)
	}
	kill(syscall.SIGKILL) // what it has left running
	select {
	case e.log = <-read:
	case <-time.After(time.Second): // another process keeps the output open
		out.Close()
		e.log = <-read
	}
	e.status = c.ProcessState.ExitCode()
	return e
}

// read passes lines on, and returns the beginning and the end of the output.
func (p process) read(from *os.File) []byte {
	var head, tail bytes.Buffer
	lines := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := lines.ReadString('\n')
		if p.line != nil && line != "" {
			p.line(line)
		}
		if head.Len() < kept {
			head.WriteString(line)
		} else {
			tail.WriteString(line)
			if tail.Len() > 2*kept {
				tail.Next(tail.Len() - kept)
			}
		}
		if err != nil {
			if tail.Len() > kept {
				head.WriteString("\n(the middle is left out)\n")
				tail.Next(tail.Len() - kept)
			}
			return append(head.Bytes(), tail.Bytes()...)
		}
	}
}

// freeSpace returns the bytes that a folder's file system has left.
func freeSpace(folder string) (uint64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(folder, &s)
	return s.Bavail * uint64(s.Bsize), err
}
