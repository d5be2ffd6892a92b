package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/storage/remote"
)

const remoteCacheName = "remote-cache"

// remoteCacheFlag names the folder that keeps what is read of URLs.
func remoteCacheFlag() cli.Flag {
	return &cli.StringFlag{Name: remoteCacheName, Usage: "keep what is read of files at URLs in `FOLDER`, for the next command"}
}

// reportRemote prints what the files at URLs have cost a command, if it opened any.
func reportRemote(stderr io.Writer, name string) {
	client := remote.Default()
	client.Close()
	s := client.Stats()
	if s.Bytes == 0 {
		return
	}
	parts := []string{fmt.Sprintf("%s of %s read in %s", arrayfmt.Bytes(int(s.Bytes)), arrayfmt.Bytes(int(s.Size)), plural(int(s.Requests), "request"))}
	if s.Repeated > 0 {
		parts = append(parts, plural(int(s.Repeated), "request")+" repeated after failures")
	}
	if s.Reused > 0 {
		parts = append(parts, arrayfmt.Bytes(int(s.Reused))+" reused from --"+remoteCacheName)
	}
	if s.Fault != nil {
		parts = append(parts, fmt.Sprintf("--%s is not used: %v", remoteCacheName, s.Fault))
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, printable(strings.Join(parts, ", ")))
}
