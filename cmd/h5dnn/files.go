package main

import (
	"context"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
)

// newFiles returns files that a command opens by name, and closes together.
func newFiles(ctx context.Context) datafiles.Files {
	return datafiles.New(func(name string) (inspect.File, error) { return open(ctx, name) })
}
