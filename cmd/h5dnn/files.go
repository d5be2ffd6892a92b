package main

import (
	"cmp"
	"context"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
)

// newFiles returns files that a command opens by name, and closes together. They have the format
// of --from, or else the one that data was configured with.
func newFiles(ctx context.Context, format string) datafiles.Files {
	ctx = context.WithValue(ctx, fromKey{}, cmp.Or(formatFrom(ctx), format))
	return datafiles.New(func(name string) (inspect.File, error) { return open(ctx, name) })
}
