package main

import (
	"runtime/debug"
	"unicode"

	"github.com/urfave/cli/v2"
)

// commands lists the commands in the order of --help.
func commands() []*cli.Command {
	return []*cli.Command{
		inspectCommand(),
		sliceCommand(),
		convertCommand(),
		verifyCommand(),
		diffCommand(),
		repairCommand(),
		shardCommand(),
		mergeCommand(),
		stripCommand(),
		castCommand(),
		repackCommand(),
		importCommand(),
		trainCommand(),
		evalCommand(),
		predictCommand(),
		doctorCommand(),
		devicesCommand(),
		initCommand(),
		helpCommand(),
		completionCommand(),
		versionCommand(),
	}
}

// opensFiles are the commands that read files of unknown origin.
var opensFiles = map[string]bool{
	"inspect": true, "slice": true, "convert": true, "verify": true, "diff": true, "repair": true, "shard": true, "merge": true, "strip": true, "cast": true, "repack": true, "import": true,
	"init": true, "train": true, "eval": true, "predict": true, "doctor": true,
}

// version returns the module version or the VCS revision of the build.
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

// plain reports whether r is safe to print on a terminal: visible, and neither
// moving the cursor nor changing the direction of text.
func plain(r rune) bool {
	return unicode.IsPrint(r) && r != unicode.ReplacementChar
}
