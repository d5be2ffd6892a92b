package main

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version and the commit of h5dnn, and the version of Go",
		Action: func(c *cli.Context) error {
			if _, err := arguments(c); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.App.Writer, "h5dnn %s %s %s/%s\n", c.App.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
