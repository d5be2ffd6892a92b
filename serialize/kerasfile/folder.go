package kerasfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// Keras also saves the members of a .keras archive as files of a folder
// (model.save(FOLDER, zipped=False)). The folder is opened by its config.json.

// matchConfig reports whether r is the configuration of a model of Keras.
func matchConfig(r io.ReaderAt, size int64) bool {
	head := make([]byte, min(size, 1<<16))
	n, _ := r.ReadAt(head, 0)
	head = bytes.TrimSpace(head[:n])
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"class_name"`)) && bytes.Contains(head, []byte(`"config"`))
}

// openFolder opens the model that config.json is of, with the files beside it.
func openFolder(in serialize.Input) (serialize.File, error) {
	if in.File() == nil {
		return nil, fmt.Errorf("the configuration of a model in memory or in an archive: its weights are beside a file: %w", storage.ErrState)
	}
	config, err := readJSON(in, in.Size, configMember)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(in.Name)
	weights, about := filepath.Join(folder, weightsMember), filepath.Join(folder, metadataMember)
	h5, err := hdf5.Open(weights, hdf5.Options{Budget: in.Budget, Context: in.Context})
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("describes a model of Keras, and its weights, %s, are not beside it: %w", weightsMember, storage.ErrState)
	}
	if err != nil {
		return nil, err
	}
	f, err := folderFile(in, h5, config, about)
	if err != nil {
		h5.Close()
		return nil, err
	}
	for _, name := range []string{in.Name, weights, about} {
		in.NoteOpened(name)
	}
	return f, nil
}

func folderFile(in serialize.Input, h5 *hdf5.File, config []byte, metadata string) (*File, error) {
	about, err := storage.OpenFile(metadata)
	if err != nil {
		return nil, err
	}
	defer about.Close()
	info, err := about.Stat()
	if err != nil {
		return nil, err
	}
	text, err := readJSON(about, info.Size(), metadataMember)
	if err != nil {
		return nil, err
	}
	meta, err := metaFrom(config, text)
	if err != nil {
		return nil, err
	}
	return modelFile(meta, h5, func() error { return errors.Join(h5.Close(), in.Close()) })
}

// readJSON reads a file of JSON whole.
func readJSON(r io.ReaderAt, size int64, name string) ([]byte, error) {
	if size > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read: %w", name, size, maxJSON, storage.ErrState)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// parse returns the model of a configuration, or nil for one of a class of the user's own, whose
// weights have the names that they have in the file.
func parse(config string) (*keras.Model, error) {
	m, err := keras.Parse(config)
	if errors.Is(err, keras.ErrProgram) {
		return nil, nil
	}
	return m, err
}

// modelFile returns the file of a model whose description is among meta.
func modelFile(meta map[string]string, h5 *hdf5.File, close func() error) (*File, error) {
	f := newFile(meta, close)
	var err error
	if f.model, err = parse(meta[MetaConfig]); err != nil {
		return nil, err
	}
	if f.tree, err = treeOf(h5); err != nil {
		return nil, err
	}
	if err := f.listWeights(false); err != nil {
		return nil, err
	}
	f.fill(meta[MetaVersion])
	return f, nil
}
