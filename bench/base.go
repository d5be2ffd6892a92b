package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// startBase builds this program as it was at another commit, in a temporary worktree, and
// starts it as the peer. remove deletes the worktree.
func startBase(commit string, threads int, in folders) (p *peer, remove func(), err error) {
	hash, err := output("git", "rev-parse", "--short", commit+"^{commit}")
	if err != nil {
		return nil, nil, fmt.Errorf("base %s: %w", commit, err)
	}
	tree, err := os.MkdirTemp("", "h5dnn-base")
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		output("git", "worktree", "remove", "--force", tree)
		os.RemoveAll(tree)
	}
	if p, err = buildBase(tree, hash, threads, in); err != nil {
		remove()
		return nil, nil, fmt.Errorf("base %s: %w", commit, err)
	}
	return p, remove, nil
}

func buildBase(tree, commit string, threads int, in folders) (*peer, error) {
	if _, err := output("git", "worktree", "add", "--detach", tree, commit); err != nil {
		return nil, err
	}
	serve, err := os.ReadFile("bench/serve.go")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tree, "bench", "serve.go"), serve, 0o644); err != nil {
		return nil, err
	}
	program := filepath.Join(tree, "bench.base")
	build := exec.Command("go", "build", "-o", program, "./bench")
	build.Dir = tree
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	p := &peer{command: exec.Command(program, "-serve", in.data, in.made, in.device, "commit "+commit)}
	p.command.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", threads))
	return p, p.start()
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

// output runs a command and returns what it prints.
func output(name string, args ...string) (string, error) {
	text, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return strings.TrimSpace(string(text)), nil
}
