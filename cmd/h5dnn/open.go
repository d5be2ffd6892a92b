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
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/train"
)

// open opens a file in whichever format it is, by what it holds.
func open(name string, options ...hdf5.Options) (container, error) {
	if err := isFile(name); err != nil {
		return nil, err
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

// isFile returns an error if there is no file of that name, with the name that may have been meant.
func isFile(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file%s", name, spell.Hint(name, neighbours(name)))
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder; name a file in it", name)
	}
	return err
}

// resume returns the run of a file, on a device.
func resume(name string, device storage.Device) (*train.Run, error) {
	if err := isFile(name); err != nil {
		return nil, err
	}
	return train.Resume(name, device)
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
