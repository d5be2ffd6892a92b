package torch

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
)

// metaStructure has the value of a file that is not merely a dict of plain tensors: a pickle in base64
// with references instead of arrays and texts, by which save makes the value again:
//
//	('array', name, kind)          the array of that name; see kindOf
//	('text', name, value)          metadata of that name, as text, and the value that it had
const metaStructure = "torch.structure"

const (
	arrayReference = "array"
	textReference  = "text"
)

// Classes of dicts that are kept.
const (
	typeOrdered = "OrderedDict"
	typeCounter = "Counter"
)

// absent is the value of what is left out of its container.
type absent struct{}

// members are the values of a pickled module by their names in its state_dict, which are
// values of the dict that the module is in.
type members struct{ pickle.Dict }

// put adds a value to a dict of the structure. Package pickle is not asked whether the key is there: it
// was a key of a dict.
func put(d *pickle.Dict, key, value any) {
	switch value := value.(type) {
	case absent:
	case *members:
		name, isText := key.(string)
		if !isText {
			name = pickle.Describe(key)
		}
		for i, member := range value.Keys {
			put(d, strings.TrimPrefix(name+"."+member.(string), "."), value.Values[i])
		}
	default:
		d.Keys, d.Values = append(d.Keys, key), append(d.Values, value)
	}
}

// sequence returns items as a list or a tuple or, if some are left out, as a dict by their numbers.
func sequence(items []any, isTuple bool) any {
	d := &pickle.Dict{}
	for i, item := range items {
		if _, isModule := item.(*members); isModule {
			put(d, strconv.Itoa(i), item)
		} else {
			put(d, int64(i), item)
		}
	}
	isPart := func(item any) bool {
		switch item.(type) {
		case absent, *members:
			return true
		}
		return false
	}
	switch {
	case slices.ContainsFunc(items, isPart):
		return d
	case isTuple:
		return pickle.Tuple(items)
	}
	return &pickle.List{Items: items}
}

// isPlain reports whether names say all of a structure, such as a dict of plain tensors.
func (w *walker) isPlain(structure any) bool {
	d, _ := structure.(*pickle.Dict)
	if d == nil || w.implied || len(d.State) > 0 {
		return w.implied
	}
	for i, key := range d.Keys {
		name, isText := key.(string)
		reference, _ := d.Values[i].(*pickle.Persistent)
		if !isText || strings.Contains(name, "/") || reference == nil || reference.ID != nil {
			return false
		}
	}
	return !slices.ContainsFunc(w.entries, func(e foundEntry) bool { return e.kind != "" })
}

// noteStructure adds the structure to the metadata, unless it is plain.
func (w *walker) noteStructure(structure any, names []string) error {
	if w.isPlain(structure) {
		return nil
	}
	for i, e := range w.entries {
		e.reference.ID = pickle.Tuple{arrayReference, names[i], e.kind}
	}
	var b bytes.Buffer
	if err := pickle.Encode(&b, structure); err != nil {
		return err
	}
	w.meta[metaStructure] = base64.StdEncoding.EncodeToString(b.Bytes())
	return w.take(metaStructure, 2*b.Len())
}

var errStructure = errors.New("not a structure that was noted")

// structureIn reads the structure in a text of the metadata.
func structureIn(text string) (any, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) == 0 {
		return nil, errStructure
	}
	const least, ratio = 1 << 20, 256
	structure, _, err := pickle.Load(bytes.NewReader(b), int64(len(b)), least+ratio*len(b))
	return structure, err
}

// Bare returns metadata with which a file has the array of a name by itself: torch.load returns a tensor, not a
// dict of one.
func Bare(name string) map[string]string {
	var b bytes.Buffer
	if err := pickle.Encode(&b, &pickle.Persistent{ID: pickle.Tuple{arrayReference, name, ""}}); err != nil {
		panic(err) // of texts
	}
	return map[string]string{metaStructure: base64.StdEncoding.EncodeToString(b.Bytes())}
}
