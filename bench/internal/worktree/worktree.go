// Package worktree builds programs of this module as they were at another commit, for
// benchmarks that compare two commits.
package worktree

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Tree is a temporary worktree of a commit.
type Tree struct {
	Folder string
	Commit string // abbreviated
}

// A Program is built from a package of a commit.
type Program struct {
	Package  string   // such as ./bench
	Name     string   // of the program, in the tree
	Replaced []string // files that the package takes from the current directory instead
}

// Build checks out a commit and builds programs there. The current directory is the root of the
// repository. remove deletes the tree.
func Build(commit string, programs ...Program) (tree Tree, remove func(), err error) {
	tree.Commit, err = output(".", "git", "rev-parse", "--short", commit+"^{commit}")
	if err != nil {
		return tree, nil, fmt.Errorf("base %s: %w", commit, err)
	}
	if tree.Folder, err = os.MkdirTemp("", "h5dnn-base"); err != nil {
		return tree, nil, err
	}
	remove = func() {
		output(".", "git", "worktree", "remove", "--force", tree.Folder)
		os.RemoveAll(tree.Folder)
	}
	if err := tree.build(programs); err != nil {
		remove()
		return tree, nil, fmt.Errorf("base %s: %w", commit, err)
	}
	return tree, remove, nil
}

func (t Tree) build(programs []Program) error {
	if _, err := output(".", "git", "worktree", "add", "--detach", t.Folder, t.Commit); err != nil {
		return err
	}
	for _, p := range programs {
		for _, name := range p.Replaced {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			to := filepath.Join(t.Folder, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644)); err != nil {
				return err
			}
		}
		if _, err := output(t.Folder, "go", "build", "-o", p.Name, p.Package); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command in a folder and returns what it prints.
func output(folder, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir = folder
	text, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return strings.TrimSpace(string(text)), nil
}
