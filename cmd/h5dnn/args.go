package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/spell"
)

// reorder moves a command's flags before its other arguments, because package cli
// stops at the first argument. Arguments after "--" stay in place.
func reorder(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 {
		return args, nil
	}
	command := app.Command(args[1])
	if command == nil || command.SkipFlagParsing {
		return args, nil
	}
	flags, rest := []string{}, []string{}
	for given := args[2:]; len(given) > 0; given = given[1:] {
		arg := given[0]
		if arg == "--" {
			rest = append(rest, given[1:]...)
			break
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" || strings.HasPrefix(arg, "-:") || strings.HasPrefix(arg, "-[") {
			rest = append(rest, arg)
			continue
		}
		flags = append(flags, arg)
		name, _, valued := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		flag, err := findFlag(command, name)
		if err != nil {
			return nil, err
		}
		if flag != nil && flag.TakesValue() && !valued {
			if len(given) == 1 {
				return nil, fmt.Errorf("%s needs a value", arg)
			}
			given = given[1:]
			flags = append(flags, given[0])
		}
	}
	return slices.Concat(args[:2], flags, []string{"--"}, rest), nil
}

// The flags that other programs have.
var _ = config.RegisterElsewhere("flag", map[string]config.Other{
	"learning-rate":    {Name: "--lr"},
	"batch-size":       {Name: "--batch"},
	"num-epochs":       {Name: "--epochs"},
	"validation-split": {Name: "--split"},
	"criterion":        {Name: "--loss"},
	"scheduler":        {Name: "--schedule"},
	"num-classes":      {Name: "--classes"},
})

// findFlag returns the flag of that name, or nil for --help.
func findFlag(command *cli.Command, name string) (cli.DocGenerationFlag, error) {
	known := []string{"--help"}
	if name == "help" || name == "h" {
		return nil, nil
	}
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			return flag.(cli.DocGenerationFlag), nil
		}
		known = append(known, "--"+flag.Names()[0])
	}
	if want := config.Elsewhere("flag", name, known); want != "" {
		return nil, fmt.Errorf("unknown flag --%s; want %s", name, want)
	}
	return nil, fmt.Errorf("unknown flag %s%s; see h5dnn %s --help", dashed(name), spell.Hint("--"+name, known), command.Name)
}

// badValue is how package cli says that the value of a flag cannot be parsed.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([a-z0-9-]+): `)

// flagError returns err, from parsing the flags of command, as an error that says what
// the flag takes.
func flagError(command *cli.Command, err error) error {
	found := badValue.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	flag, _ := findFlag(command, found[2])
	want := ""
	switch flag.(type) {
	case *cli.IntFlag, *cli.Int64Flag:
		want = "a whole number"
	case *cli.Uint64Flag:
		want = "a whole number, at least 0"
	case *cli.Float64Flag:
		want = "a number"
	case *cli.BoolFlag:
		want = "true or false"
	case *cli.DurationFlag:
		want = "a time such as 2s"
	default:
		return err
	}
	return fmt.Errorf("--%s %s: want %s", found[2], found[1], want)
}

// globalFlagError returns err, from parsing the flags before a command, as an error that names the
// flag as it is written.
func globalFlagError(err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err
	}
	return fmt.Errorf("unknown flag --%s before the command%s; see h5dnn --help", name, spell.Hint("--"+name, []string{"--help", "--version"}))
}

// arguments returns the command's arguments. It fails unless there are as many as names.
func arguments(c *cli.Context, names ...string) ([]string, error) {
	args := c.Args().Slice()
	if len(args) < len(names) {
		return nil, fmt.Errorf("%s is missing; see h5dnn %s --help", names[len(args)], c.Command.Name)
	}
	if len(args) > len(names) {
		return nil, fmt.Errorf("%q is one argument too many; see h5dnn %s --help", args[len(names)], c.Command.Name)
	}
	return args, nil
}

// choice lists alternatives, two at least: "a, b or c".
func choice(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
