package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// What may be left: that many files of that many bytes.
const (
	mostFiles = 8
	mostBytes = 16<<20 - 1<<10
)

// outputs are the files of results.
type outputs struct {
	folder string
	count  int
}

// An output is a file of results, written as they come, and cut at mostBytes.
type output struct {
	file    *os.File
	written int
	cut     bool
	echo    io.Writer // also gets what is written, unless nil
}

func (o *outputs) create(name string) (*output, error) {
	if o.count++; o.count > mostFiles {
		return nil, fmt.Errorf("%s would be file %d of results, %d are allowed", name, o.count, mostFiles)
	}
	f, err := os.Create(filepath.Join(o.folder, name))
	return &output{file: f}, err
}

func (o *output) Write(b []byte) (int, error) {
	if o.echo != nil {
		o.echo.Write(b)
	}
	n := len(b)
	if o.cut {
		return n, nil
	}
	if o.written+n > mostBytes {
		b, o.cut = append(b[:mostBytes-o.written:mostBytes-o.written], "\n(cut here)\n"...), true
	}
	o.written += len(b)
	_, err := o.file.Write(b)
	return n, err
}

func (o *output) printf(format string, args ...any) { fmt.Fprintf(o, format, args...) }
