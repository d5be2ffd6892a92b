package torch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/ziparchive"
	"github.com/h5dnn/h5dnn/storage"
)

// modelKey is the key of the model beside an optimizer's state, as in PyTorch's tutorial
// on saving checkpoints.
const modelKey = "model_state_dict"

// save writes a file that torch.load opens with weights_only=True. Entries become tensors of a dict:
// the parts of a name between slashes are keys of nested dicts, unless the metadata say that the
// whole is one key. Beside the state of an optimizer, and where the metadata say that the model was
// unwrapped, names without slashes are those of a state_dict under a key of its own, and metadata are
// values beside it. All metadata are also kept in an attribute.
func save(w io.Writer, c serialize.Contents) error {
	entries, err := format.Collect(c)
	if err != nil {
		return err
	}
	plan := serialize.NewPlan(entries)
	root, err := tree(entries, plan, c.Meta)
	if err != nil {
		return err
	}
	var pickled counter
	if err := pickle.Encode(&pickled, root); err != nil {
		return err
	}
	size := int64(pickled) // and a few bytes for each storage
	for _, a := range plan.Storages {
		size += int64(a.NBytes())
	}
	if err := serialize.CheckSpace(w, size); err != nil {
		return err
	}
	return writeArchive(w, root, int64(pickled), plan)
}

// A counter counts what is written.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// writeArchive writes the records in PyTorch's order. The pickle of root, of the given number of bytes, is
// not collected: with hundreds of thousands of tensors it may be most of the file.
func writeArchive(w io.Writer, root any, pickled int64, plan *serialize.Plan) error {
	const alignment = 64
	z := ziparchive.NewWriter(w, ziparchive.Options{Alignment: alignment, Always64: true})
	names, sums := fnv.New64(), fnv.New64() // of all records
	add := func(name string, size int64, write func() error) error {
		z.Begin(name, size)
		if err := write(); err != nil {
			return err
		}
		sum, err := z.End()
		io.WriteString(names, name)
		binary.Write(sums, binary.LittleEndian, sum)
		return err
	}
	text := func(name string, content []byte) error {
		return add(name, int64(len(content)), func() error { _, err := z.Write(content); return err })
	}
	if err := add("archive/data.pkl", pickled, func() error { return pickle.Encode(z, root) }); err != nil {
		return err
	}
	if err := text("archive/byteorder", []byte("little")); err != nil {
		return err
	}
	for k, a := range plan.Storages {
		err := add("archive/data/"+strconv.Itoa(k), int64(a.Len())*int64(a.Type.Size()), func() error { return serialize.WriteLittleEndian(z, a) })
		if err != nil {
			return err
		}
	}
	if err := text("archive/version", []byte("3\n")); err != nil {
		return err
	}
	if err := text("archive/.data/serialization_id", fmt.Appendf(nil, "%020d%020d", names.Sum64(), sums.Sum64())); err != nil {
		return err
	}
	return z.Close("")
}

// A treeWriter makes the value to pickle: that of the structure in the metadata, with nested dicts of
// the names with slashes that are not in it.
type treeWriter struct {
	plan    *serialize.Plan
	indices map[string]int // of arrays
	meta    map[string]string
	reader  *walker
	root    *pickle.Dict
	model   *pickle.Dict    // of the names without slashes; root, unless the model is one value of it
	arrays  map[string]bool // that are in the tree
	texts   map[string]bool // of the metadata, that are in the tree
}

// tree returns the value to pickle.
func tree(entries []serialize.Entry, plan *serialize.Plan, meta map[string]string) (any, error) {
	t := &treeWriter{plan: plan, indices: make(map[string]int, len(entries)), meta: meta, arrays: map[string]bool{}, texts: map[string]bool{}}
	for i, e := range entries {
		t.indices[e.Name] = i
	}
	restored := t.restored()
	if _, isDict := restored.(*pickle.Dict); restored != nil && !isDict && t.isComplete() {
		return restored, nil
	}
	wrapper := meta[metaUnwrapped]
	var fresh bool
	if t.root, fresh = t.dictOf(restored); fresh && wrapper == "" && t.isWrapped() {
		wrapper = modelKey
	}
	t.model = t.root
	own := &pickle.Dict{}
	own.Set("version", int64(1))
	own.Set("structured", !fresh)
	if wrapper != "" && slices.ContainsFunc(entries, func(e serialize.Entry) bool { return !strings.Contains(e.Name, "/") }) {
		own.Set("model", t.wrap(wrapper))
	}
	for i, e := range entries {
		if t.arrays[e.Name] {
			continue
		}
		d, key, err := t.placeOf(e.Name, t.model)
		if err != nil {
			return nil, err
		}
		if err := d.Set(key, tensorOfKind(plan, i, "")); err != nil {
			return nil, err
		}
	}
	if fresh && wrapper != "" {
		t.addMeta()
	}
	t.lists(t.root)
	t.keepMeta(own)
	return t.root, nil
}

// dictOf returns the restored value if it is a dict, or a new one.
func (t *treeWriter) dictOf(restored any) (d *pickle.Dict, fresh bool) {
	d, ok := restored.(*pickle.Dict)
	if !ok {
		clear(t.arrays)
		d = &pickle.Dict{}
	}
	d.Class = typeOrdered
	return d, !ok
}

// isComplete reports whether all arrays and metadata but our own are in the tree.
func (t *treeWriter) isComplete() bool {
	for name := range t.meta {
		if !strings.HasPrefix(name, "torch.") && !t.texts[name] {
			return false
		}
	}
	return len(t.arrays) == len(t.indices)
}

// restored returns the value of the structure in the metadata with the arrays and texts that are
// written, or nil.
func (t *treeWriter) restored() any {
	text := t.meta[metaStructure]
	if text == "" {
		return nil
	}
	structure, err := structureIn(text)
	if err != nil {
		return nil
	}
	bound := &file{pickled: int64(len(text)), memory: 1<<20 + 256*len(text)}
	t.reader = newWalker(bound)
	if value := t.restore(structure, 0); value != any(absent{}) {
		return value
	}
	return nil
}

// restore returns the value of a part of a structure, absent if nothing of it is written.
func (t *treeWriter) restore(part any, depth int) any {
	if t.reader.enter(depth) != nil {
		return absent{}
	}
	items := func(list []any) []any {
		values := make([]any, len(list))
		for i, item := range list {
			values[i] = t.restore(item, depth+1)
		}
		return values
	}
	var made any
	size := 0
	switch part := part.(type) {
	case *pickle.Persistent:
		return t.referred(part)
	case *pickle.List:
		made, size = sequence(items(part.Items), false), len(part.Items)
	case pickle.Tuple:
		made, size = sequence(items(part), true), len(part)
	case *pickle.Dict:
		made, size = t.restoreDict(part, items(part.Values)), 1
	}
	if d, isDict := made.(*pickle.Dict); size == 0 || isDict && len(d.Keys) == 0 {
		return absent{}
	}
	return made
}

func (t *treeWriter) restoreDict(part *pickle.Dict, values []any) *pickle.Dict {
	made := &pickle.Dict{Class: keptClass(part)}
	for i, value := range values {
		if _, isAbsent := value.(absent); !isAbsent && isPlainKey(part.Keys[i]) {
			made.Set(part.Keys[i], value)
		}
	}
	if modules := modulesOf(part); modules != nil && made.Class == typeOrdered {
		setModules(made, modules)
	}
	return made
}

// referred returns the array or the value of a text that a reference of a structure stands for. A text
// that was changed stands for what it says.
func (t *treeWriter) referred(reference *pickle.Persistent) any {
	id, _ := reference.ID.(pickle.Tuple)
	name, _ := argument(id, 1).(string)
	switch argument(id, 0) {
	case arrayReference:
		if i, ok := t.indices[name]; ok {
			kind, _ := argument(id, 2).(string)
			t.arrays[name] = true
			return tensorOfKind(t.plan, i, kind)
		}
	case textReference:
		if text, ok := t.meta[name]; ok {
			t.texts[name] = true
			value, noted, err := t.reader.cleanText(argument(id, 2), 0, func(_, _ string) {})
			if err == nil && noted == text {
				return value
			}
			return valueOf(text)
		}
	}
	return absent{}
}

// isWrapped reports whether names without slashes belong to a model beside an optimizer's state.
func (t *treeWriter) isWrapped() bool {
	nested, optimizer := 0, true
	for name := range t.indices {
		if group, _, ok := strings.Cut(name, "/"); ok {
			nested++
			optimizer = optimizer && strings.HasPrefix(group, "optim")
		}
	}
	return nested > 0 && (optimizer || nested == len(t.indices))
}

// wrap makes the model a value of the outermost dict, unless it is one, and returns its key: the wanted
// one, unless names are in a group of that name.
func (t *treeWriter) wrap(key string) string {
	isBelow := func(name string) bool { return strings.HasPrefix(name, key+"/") && !t.arrays[name] }
	for slices.ContainsFunc(slices.Collect(maps.Keys(t.indices)), isBelow) {
		key += "_"
	}
	value, _ := t.root.Get(key)
	model, ok := value.(*pickle.Dict)
	if !ok {
		model = &pickle.Dict{}
		t.root.Set(key, model)
	}
	model.Class, t.model = typeOrdered, model
	return key
}

// placeOf returns the dict and the key of a name: in a group or, if the name has none, in another dict.
func (t *treeWriter) placeOf(name string, otherwise *pickle.Dict) (d *pickle.Dict, key any, err error) {
	at := strings.LastIndexByte(name, '/')
	if at <= 0 || t.isKey(name) {
		return otherwise, name, nil
	}
	d, err = t.group(name[:at])
	return d, keyOf(name[at+1:]), err
}

// isKey reports whether a name with slashes is one key: it begins with a slash, or a name
// above it is an array, which is not a dict.
func (t *treeWriter) isKey(name string) bool {
	if name[0] == '/' {
		return true
	}
	for at, c := range name {
		if _, isArray := t.indices[name[:at]]; c == '/' && isArray {
			return true
		}
	}
	return false
}

// group returns the dict at a path.
func (t *treeWriter) group(path string) (d *pickle.Dict, err error) {
	above, key := t.root, any(path)
	if at := strings.LastIndexByte(path, '/'); at > 0 {
		if above, err = t.group(path[:at]); err != nil {
			return nil, err
		}
		key = keyOf(path[at+1:])
	}
	value, ok := above.Get(key)
	if !ok {
		d = &pickle.Dict{}
		return d, above.Set(key, d)
	}
	if d, ok = value.(*pickle.Dict); !ok {
		return nil, fmt.Errorf("%q is an array and a group of arrays, which a dict cannot be: %w", path, storage.ErrState)
	}
	return d, nil
}

// addMeta puts metadata beside the model, where no array is in the way.
func (t *treeWriter) addMeta() {
	for _, name := range slices.Sorted(maps.Keys(t.meta)) {
		if strings.HasPrefix(name, "torch.") {
			continue
		}
		d, key, err := t.placeOf(name, t.root)
		if _, taken := d.Get(key); err == nil && !taken {
			d.Set(key, valueOf(t.meta[name]))
		}
	}
}

// keepMeta keeps all metadata but the structure in an attribute of the outermost dict, beside what it
// has of ours.
func (t *treeWriter) keepMeta(own *pickle.Dict) {
	list := &pickle.Dict{}
	for _, key := range slices.Sorted(maps.Keys(t.meta)) {
		if key != metaStructure {
			list.Set(key, t.meta[key])
		}
	}
	own.Set("meta", list)
	attributes := &pickle.Dict{}
	attributes.Set(ownAttribute, own)
	t.root.State = append(t.root.State, attributes)
}

// lists replaces the dicts that optimizers have as lists: param_groups.
func (t *treeWriter) lists(d *pickle.Dict) {
	for i, value := range d.Values {
		inner, ok := value.(*pickle.Dict)
		if !ok {
			continue
		}
		t.lists(inner)
		if items, ok := itemsOf(inner); ok && d.Keys[i] == groupsKey {
			d.Values[i] = &pickle.List{Items: items}
		}
	}
}

// groupsKey is the key of the settings of optimizers, which are a list.
const groupsKey = "param_groups"

// itemsOf returns the values of a dict whose keys are 0, 1, 2 and so on, in any order.
func itemsOf(d *pickle.Dict) (items []any, ok bool) {
	items = make([]any, len(d.Keys))
	for i := range items {
		if items[i], ok = d.Get(int64(i)); !ok {
			return nil, false
		}
	}
	return items, true
}

// keyOf returns the key of a dict that part of a name stands for: integers are keys as
// such, as the states of an optimizer have them.
func keyOf(part string) any {
	if part == "" || part[0] > '9' { // most names, for which Atoi makes an error
		return part
	}
	if n, err := strconv.ParseInt(part, 10, 64); err == nil && strconv.FormatInt(n, 10) == part {
		return n
	}
	return part
}

// valueOf returns the value that a text of the metadata stands for.
func valueOf(text string) any {
	var value any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil || d.More() {
		return text
	}
	if _, isText := value.(string); isText { // in quotes, as no text of a scalar is
		return text
	}
	return fromJSON(value)
}

func fromJSON(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, ok := new(big.Int).SetString(value.String(), 10); ok {
			switch {
			case n.IsInt64():
				return n.Int64()
			case pickle.IsLong(n):
				return n.String()
			}
			return n
		}
		x, err := value.Float64()
		if err != nil {
			return value.String()
		}
		return x
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = fromJSON(item)
		}
		return &pickle.List{Items: items}
	case map[string]any:
		d := &pickle.Dict{}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			d.Set(key, fromJSON(value[key]))
		}
		return d
	}
	return value
}

// tensorCall returns the call that makes a tensor.
func tensorCall(plan *serialize.Plan, p serialize.PlannedView) *pickle.Object {
	a := plan.Storages[p.Storage]
	t, n := a.Type, a.Len()
	shape, stride := make(pickle.Tuple, p.View.Rank()), make(pickle.Tuple, p.View.Rank())
	for i := range shape {
		shape[i], stride[i] = p.View.Shape[i], p.View.Stride[i]
	}
	untyped := storageClasses[t] == ""
	rebuild, class := "_rebuild_tensor_v2", pickle.Global{Module: "torch", Name: storageClasses[t] + "Storage"}
	if untyped {
		rebuild, class = "_rebuild_tensor_v3", pickle.Global{Module: "torch.storage", Name: "UntypedStorage"}
		n *= t.Size()
	}
	stored := &pickle.Persistent{ID: pickle.Tuple{"storage", class, strconv.Itoa(p.Storage), "cpu", n}}
	args := pickle.Tuple{stored, p.View.Offset, shape, stride, false, &pickle.Dict{Class: "OrderedDict"}}
	if untyped {
		args = append(args, pickle.Global{Module: "torch", Name: dtypeNames[t]})
	}
	return call("torch._utils", rebuild, args...)
}
