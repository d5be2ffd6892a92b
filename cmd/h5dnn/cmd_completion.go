package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/spell"
)

// shells write the completion of commands and flags for a shell.
var shells = map[string]func(w io.Writer, app *cli.App) error{
	"bash": bashCompletion,
	"zsh":  zshCompletion,
	"fish": fishCompletion,
	"man":  manPage,
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish, or the man page",
		ArgsUsage: "bash|zsh|fish|man",
		Description: "  bash  h5dnn completion bash > ~/.local/share/bash-completion/completions/h5dnn\n" +
			"  zsh   h5dnn completion zsh > ~/.zfunc/_h5dnn, with fpath+=~/.zfunc before compinit\n" +
			"  fish  h5dnn completion fish > ~/.config/fish/completions/h5dnn.fish\n" +
			"  man   h5dnn completion man > ~/.local/share/man/man1/h5dnn.1",
		Action: func(c *cli.Context) error {
			args, err := arguments(c, "bash, zsh, fish or man")
			if err != nil {
				return err
			}
			write, ok := shells[args[0]]
			if !ok {
				return fmt.Errorf("no completion for %q%s; known are bash, zsh, fish and man", args[0], spell.Hint(args[0], []string{"bash", "zsh", "fish", "man"}))
			}
			return buffered(c.App.Writer, func(w io.Writer) error { return write(w, c.App) })
		},
	}
}

// flagNames lists the flags of a command as they are typed.
func flagNames(command *cli.Command) []string {
	var names []string
	for _, flag := range command.Flags {
		for _, name := range flag.Names() {
			names = append(names, dashed(name))
		}
	}
	return append(names, "--help")
}

// dashed returns a flag as it is written.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func bashCompletion(w io.Writer, app *cli.App) error {
	fmt.Fprintf(w, `# bash completion of h5dnn
_h5dnn() {
	local word=${COMP_WORDS[COMP_CWORD]} flags=
	if [ "$COMP_CWORD" = 1 ]; then
		COMPREPLY=($(compgen -W %q -- "$word"))
		return
	fi
	case ${COMP_WORDS[1]} in
`, strings.Join(commandNames(app), " "))
	for _, command := range app.Commands {
		fmt.Fprintf(w, "\t%s) flags=%q ;;\n", command.Name, strings.Join(flagNames(command), " "))
	}
	_, err := io.WriteString(w, `	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
	*) COMPREPLY=() ;;
	esac
}
complete -o bashdefault -o default -F _h5dnn h5dnn
`)
	return err
}

func zshCompletion(w io.Writer, app *cli.App) error {
	fmt.Fprint(w, "#compdef h5dnn\n_h5dnn() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(\n")
	for _, command := range app.Commands {
		fmt.Fprintf(w, "\t\t\t%s\n", quotedForShell(command.Name+":"+command.Usage))
	}
	fmt.Fprint(w, "\t\t)\n\t\t_describe command commands\n\t\treturn\n\tfi\n\tif [[ $words[CURRENT] != -* ]]; then\n\t\t_files\n\t\treturn\n\tfi\n\tcase $words[2] in\n")
	for _, command := range app.Commands {
		fmt.Fprintf(w, "\t%s) compadd -- %s ;;\n", command.Name, strings.Join(flagNames(command), " "))
	}
	_, err := io.WriteString(w, "\tesac\n}\nif [ \"$funcstack[1]\" = _h5dnn ]; then\n\t_h5dnn \"$@\"\nelse\n\tcompdef _h5dnn h5dnn\nfi\n")
	return err
}

func fishCompletion(w io.Writer, app *cli.App) error {
	fmt.Fprintln(w, "# fish completion of h5dnn")
	for _, command := range app.Commands {
		fmt.Fprintf(w, "complete -c h5dnn -f -n __fish_use_subcommand -a %s -d %s\n", command.Name, quotedForShell(command.Usage))
		for _, flag := range command.Flags {
			documented := flag.(cli.DocGenerationFlag)
			for _, name := range flag.Names() {
				option := "-l " + name
				if len(name) == 1 {
					option = "-s " + name
				}
				if documented.TakesValue() {
					option += " -r"
				}
				fmt.Fprintf(w, "complete -c h5dnn -n '__fish_seen_subcommand_from %s' %s -d %s\n",
					command.Name, option, quotedForShell(strings.ReplaceAll(documented.GetUsage(), "`", "")))
			}
		}
	}
	return nil
}

// quotedForShell returns s between single quotes.
func quotedForShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// manPage writes a page in roff with what --help prints of each command.
func manPage(w io.Writer, app *cli.App) error {
	fmt.Fprintf(w, ".TH H5DNN 1 \"\" \"h5dnn %s\"\n.SH NAME\nh5dnn \\- %s\n.SH SYNOPSIS\n.B h5dnn\n.I COMMAND\n[OPTIONS] [ARGUMENTS]\n", roff(app.Version), roff(app.Usage))
	if app.Description != "" {
		fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n", roff(app.Description))
	}
	fmt.Fprintln(w, ".SH COMMANDS")
	for _, command := range app.Commands {
		fmt.Fprintf(w, ".SS %s\n%s\n", roff(strings.TrimSpace(command.Name+" "+command.ArgsUsage)), roff(command.Usage))
		if command.Description != "" {
			fmt.Fprintf(w, ".PP\n.nf\n%s\n.fi\n", roff(command.Description))
		}
		for _, flag := range command.Flags {
			names, usage, _ := strings.Cut(flag.String(), "\t")
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(names), roff(usage))
		}
	}
	_, err := io.WriteString(w, ".SH EXIT STATUS\n0 for success, 1 for a negative answer such as a failed verify, 2 for an error, and 130 after an interrupt.\n")
	return err
}

// roff returns text for a man page: backslashes, hyphens, and dots and quotes at the start of a line have a meaning there.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace("\n" + text)
	return text[1:]
}
