package keras

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// saveArchive writes a .keras. The weights go through a temporary file, as HDF5 files
// cannot be written in order.
func saveArchive(name string, c serialize.Contents) error {
	s, err := newSaving(c)
	if err != nil {
		return err
	}
	if s.model == nil {
		return fmt.Errorf("a .keras has the configuration of its model: the metadata must have %s: %w", MetaConfig, storage.ErrState)
	}
	if s.isOld() {
		s.addLearningRate()
	}
	if err := atomicfile.CheckSpace(name, 2*min(s.bytes(), math.MaxInt64/2)); err != nil { // the weights are a file before they are part of one
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(name), ".h5dnn-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	weights := filepath.Join(folder, weightsMember)
	if err := s.saveWeights(weights); err != nil {
		return err
	}
	config, err := archiveConfig(s.meta[MetaConfig], s.meta[MetaTraining], s.version())
	if err != nil {
		return err
	}
	return atomicfile.Write(name, func(f *atomicfile.File) error {
		return writeArchive(f, cmp.Or(s.version(), currentVersion), s.meta[MetaSaved], config, weights)
	})
}

// addLearningRate adds the learning rate to the state of an optimizer of Keras 2, where it is not
// among the variables, as Keras 3 skips the state of one that has another number of them.
func (s *saving) addLearningRate() {
	const iteration, name = optimizerPrefix + "iteration", optimizerPrefix + "learning_rate"
	o := (&File{List: serialize.NewList(0, s.meta, func() error { return nil })}).compiledOptimizer()
	if o == nil || !s.isEntry(iteration) || s.isEntry(name) {
		return
	}
	if rate, ok := o.Config["learning_rate"].(float64); ok {
		s.entries[name] = serialize.Entry{Name: name, Array: storage.From([]float32{float32(rate)})}
		s.order = slices.Insert(s.order, slices.Index(s.order, iteration)+1, name)
	}
}

func writeArchive(w io.Writer, version, saved string, config []byte, weights string) error {
	about := map[string]string{"keras_version": version, "date_saved": saved}
	if about["date_saved"] == "" {
		about["date_saved"] = time.Now().Format("2006-01-02@15:04:05")
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	z := zip.NewWriter(w)
	for _, m := range []struct {
		name string
		text []byte
	}{{metadataMember, text}, {configMember, config}} {
		f, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := f.Write(m.text); err != nil {
			return err
		}
	}
	f, err := z.CreateHeader(&zip.FileHeader{Name: weightsMember, Method: zip.Store})
	if err != nil {
		return err
	}
	in, err := os.Open(weights)
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := io.Copy(f, in); err != nil {
		return err
	}
	return errors.Join(z.Close())
}
