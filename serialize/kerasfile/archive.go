package kerasfile

import (
	"archive/zip"
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
	z, err := zip.NewReader(r, size)
	if err != nil || member(z, configMember) == nil || member(z, metadataMember) == nil {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

func member(z *zip.Reader, name string) *zip.File {
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return z.File[i]
}

func openArchive(in serialize.Input) (serialize.File, error) {
	if matchConfig(in, in.Size) {
		return openFolder(in)
	}
	z, err := zip.NewReader(in, in.Size)
	if err != nil {
		return nil, err
	}
	if err := checkMembers(z, in.Size); err != nil {
		return nil, err
	}
	meta, err := archiveMeta(z)
	if err != nil {
		return nil, err
	}
	h5, err := openMember(in, member(z, weightsMember))
	if err != nil {
		return nil, err
	}
	f, err := modelFile(meta, h5, func() error { return errors.Join(h5.Close(), in.Close()) })
	if err != nil {
		h5.Close()
		return nil, err
	}
	f.members, f.checkArchive = z.File, func() error { return ziparchive.Check(in, in.Size) }
	return f, nil
}

// HasChecksums reports whether the file is an archive.
func (f *File) HasChecksums() bool { return len(f.members) > 0 }

// Verify implements serialize.Verifier: it compares the checksums of the members of an
// archive, and reads every array. Other files of Keras have checksums only where HDF5 has.
func (f *File) Verify(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if f.checkArchive != nil {
			if err := f.checkArchive(); err != nil && !yield("", err) {
				return
			}
		}
		for _, m := range f.members {
			if err := verifyMember(ctx, m); err != nil && !yield("", err) {
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

// verifyMember reads a member to its end, where its checksum is compared.
func verifyMember(ctx context.Context, f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer r.Close()
	buffer := make([]byte, 1<<20)
	for err == nil {
		if err = ctx.Err(); err == nil {
			_, err = r.Read(buffer)
		}
	}
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return fmt.Errorf("%s: %w", f.Name, serialize.ErrChecksum)
	case err != io.EOF:
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// checkMembers refuses what Keras does not write: names that lead out of a folder,
// compressed or encrypted members, and several of one name.
func checkMembers(z *zip.Reader, size int64) error {
	seen := map[string]bool{}
	for _, f := range z.File {
		switch {
		case !filepath.IsLocal(f.Name):
			return fmt.Errorf("the archive has the member %q, which leads out of it: %w", f.Name, storage.ErrState)
		case seen[f.Name]:
			return fmt.Errorf("the archive has the member %s twice: %w", f.Name, storage.ErrState)
		case f.Flags&1 != 0:
			return fmt.Errorf("%s is encrypted: %w", f.Name, storage.ErrState)
		case f.Method != zip.Store:
			return fmt.Errorf("%s is compressed, which Keras does not do; store it without compression: %w", f.Name, storage.ErrState)
		case f.UncompressedSize64 != f.CompressedSize64 || f.UncompressedSize64 > uint64(size):
			return fmt.Errorf("%s declares %d bytes, of %d in the archive: %w", f.Name, f.UncompressedSize64, f.CompressedSize64, storage.ErrState)
		}
		seen[f.Name] = true
	}
	for _, name := range []string{configMember, metadataMember, weightsMember} {
		if !seen[name] {
			hint := ""
			if seen["model.weights.npz"] {
				hint = "; weights in model.weights.npz are pickled Python objects, which are not read"
			}
			return fmt.Errorf("the archive has no %s%s: %w", name, hint, storage.ErrState)
		}
	}
	return nil
}

// archiveMeta returns the metadata of an archive.
func archiveMeta(z *zip.Reader) (map[string]string, error) {
	config, err := readMember(member(z, configMember))
	if err != nil {
		return nil, err
	}
	about, err := readMember(member(z, metadataMember))
	if err != nil {
		return nil, err
	}
	return metaFrom(config, about)
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

func readMember(f *zip.File) ([]byte, error) {
	if f.UncompressedSize64 > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read: %w", f.Name, f.UncompressedSize64, maxJSON, storage.ErrState)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return text, nil
}

// openMember opens an HDF5 file where it is in an archive.
func openMember(in serialize.Input, f *zip.File) (*hdf5.File, error) {
	at, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	size := int64(f.UncompressedSize64)
	if at < 0 || at > in.Size || size > in.Size-at {
		return nil, fmt.Errorf("%s: %d bytes at %d of %d: %w", f.Name, size, at, in.Size, storage.ErrState)
	}
	return hdf5.NewReader(io.NewSectionReader(in, at, size), size, hdf5.Options{Name: in.Name, Budget: in.Budget, Context: in.Context})
}
