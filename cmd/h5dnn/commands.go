package main

import (
	"runtime/debug"
	"unicode"

	"github.com/urfave/cli/v2"
)

// commands lists what h5dnn can do, in the order in which --help shows it.
func commands() []*cli.Command {
	return []*cli.Command{
		inspectCommand(),
		sliceCommand(),
		convertCommand(),
		verifyCommand(),
		repackCommand(),
		importCommand(),
		trainCommand(),
		evalCommand(),
		predictCommand(),
		doctorCommand(),
		devicesCommand(),
	}
}

// version is what the build knows of where it came from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && version == "(devel)" {
			version = setting.Value[:min(12, len(setting.Value))]
		}
	}
	return version
}

// plain reports whether r is safe to send to a terminal: a character that is
// seen, and neither moves the cursor nor turns the text around.
func plain(r rune) bool {
	return unicode.IsPrint(r) && r != unicode.ReplacementChar
}
