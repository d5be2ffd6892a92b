package kerasfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A tree is the objects of an HDF5 file that Keras wrote, or of the shards of one, by their paths. It has
// no objects but groups and datasets.
type tree struct {
	objects map[string]*hdf5.Object
	members map[string][]string   // names in groups, numbers in order
	shards  map[*hdf5.File]string // that begin the names of stored elements, if there are several
}

// maxObjects bounds the groups and datasets of a file.
const maxObjects = 1 << 21

func newTree() *tree {
	return &tree{objects: map[string]*hdf5.Object{}, members: map[string][]string{}, shards: map[*hdf5.File]string{}}
}

// treeOf lists the objects of a file.
func treeOf(f *hdf5.File) (*tree, error) {
	t := newTree()
	return t, t.add(f)
}

// add adds the objects of a file. Links, and elements in other files, are refused: Keras
// writes none, and they would show arrays of files that nobody named.
func (t *tree) add(f *hdf5.File) error {
	for o, err := range f.Walk() {
		if err != nil {
			return err
		}
		if o.Kind != hdf5.KindGroup && o.Kind != hdf5.KindDataset {
			return fmt.Errorf("%s is a link or object of kind %s, which Keras does not write; name the format hdf5 to read the file all the same: %w", o.Path, o.Kind, storage.ErrState)
		}
		if len(t.objects) == maxObjects {
			return fmt.Errorf("more than %d groups and datasets: %w", maxObjects, storage.ErrState)
		}
		if t.objects[o.Path] != nil { // a group of several shards
			continue
		}
		t.objects[o.Path] = o
		if at := strings.LastIndexByte(o.Path, '/'); o.Path != "/" {
			parent := o.Path[:max(1, at)]
			t.members[parent] = append(t.members[parent], o.Path[at+1:])
		}
	}
	return nil
}

// join returns the path of a member of a group. HDF5 takes several slashes for one and ignores
// those at the end, which names of layers may have.
func join(group, name string) string {
	return strings.TrimSuffix(group, "/") + "/" + strings.TrimRight(strings.ReplaceAll(name, "//", "/"), "/")
}

// isDataset reports whether there is a dataset at path.
func (t *tree) isDataset(path string) bool {
	o := t.objects[path]
	return o != nil && o.Kind == hdf5.KindDataset
}

// isGroup reports whether there is a group at path.
func (t *tree) isGroup(path string) bool {
	o := t.objects[path]
	return o != nil && o.Kind == hdf5.KindGroup
}

// datasets lists the paths of the datasets below a group, in the order of the file. Groups of
// an attention that have the names of Keras 2 beside those of Keras 3 are left out.
func (t *tree) datasets(group string) (list []string) {
	for _, name := range t.members[group] {
		if public, ok := strings.CutPrefix(name, "_"); ok && strings.HasSuffix(public, "_dense") && slices.Contains(t.members[group], public) {
			continue
		}
		path := join(group, name)
		if t.isDataset(path) {
			list = append(list, path)
		} else {
			list = append(list, t.datasets(path)...)
		}
	}
	return list
}

// text returns an attribute that is one string, or "" if it is missing.
func (t *tree) text(path, name string) (string, error) {
	list, err := t.strings(path, name)
	if err != nil {
		return "", err
	}
	if len(list) > 1 {
		return "", fmt.Errorf("%s: attribute %s holds %d strings; want one: %w", path, name, len(list), storage.ErrState)
	}
	return strings.Join(list, ""), nil
}

// strings returns the strings of an attribute, or nil if it is missing.
func (t *tree) strings(path, name string) ([]string, error) {
	o := t.objects[path]
	if o == nil {
		return nil, nil
	}
	attrs, err := o.Attributes()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(attrs, func(a hdf5.Attribute) bool { return a.Name == name })
	if i < 0 {
		return nil, nil
	}
	return stringsOf(attrs[i])
}

// stringsOf returns the strings of an attribute. An empty list has the type float64 in
// files of h5py.
func stringsOf(a hdf5.Attribute) ([]string, error) {
	if len(a.Shape) == 1 && a.Shape[0] == 0 {
		return []string{}, nil
	}
	list, err := a.Strings()
	if err != nil {
		return nil, fmt.Errorf("attribute %s: %w", a.Name, err)
	}
	return list, nil
}

// maxNames bounds the strings of a list of layers or weights.
const maxNames = 1 << 20

// names returns an attribute that is a list of strings, nil if it is missing. A list that
// did not fit into the header of the object is in several attributes, NAME0, NAME1, ….
func (t *tree) names(path, name string) ([]string, error) {
	list, err := t.strings(path, name)
	if list != nil || err != nil {
		return list, err
	}
	for k := 0; ; k++ {
		part, err := t.strings(path, name+strconv.Itoa(k))
		if err != nil || part == nil {
			return list, err
		}
		if list = append(list, part...); len(list) > maxNames {
			return nil, fmt.Errorf("%s: attribute %s: more than %d names: %w", path, name, maxNames, storage.ErrState)
		}
	}
}

// A dataset that declares more than maxSparse bytes, and more than maxRatio times what is
// stored, is refused, as Keras does since CVE-2026-0897.
const maxSparse, maxRatio = 4 << 30, 1000

// entry returns the dataset at path under another name.
func (t *tree) entry(path, name string) (serialize.Entry, error) {
	e := serialize.Entry{Name: name}
	o := t.objects[path]
	if !t.isDataset(path) {
		return e, fmt.Errorf("there is no dataset %s: %w", path, storage.ErrState)
	}
	d, err := o.Dataset()
	if err != nil {
		return e, err
	}
	if len(d.External) > 0 || d.Layout == "virtual" {
		return e, fmt.Errorf("%s has its elements in other files, which Keras does not write: %w", path, storage.ErrState)
	}
	if err := checkSize(d); err != nil {
		return e, err
	}
	if address, ok := d.Address(); ok {
		e.Shared = t.shards[o.File()] + strconv.FormatUint(address, 16)
	}
	if e.Array, err = d.Array(); err != nil && d.Type.Class == hdf5.ClassOpaque {
		e.Array, err = opaque(d)
	}
	return e, err
}

func checkSize(d *hdf5.Dataset) error {
	n, err := d.Len()
	if err != nil {
		return err
	}
	stored, err := d.StoredSize()
	if err != nil {
		return err
	}
	if size := n * max(1, d.Type.Size); size > maxSparse && size/maxRatio > stored {
		return fmt.Errorf("%s declares %d bytes of elements and stores %d: %w", d.Path, size, stored, storage.ErrState)
	}
	return nil
}

// opaque returns the numbers of a type that h5py does not know. Keras stores their bytes
// and names the type in an attribute, except in an .h5 and in Keras 2. Two bytes without a name are
// bfloat16: h5py knows the other types of that size. Keras does not load such files itself.
func opaque(d *hdf5.Dataset) (storage.Array, error) {
	name := ""
	if a, err := d.Attribute("dtype"); err == nil {
		if list, err := a.Strings(); err == nil && len(list) == 1 {
			name = list[0]
		}
	}
	if name != "bfloat16" && name != "" || d.Type.Size != 2 {
		return storage.Array{}, fmt.Errorf("%s: elements are %d bytes of the type %q, which is not read: %w", d.Path, d.Type.Size, name, dtype.ErrType)
	}
	return storage.Array{Data: rawSource{d}, Type: dtype.BFloat16, View: d.View()}, nil
}

// A rawSource is a Source of elements as they are stored.
type rawSource struct{ d *hdf5.Dataset }

func (s rawSource) Len() int               { return s.d.View().Len() * s.d.Type.Size }
func (s rawSource) Device() storage.Device { return storage.File(s.d.File().Name()) }

func (s rawSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t.Size() != s.d.Type.Size {
		return fmt.Errorf("%s: elements of %v; want %d bytes: %w", s.d.Path, t, s.d.Type.Size, dtype.ErrType)
	}
	return s.d.ReadRaw(dst, v)
}
