package kerasfile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// The members of a .keras archive. They are stored without compression, so that the HDF5
// file is read where it is.
const (
	metadataMember = "metadata.json"
	configMember   = "config.json"
	weightsMember  = "model.weights.h5"
)

// maxJSON bounds the members that are read as a whole.
const maxJSON = 100 << 20

// matchArchive fits a zip archive whose first file is one of a .keras archive and that has
// a configuration, and the configuration in a folder.
func matchArchive(r io.ReaderAt, size int64) serialize.Confidence {
	if matchConfig(r, size) {
		return serialize.ContentMatch
	}
	if first, _ := ziparchive.FirstName(r); first != metadataMember && first != configMember && first != weightsMember {
		return serialize.NoMatch
	}
	members, _, err := ziparchive.Directory(r, size)
	has := func(name string) bool {
		return slices.ContainsFunc(members, func(m ziparchive.Record) bool { return m.Name == name })
	}
	if err != nil || !has(configMember) || !has(metadataMember) {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

func openArchive(in serialize.Input) (serialize.File, error) {
	if matchConfig(in, in.Size) {
		return openFolder(in)
	}
	list, _, err := ziparchive.Directory(in, in.Size)
	if err != nil {
		return nil, err
	}
	members, err := membersOf(in, list)
	if err != nil {
		return nil, err
	}
	config, err1 := readMember(in, members[configMember])
	about, err2 := readMember(in, members[metadataMember])
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	meta, err := metaFrom(config, about)
	if err != nil {
		return nil, err
	}
	weights := members[weightsMember]
	h5, err := hdf5.NewReader(io.NewSectionReader(in, weights.Data, weights.Size), weights.Size, hdf5.Options{Name: in.Name, Budget: in.Budget, Context: in.Context})
	if err != nil {
		return nil, err
	}
	f, err := modelFile(meta, h5, func() error { return errors.Join(h5.Close(), in.Close()) })
	if err != nil {
		h5.Close()
		return nil, err
	}
	f.archive, f.members = in, list
	return f, nil
}

// HasChecksums reports whether the file is an archive.
func (f *File) HasChecksums() bool { return len(f.members) > 0 }

// Verify implements serialize.Verifier: it compares the checksums of the members of an
// archive, and reads every array. Other files of Keras have checksums only where HDF5 has.
func (f *File) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if f.HasChecksums() {
			if err := ziparchive.Check(f.archive, f.archive.Size); err != nil && !yield("", err) {
				return
			}
		}
		for _, m := range f.members {
			if _, err := io.Copy(io.Discard, inContext{ctx, m.Open(f.archive)}); err != nil && !yield("", err) {
				return
			}
		}
		for name, err := range serialize.ReadAll(ctx, f) {
			if !yield(name, err) {
				return
			}
		}
	}
}

// inContext reads until a context ends.
type inContext struct {
	context.Context
	io.Reader
}

func (r inContext) Read(b []byte) (int, error) {
	if err := r.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// membersOf locates the members of an archive, and returns them by name. It refuses what Keras does not write: names that
// lead out of a folder, compressed members, and several of one name.
func membersOf(in serialize.Input, list []ziparchive.Record) (map[string]ziparchive.Record, error) {
	members := map[string]ziparchive.Record{}
	for i := range list {
		m := &list[i]
		_, again := members[m.Name]
		switch {
		case !filepath.IsLocal(m.Name):
			return nil, fmt.Errorf("the archive has the member %q, which leads out of it: %w", m.Name, storage.ErrState)
		case again:
			return nil, fmt.Errorf("the archive has the member %s twice: %w", m.Name, storage.ErrState)
		case m.Method != 0 || m.Size != m.Whole:
			return nil, fmt.Errorf("%s is compressed, which Keras does not do; store it without compression: %w", m.Name, storage.ErrState)
		}
		if err := m.Locate(in, in.Size); err != nil {
			return nil, err
		}
		members[m.Name] = *m
	}
	for _, name := range []string{configMember, metadataMember, weightsMember} {
		if _, ok := members[name]; !ok {
			hint := ""
			if _, ok := members["model.weights.npz"]; ok {
				hint = "; weights in model.weights.npz are pickled Python objects, which are not read"
			}
			return nil, fmt.Errorf("the archive has no %s%s: %w", name, hint, storage.ErrState)
		}
	}
	return members, nil
}

// metaFrom returns the metadata in config.json and metadata.json.
func metaFrom(config, about []byte) (map[string]string, error) {
	var version struct {
		Keras string `json:"keras_version"`
		Saved string `json:"date_saved"`
	}
	if err := json.Unmarshal(about, &version); err != nil {
		return nil, fmt.Errorf("%s: %w", metadataMember, err)
	}
	meta := map[string]string{MetaConfig: string(config), MetaVersion: version.Keras, MetaSaved: version.Saved}
	var compiled struct {
		Config json.RawMessage `json:"compile_config"`
	}
	if json.Unmarshal(config, &compiled) == nil && len(compiled.Config) > 0 && string(compiled.Config) != "null" {
		meta[MetaTraining] = string(compiled.Config)
	}
	for name, value := range meta {
		if value == "" {
			delete(meta, name)
		}
	}
	return meta, nil
}

func readMember(in serialize.Input, m ziparchive.Record) ([]byte, error) {
	if m.Size > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read: %w", m.Name, m.Size, maxJSON, storage.ErrState)
	}
	return io.ReadAll(m.Open(in))
}
