// Command h5dnn inspects, slices and converts HDF5 files and trains models on them.
//
// It connects the other packages to the terminal: flags, reports, progress.
//
// The exit status is 0 for success, 1 for a negative answer such as a failed
// verify, 2 for an error, which is one line on standard error, and 130 after an
// interrupt.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// The main goroutine stays on the main thread, because OpenMP keeps a team of
// threads for every thread that calls it.
func init() { runtime.LockOSThread() }

func main() { os.Exit(process()) }

// process runs the command that the process was started with, and returns its exit status.
func process() int {
	limitSpinning()
	limitGarbage(os.Args)
	signal.Ignore(syscall.SIGPIPE) // a write then fails with EPIPE, and deferred functions run
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals()...)
	context.AfterFunc(ctx, stop)                   // a second Ctrl-C ends the process at once
	if len(os.Args) > 1 && os.Args[1] != "train" { // which saves its run, however long that takes
		context.AfterFunc(ctx, func() { exitAfter(interruptedTime, "h5dnn "+os.Args[1]) })
	}
	return run(ctx, os.Args, os.Stdout, os.Stderr)
}

// interruptedTime is how long a command may take to end after an interrupt.
const interruptedTime = 800 * time.Millisecond

// exitAfter ends the process unless its command, which has been interrupted, is faster:
// compressors of large chunks and other libraries do not stop half-way.
func exitAfter(d time.Duration, name string) {
	time.Sleep(d)
	atomicfile.RemoveUnfinished()
	os.Exit(report(os.Stderr, name, context.Canceled))
}

// endingSignals are the signals that end a command in order: training saves its run.
// SIGHUP, which a closed terminal sends, is not among them if nohup has it ignored.
func endingSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

const (
	statusFine        = 0
	statusNegative    = 1
	statusTrouble     = 2
	statusInterrupted = 130
)

// errNegative is returned by a command that succeeded with a negative answer, which
// it has printed.
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
		args, err = readPipes(ctx, app, args)
	}
	if err == nil {
		err = app.RunContext(withInputs(ctx), args)
	}
	awaitFirst(err)
	status = report(stderr, name, withRank(err))
	reportRemote(stderr, name)
	leave(status, err)
	return status
}

// report prints err, if any, and returns the exit status.
func report(stderr io.Writer, name string, err error) int {
	var kept interruptedError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // the reader of the pipe has closed it
		return statusFine
	case errors.Is(err, errNegative):
		return statusNegative
	case errors.As(err, &kept):
		fmt.Fprintf(stderr, "%s: %s\n", name, printable(kept.Error()))
		return statusInterrupted
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "%s: interrupted; no partial output was left\n", name)
		return statusInterrupted
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, printable(forPeople(err)))
	return statusTrouble
}

// An interruptedError reports that training was interrupted, and how to continue.
type interruptedError struct{ file string }

func (s interruptedError) Error() string {
	return fmt.Sprintf("interrupted; continue with: h5dnn train --resume %s", s.file)
}

// unnamedModel ends the error of weights of Keras that have no numbers without their model.
const unnamedModel = "the metadata must have its model_config"

// forPeople returns the text of an error without its kind at the end, which is for
// errors.Is, and with the flag that helps.
func forPeople(err error) string {
	text := strings.TrimPrefix(strings.TrimPrefix(withoutKind(err.Error()), "train: "), "predict: ") // the command is named
	if other := (*hdf5.NotFollowedError)(nil); errors.As(err, &other) {
		text += "; add --follow FOLDER to open files in a folder"
	}
	if strings.HasSuffix(text, unnamedModel) {
		text += ", which h5dnn convert takes from --model FILE"
	}
	return flagsFor(err, text) + limitAdvice(err)
}

// withoutKind returns the text of an error without its kind at the end, and with the flag that
// helps.
func withoutKind(text string) string {
	const unnamed, flag = "such as bfloat16; name their type", " with --void"
	text = strings.ReplaceAll(strings.ReplaceAll(text, unnamed+flag, unnamed), unnamed, unnamed+flag)
	for _, kind := range []error{views.ErrShape, dtype.ErrType, storage.ErrDevice, storage.ErrState, serialize.ErrFormat, serialize.ErrChecksum, fs.ErrInvalid} {
		text = strings.TrimSuffix(text, ": "+kind.Error())
	}
	return text
}

func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:            "h5dnn",
		Usage:           "inspect, slice and convert HDF5 files, and train neural networks on them",
		Version:         version(),
		Description:     lacks[""],
		HideHelpCommand: true,
		Flags:           []cli.Flag{cli.HelpFlag}, // the library leaves it out where a command is called help
		Writer:          stdout,
		ErrWriter:       stderr,
		ExitErrHandler:  func(*cli.Context, error) {}, // report does it
		OnUsageError:    func(_ *cli.Context, err error, _ bool) error { return globalFlagError(err) },

		DisableSliceFlagSeparator: true, // names may have commas

		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return fmt.Errorf("unknown command %q%s; see h5dnn --help", name, spell.Hint(name, commandNames(c.App)))
			}
			return cli.ShowAppHelp(c)
		},
		Commands: commands(),
	}
	for _, command := range app.Commands {
		command.OnUsageError = func(c *cli.Context, err error, _ bool) error { return flagError(c.Command, err) }
		command.HideHelpCommand = true
		command.Description = paragraphs(command.Description, lacks[command.Name], examplesOf(command.Name))
		if opensFiles[command.Name] {
			command.Flags, command.Before = append(command.Flags, limitFlag(), remoteCacheFlag()), remember
		}
		for _, flag := range command.Flags {
			if b, ok := flag.(*cli.BoolFlag); ok {
				b.DisableDefaultText = true
			}
		}
	}
	return app
}

// paragraphs joins texts that are not empty, with empty lines between them.
func paragraphs(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n\n")
}

func commandNames(app *cli.App) []string {
	var names []string
	for _, command := range app.Commands {
		names = append(names, command.Names()...)
	}
	return names
}

// printable returns s on one line, with control characters and bytes that are not UTF-8
// escaped, and without the secrets of URLs.
func printable(s string) string {
	var b strings.Builder
	s = storage.WithoutSecrets(s)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case plain(r):
			b.WriteString(s[:size])
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		default:
			quoted := fmt.Sprintf("%+q", r) // '\n', '\x1b', '\u202e'
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}
