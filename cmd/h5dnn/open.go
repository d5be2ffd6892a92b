package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage"
)

// open opens a file. Its format is found by content.
func open(ctx context.Context, name string, options ...serialize.Options) (inspect.File, error) {
	if err := isFile(name); err != nil {
		return nil, err
	}
	o := serialize.Options{Budget: budgetOf(ctx), Context: ctx}
	for _, other := range options {
		o.Follow = other.Follow
	}
	file, err := inspect.Open(name, o)
	if err == nil {
		addInput(ctx, name, linkedBy(file))
	}
	return file, err
}

// isFile returns an error, with a suggestion, if name is not a file.
func isFile(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file%s", name, spell.Hint(name, neighbours(name)))
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; name a file in it", name)
	case err == nil && !info.Mode().IsRegular():
		_, err = storage.OpenFile(name)
		return err
	}
	return err
}

// followFlag allows external links, external data and virtual datasets.
var followFlag = &cli.StringFlag{Name: "follow", Usage: "open files in `FOLDER` that this one refers to; by default none"}

// openAsked opens a file with the options in the command's flags.
func openAsked(c *cli.Context, name string) (inspect.File, error) {
	return open(c.Context, name, serialize.Options{Follow: c.String(followFlag.Name)})
}

// neighbours lists the other files in the folder of name.
func neighbours(name string) []string {
	folder := filepath.Dir(name)
	files, _ := os.ReadDir(folder) // without them there is nothing to suggest
	var names []string
	for _, file := range files {
		if neighbour := filepath.Join(folder, file.Name()); !file.IsDir() && neighbour != name {
			names = append(names, neighbour)
		}
	}
	return names
}

func fileSize(name string) int {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return int(info.Size())
}
