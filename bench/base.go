package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/h5dnn/h5dnn/bench/internal/worktree"
)

// startBase builds this program as it was at another commit and starts it twice: the second
// peer beside the first shows the noise of the machine.
func startBase(commit string, threads int, in folders) (p, again *peer, remove func(), err error) {
	tree, remove, err := worktree.Build(commit, worktree.Program{Package: "./bench", Name: "bench.base", Replaced: []string{"bench/serve.go"}},
		worktree.Program{Package: "./cmd/h5dnn", Name: "bin/h5dnn"})
	if err != nil {
		return nil, nil, nil, err
	}
	if p, err = serveBase(tree, threads, in); err == nil {
		again, err = serveBase(tree, threads, in)
	}
	if err != nil {
		p.stop()
		remove()
		return nil, nil, nil, fmt.Errorf("base %s: %w", commit, err)
	}
	return p, again, remove, nil
}

// serveBase starts the program in its own tree, where rows find its bin/h5dnn.
func serveBase(tree worktree.Tree, threads int, in folders) (*peer, error) {
	in, err := in.absolute()
	if err != nil {
		return nil, err
	}
	p := &peer{command: exec.Command(filepath.Join(tree.Folder, "bench.base"), "-serve", in.data, in.made, in.device, "commit "+tree.Commit)}
	p.command.Dir = tree.Folder
	p.command.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", threads))
	return p, p.start()
}

// absolute returns folders that another working directory does not change.
func (in folders) absolute() (folders, error) {
	var errs [2]error
	in.data, errs[0] = filepath.Abs(in.data)
	in.made, errs[1] = filepath.Abs(in.made)
	return in, errors.Join(errs[:]...)
}

// start runs the peer's command and reads its first line.
func (p *peer) start() (err error) {
	p.command.Stderr = os.Stderr
	if p.in, err = p.command.StdinPipe(); err != nil {
		return err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.command.Start(); err != nil {
		return err
	}
	p.version, err = p.out.ReadString('\n')
	p.version = strings.TrimSpace(p.version)
	return err
}
