package kerasfile

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// saveArchive writes a .keras. The weights go through a temporary file, as HDF5 files
// cannot be written in order.
func saveArchive(name string, c serialize.Contents) error {
	s, err := newSaver(c)
	if err != nil {
		return err
	}
	if s.meta[MetaConfig] == "" {
		return fmt.Errorf("a .keras has the configuration of its model, which is missing (%s): convert makes one of a run, and of weights whose architecture it is given: %w", MetaConfig, storage.ErrState)
	}
	if s.isOld() && s.model != nil {
		s.completeState()
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

// completeState adds the variables that Keras 3 has more of than Keras 2 to the state of an
// optimizer, as Keras 3 skips the state of one that has another number of them.
func (s *saver) completeState() {
	missing, extra, ok := s.state().ForKeras3()
	if !ok || len(extra) > 0 {
		return
	}
	for _, t := range missing {
		s.entries[t.Name] = serialize.Entry{Name: t.Name, Array: t.Array}
		s.order = append(s.order, t.Name)
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
	return z.Close()
}
