package main

import (
	"cmp"
	"runtime/debug"
	"strings"
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
		previewCommand(),
		evalCommand(),
		predictCommand(),
		generateCommand(),
		runsCommand(),
		reportCommand(),
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
	"init": true, "train": true, "preview": true, "eval": true, "predict": true, "generate": true, "doctor": true,
}

// release is the version of the package that the program is built for, such as v1.2.0, which the linker sets; else "".
var release string

// version returns the version of the package or of the module, or devel, and the commit of the build, if it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	return versionText(cmp.Or(release, info.Main.Version), setting["vcs.revision"], setting["vcs.modified"] == "true")
}

// versionText returns a version with the commit that it was built from.
func versionText(version, commit string, modified bool) string {
	if version == "" || version == "(devel)" || strings.HasPrefix(version, "v0.0.0-") { // of a commit
		version = "devel"
	}
	if commit == "" {
		return version
	}
	if commit = commit[:min(12, len(commit))]; modified {
		commit += ", modified"
	}
	return version + " (commit " + commit + ")"
}

// plain reports whether r is safe to print on a terminal: visible, and neither
// moving the cursor nor changing the direction of text.
func plain(r rune) bool {
	return unicode.IsPrint(r) && r != unicode.ReplacementChar
}
