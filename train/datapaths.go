package train

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/storage"
)

// A dataPath is where a data file of a run is.
type dataPath struct {
	Relative string `json:"relative"` // to the folder of the run file
	Absolute string `json:"absolute"`
}

// dataNames lists the names of data files in c, which may be changed.
func dataNames(c *dataconfig.Config) (all []*string) {
	for _, names := range []dataconfig.Names{c.File, c.YFile, c.ValFile, c.ValYFile} {
		for i := range names {
			all = append(all, &names[i])
		}
	}
	return all
}

// dataPaths returns where the data files of c are, for the named run file.
func dataPaths(c dataconfig.Config, run string) (string, error) {
	folder, err := filepath.Abs(filepath.Dir(run))
	if err != nil {
		return "", err
	}
	paths := map[string]dataPath{}
	for _, name := range dataNames(&c) {
		if storage.IsURL(*name) {
			continue
		}
		absolute, err := filepath.Abs(*name)
		if err != nil {
			return "", err
		}
		relative, err := filepath.Rel(folder, absolute)
		if err != nil {
			relative = "" // such as on another drive
		}
		paths[*name] = dataPath{relative, absolute}
	}
	text, err := json.Marshal(paths)
	return string(text), err
}

// findData replaces the names of data files in c, which the named run file holds with
// their paths, by the first that exists: relative to the run file, absolute, as given.
func findData(c *Config, run, text string) error {
	if text == "" {
		return nil // of an older version
	}
	var paths map[string]dataPath
	if err := json.Unmarshal([]byte(text), &paths); err != nil {
		return fmt.Errorf("%s: %w", metaPaths, err)
	}
	c.absolute = map[string]string{}
	for _, name := range dataNames(&c.Data) {
		if p, ok := paths[*name]; ok {
			*name = p.choose(run, *name)
			c.absolute[*name] = p.Absolute
		}
	}
	return nil
}

// choose returns the path that exists, or the one relative to the run file.
func (p dataPath) choose(run, given string) string {
	near := given
	if p.Relative != "" {
		near = filepath.Join(filepath.Dir(run), p.Relative)
	}
	switch {
	case matchesFile(near):
		return near
	case matchesFile(p.Absolute):
		return p.Absolute
	case matchesFile(given):
		return given
	}
	return near
}

// matchesFile reports whether name is a file, or a pattern of files.
func matchesFile(name string) bool {
	switch {
	case name == "":
		return false
	case storage.IsURL(name): // opening it finds out
		return true
	}
	if _, err := os.Stat(name); err == nil {
		return true
	}
	if !strings.ContainsAny(name, "*?[") {
		return false
	}
	found, err := filepath.Glob(name)
	return err == nil && len(found) > 0
}

// CheckData returns an error if c, the configuration of the named run file, names a data
// file that does not exist.
func CheckData(c Config, run string) error {
	for _, name := range dataNames(&c.Data) {
		if matchesFile(*name) {
			continue
		}
		if absolute := c.absolute[*name]; absolute != "" {
			return fmt.Errorf("%s: no such file; %s names it, relative to itself, and it is not at %s either: %w", *name, run, absolute, ErrMoved)
		}
		return fmt.Errorf("%s: no such file; %s names it, relative to the folder in which training began: %w", *name, run, ErrMoved)
	}
	return nil
}
