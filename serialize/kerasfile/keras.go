// Package kerasfile reads and writes the files in which Keras saves models:
//
//	keras          .keras, of Keras 3: a zip archive of config.json and an HDF5 file, or a
//	               folder of them
//	keras-weights  .weights.h5, and its shards with their index .weights.json
//	keras-h5       .h5 of Keras 1, 2 and 3, whole models and weights only
//
// Arrays are named by layer and variable, dense_1/kernel, whatever the file calls them;
// those of a model within a model by its path, resnet50/conv1/kernel, and the
// optimizer's under optimizer. They come in the order of the layers. The metadata are
// model_config, training_config, keras_version and backend as they are in the file.
//
// Nothing in a file is executed and no other file is opened, but for the shards that an
// index names beside it, and the files of a model's folder.
package kerasfile

import (
	"io"
	"maps"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/hdf5probe"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// The names of the metadata.
const (
	MetaConfig   = "model_config"
	MetaTraining = "training_config"
	MetaVersion  = "keras_version"
	MetaBackend  = "backend"
	MetaSaved    = "date_saved" // of .keras
)

func init() {
	serialize.Register(serialize.Format{
		Name: "keras", Extensions: []string{".keras"}, Folder: configMember,
		Meta: true, FitsMeta: fitsMeta, Match: matchArchive, Open: openArchive, SaveFile: saveArchive,
	})
	serialize.Register(serialize.Format{
		Name: "keras-weights", Extensions: []string{".weights.h5", IndexExtension},
		Meta: true, FitsMeta: fitsMeta, Match: matchWeights, Open: openWeights, SaveFile: saveWeights,
	})
	serialize.Register(serialize.Format{
		Name: "keras-h5", Extensions: []string{".keras.h5"},
		Meta: true, FitsMeta: fitsMeta, Match: matchLegacy, Open: openLegacy, SaveFile: saveLegacy,
	})
}

// A File is an open file of Keras.
type File struct {
	*serialize.List
	h5    *hdf5.File
	model *keras.Model
	tree  *tree // of the HDF5 file, or of its shards
	close func() error

	unknownState bool // the variables of the optimizer have the names of the file

	archive serialize.Input
	members []ziparchive.Record // of the archive; nil for other files
}

// Describe is SetModel for the model that metadata of another file describe. Metadata that f
// lacks are taken over, as its training_config names the state of the optimizer.
func (f *File) Describe(meta map[string]string) error {
	m, err := parse(meta[MetaConfig])
	if err != nil {
		return err
	}
	all := maps.Clone(meta)
	maps.Copy(all, f.Meta())
	return f.setModel(m, all)
}

// SetModel says what model the weights in f are of, where the file does not: the entries
// and the weights of m are named after its layers. Layers of the file that have other names,
// or none, are those of m in the same order, as Keras loads them.
func (f *File) SetModel(m *keras.Model) error { return f.setModel(m, f.Meta()) }

func (f *File) setModel(m *keras.Model, meta map[string]string) error {
	if m != nil {
		for _, l := range m.All() {
			l.Weights = nil
		}
	}
	set := &File{List: serialize.NewList(f.Len(), meta, f.close), model: m, tree: f.tree}
	var err error
	if f.tree.isLegacy() {
		err = legacyReader{tree: f.tree, file: set, root: f.tree.legacyRoot()}.list()
	} else {
		err = set.listWeights(true)
	}
	if err != nil {
		return err
	}
	set.fill(meta[MetaVersion])
	f.List, f.model = set.List, m
	return nil
}

// HDF5 returns the HDF5 file that f is, or nil if f is an archive or in shards.
func (f *File) HDF5() *hdf5.File { return f.h5 }

// Model returns the description of the model, with its weights, or nil if the file holds
// weights only.
func (f *File) Model() *keras.Model { return f.model }

// probe calls see with an HDF5 file if r is one. A user block is not looked for, as Keras
// writes none.
func probe(r io.ReaderAt, size int64, see func(root *hdf5.Object) bool) serialize.Confidence {
	const signature = "\x89HDF\r\n\x1a\n"
	var head [len(signature)]byte
	if n, _ := r.ReadAt(head[:], 0); n < len(head) || string(head[:]) != signature {
		return serialize.NoMatch
	}
	f, err := hdf5probe.Open(r, size)
	if err != nil {
		return serialize.NoMatch
	}
	root, err := f.Root()
	if err != nil || !see(root) {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// hasAttribute reports whether o has one of the named attributes.
func hasAttribute(o *hdf5.Object, names ...string) bool {
	attrs, _ := o.Attributes()
	for _, a := range attrs {
		for _, name := range names {
			if a.Name == name {
				return true
			}
		}
	}
	return false
}

// isGroup reports whether there is a group at path.
func isGroup(f *hdf5.File, path string) bool {
	o, err := f.Lookup(path)
	return err == nil && o.Kind == hdf5.KindGroup
}

// firstPart returns what is before the first slash, and the rest.
func firstPart(path string) (first, rest string) {
	first, rest, _ = strings.Cut(path, "/")
	return first, rest
}
