package main

import (
	"context"
	"fmt"

	"github.com/h5dnn/h5dnn/dataset/datafiles"
	"github.com/h5dnn/h5dnn/inspect"
)

// newFiles returns files that a command opens by name, and closes together. They have the format
// of --from, or else the one that data was configured with.
func newFiles(ctx context.Context, configured string) datafiles.Files {
	if configured == "" || formatFrom(ctx) != "" {
		return datafiles.New(func(name string) (inspect.File, error) { return open(ctx, name) })
	}
	in := context.WithValue(ctx, fromKey{}, configured)
	return datafiles.New(func(name string) (inspect.File, error) {
		file, err := open(in, name)
		if err == nil {
			return file, nil
		}
		if other, detected := open(ctx, name); detected == nil {
			err = fmt.Errorf("%s: a file of format %s, and %s is configured; --from %s reads it", name, other.Format(), configured, other.Format())
			other.Close()
		}
		return nil, err
	})
}
