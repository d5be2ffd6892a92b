package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/serialize/sharded"
)

func mergeCommand() *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "join the shards of a checkpoint into one file",
		ArgsUsage: "IN" + sharded.Extension + " OUT",
		Description: "Reads the files that the index names, from its folder or that of --follow, and writes one.\n" +
			"The shards are unchanged. OUT may be - for standard output, with --format.",
		Flags: copyFlags(),
		Action: func(c *cli.Context) error {
			return arrayCopy{done: func(arrays, bytes int, out string) string {
				return fmt.Sprintf("%s written to %s, %s", plural(arrays, "array"), out, arrayfmt.Bytes(bytes))
			}}.run(c)
		},
	}
}
