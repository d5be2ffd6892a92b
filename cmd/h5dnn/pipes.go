package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
)

// Files are read at any position and opened more than once, which pipes are not made for. A
// pipe that an argument names as input, by - or by its descriptor as in /dev/fd/63, is
// therefore copied to an unnamed temporary file before the command starts, and that file
// takes the place of the pipe.

// stdin is the name that - stands for where a file is read.
const stdin = "/dev/stdin"

// descriptorPath matches the paths of open descriptors, alone, with a path in the file or an
// index behind them, and behind the name of a flag or of an input.
var descriptorPath = regexp.MustCompile(`(?:^|=)(?:/dev/stdin|(?:/dev/fd|/proc/self/fd)/(\d+))(?:$|[:\[])`)

// readPipes replaces - by the path of standard input in the arguments that a command reads,
// and the pipes that arguments name by files with their content.
func readPipes(ctx context.Context, app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 || !opensFiles[args[1]] {
		return args, nil
	}
	command := app.Command(args[1])
	args = slices.Clone(args)
	inputs := args[slices.Index(args, "--")+1:]
	if usage := strings.Fields(command.ArgsUsage); len(inputs) > 0 && len(usage) > 1 && strings.HasPrefix(usage[1], "OUT") {
		inputs = inputs[:len(inputs)-1]
	}
	for i, arg := range inputs {
		if rest, ok := strings.CutPrefix(arg, "-"); ok && (rest == "" || rest[0] == ':' || rest[0] == '[') && !keepsNames[command.Name] {
			inputs[i] = stdin + rest
			if term.IsTerminal(0) {
				return nil, errors.New("-: standard input is a terminal; pipe a file into the command, or name one")
			}
		}
	}
	for _, arg := range args[2:] {
		found := descriptorPath.FindStringSubmatch(arg)
		if found == nil {
			continue
		}
		fd, _ := strconv.Atoi(found[1]) // 0 for standard input
		if err := copyPipe(ctx, fd); err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
	}
	return args, nil
}

// keepsNames are the commands that write the names of their data into a file, which outlasts
// a pipe.
var keepsNames = map[string]bool{"init": true, "train": true}

// copyPipe replaces a descriptor that reads from a pipe or a socket by an unnamed temporary
// file with what it reads. It leaves other descriptors as they are.
func copyPipe(ctx context.Context, fd int) error {
	if !isPipe(fd) {
		return nil // of no descriptor too: opening it gives the error
	}
	folder := os.TempDir()
	limit, known := atomicfile.FreeSpace(folder)
	if limit /= 2; !known {
		limit = 1 << 40
	}
	file, err := os.CreateTemp(folder, "h5dnn-*.pipe")
	if err != nil {
		return fmt.Errorf("a pipe is copied to a temporary file first: %w; TMPDIR names another folder", err)
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	pipe := pipeReader{ctx, fd}
	n, err := io.Copy(struct{ io.Writer }{file}, io.LimitReader(pipe, limit+1))
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case n > limit || errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the pipe has more than %d bytes, and its temporary copy in %s may fill half of the free space; save it to a file, or set TMPDIR to a larger folder", n-1, folder)
	case err != nil:
		return fmt.Errorf("reading the pipe: %w", err)
	}
	return replaceDescriptor(fd, file)
}
