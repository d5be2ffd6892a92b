package gguf

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// maxParts bounds the files of a model.
const maxParts = 10_000

// partName returns the name of a part of a model, as llama.cpp has it; parts count from 1.
func partName(model string, part, parts int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", model, part, parts)
}

// parts returns how many files a model has whose first one has this metadata, or 1.
func parts(meta map[string]string) (int, error) {
	if meta["split.count"] == "" || meta["split.no"] != "0" {
		return 1, nil
	}
	n, err := strconv.Atoi(meta["split.count"])
	if err != nil || n > maxParts {
		return 0, fmt.Errorf("split.count is %q; at most %d files are read: %w", meta["split.count"], maxParts, storage.ErrState)
	}
	return n, nil
}

// A model is the tensors of several files.
type model struct {
	*serialize.List
	files []serialize.File
}

// join returns the tensors of the first part of a model with those of the other parts, which are beside it. A
// part that cannot be read is an entry with its name and an error.
func join(in serialize.Input, first serialize.File, parts int) (serialize.File, error) {
	m := &model{files: []serialize.File{first}}
	m.List = serialize.NewList(0, first.Meta(), m.closeFiles)
	for e, err := range first.All() {
		m.AddMarkingDuplicates(e, err)
	}
	suffix := partName("", 1, parts)
	name, isPart := strings.CutSuffix(filepath.Base(in.Name), suffix)
	if !isPart {
		name = in.ArrayName()
	}
	folder := in.Follow
	if folder == "" {
		folder = in.Folder()
	}
	options := in.Options
	options.Format, options.Follow = "gguf", ""
	for part := 2; part <= parts; part++ {
		file := partName(name, part, parts)
		if err := m.add(in, folder, file, options); err != nil {
			m.AddMarkingDuplicates(serialize.Entry{Name: file}, fmt.Errorf("part %d of %d of the model: %w", part, parts, err))
		}
	}
	return m, nil
}

// add adds the tensors of a part.
func (m *model) add(in serialize.Input, folder, name string, options serialize.Options) error {
	if folder == "" {
		return fmt.Errorf("this is not a file in a folder; Options.Follow names the folder of the others: %w", storage.ErrState)
	}
	f, err := serialize.Open(storage.InFolder(folder, name), options)
	if err != nil {
		return err
	}
	in.NoteOpened(storage.InFolder(folder, name))
	m.files = append(m.files, f)
	for e, err := range f.All() {
		m.AddMarkingDuplicates(e, err)
	}
	return nil
}

func (m *model) closeFiles() error {
	var errs []error
	for _, f := range m.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
