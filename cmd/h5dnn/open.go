package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/spell"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// open opens a file in whichever format it is, by what it holds.
func open(name string, options ...hdf5.Options) (container, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file%s", name, spell.Hint(name, neighbours(name)))
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; name a file in it", name)
	}
	format, err := formatOf(name)
	if err != nil {
		return nil, err
	}
	if format == "" || format == "hdf5" {
		f, err := hdf5.Open(name, options...)
		if err != nil {
			return nil, err
		}
		return hdf5File{f}, nil
	}
	f, err := serialize.Open(name)
	if err != nil {
		return nil, err
	}
	return &arrays{f, name, format}, nil
}

// followFlag lets a file refer to others.
var followFlag = &cli.StringFlag{Name: "follow", Usage: "open files in `FOLDER` where this one refers to them; none by default"}

// openAsked opens a file as the command's flags say.
func openAsked(c *cli.Context, name string) (container, error) {
	return open(name, hdf5.Options{Follow: c.String(followFlag.Name)})
}

// neighbours lists the files that lie where the named one would.
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

// formatOf returns the registered format that recognizes a file; "" if none does.
func formatOf(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for _, format := range serialize.Formats() {
		if f, err := serialize.ByName(format); err == nil && f.Match(file) {
			return format, nil
		}
	}
	return "", nil
}

func fileSize(name string) int {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return int(info.Size())
}
