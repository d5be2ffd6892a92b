// Command h5dnn looks into HDF5 files, cuts slices out of them, converts them,
// and trains models on them.
//
// It wires the other packages together for the terminal, and holds nothing
// that a program could want from a library.
//
// Exit status: 0 fine, 1 a negative answer, 2 usage or trouble, 130
// interrupted. Trouble is one line on standard error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// The main goroutine keeps to the main thread, so that all arithmetic has one
// caller: OpenMP keeps a team of threads for each.
func init() { runtime.LockOSThread() }

func main() {
	settle()
	signal.Ignore(syscall.SIGPIPE) // a write then fails with EPIPE, and what is open is tidied up
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}

const (
	statusFine        = 0
	statusNegative    = 1
	statusTrouble     = 2
	statusInterrupted = 130
)

// errNegative is what a command returns that worked, and whose answer is no.
// It has printed that answer.
var errNegative = errors.New("no")

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	app := newApp(stdout, stderr)
	name := app.Name
	if len(args) > 1 && app.Command(args[1]) != nil {
		name += " " + args[1]
	}
	defer func() {
		if r := recover(); r != nil {
			status = report(stderr, name, fmt.Errorf("internal error: %v; please report it, with the command and the file", r))
		}
	}()
	args, err := reorder(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	return report(stderr, name, err)
}

// report says what went wrong, if anything, and returns the exit status for it.
func report(stderr io.Writer, name string, err error) int {
	var kept saved
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // who reads our output has seen enough
		return statusFine
	case errors.Is(err, errNegative):
		return statusNegative
	case errors.As(err, &kept):
		fmt.Fprintf(stderr, "%s: %s\n", name, printable(kept.Error()))
		return statusInterrupted
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "%s: interrupted; nothing was left half-written\n", name)
		return statusInterrupted
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, printable(forPeople(err)))
	return statusTrouble
}

// forPeople returns an error's text without its kind at the end, which is for
// programs to ask for, and with flags in the place of options.
func forPeople(err error) string {
	text := strings.ReplaceAll(err.Error(), "(Options.Follow)", "(--follow FOLDER allows it)")
	for _, kind := range []error{views.ErrShape, dtype.ErrType, storage.ErrDevice, storage.ErrState, serialize.ErrFormat} {
		text = strings.TrimSuffix(text, ": "+kind.Error())
	}
	return text
}

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:            "h5dnn",
		Usage:           "look into HDF5 files, cut slices out of them, convert them, and train on them",
		Version:         version(),
		HideHelpCommand: true,
		Writer:          stdout,
		ErrWriter:       stderr,
		ExitErrHandler:  func(*cli.Context, error) {}, // report does it
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return err },

		DisableSliceFlagSeparator: true, // names may have commas

		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return fmt.Errorf("there is no command %q%s; see h5dnn --help", name, spell.Hint(name, commandNames(c.App)))
			}
			return cli.ShowAppHelp(c)
		},
		Commands: commands(),
	}
	for _, command := range app.Commands {
		command.OnUsageError = app.OnUsageError
		command.HideHelpCommand = true
		for _, flag := range command.Flags {
			if b, ok := flag.(*cli.BoolFlag); ok {
				b.DisableDefaultText = true // everyone knows
			}
		}
	}
	return app
}

func commandNames(app *cli.App) []string {
	var names []string
	for _, command := range app.Commands {
		names = append(names, command.Names()...)
	}
	return names
}

// printable returns s on one line, with what a terminal could take for a
// command shown as an escape.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if plain(r) {
			b.WriteRune(r)
		} else {
			quoted := fmt.Sprintf("%+q", r) // '\n', '\x1b', '\u202e'
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
