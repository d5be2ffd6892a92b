package torch

import (
	"encoding/binary"
	"encoding/json"
	"errors"
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

// tree returns the value to pickle.
func tree(entries []serialize.Entry, plan *serialize.Plan, meta map[string]string) (any, error) {
	t := &treeWriter{
		root: &pickle.Dict{Class: "OrderedDict"}, groups: map[string]*pickle.Dict{}, taken: map[string]bool{},
		inside: namesIn(meta[metaInside]), types: objectIn[string](meta[metaTypes]), paths: objectIn[[2]string](meta[metaPaths]), names: map[*pickle.Dict]string{},
		orders: objectIn[[]int](meta[metaOrder]), members: map[*pickle.Dict][]string{},
	}
	t.model = t.root
	if t.types[""] == typeTensor && len(entries) == 1 && t.placed(meta) {
		return t.tensor(plan, 0, entries[0].Name), nil
	}
	names, nested := make(map[string]bool, len(entries)), 0 // names with slashes
	for _, e := range entries {
		name := e.Name
		if names[name] = true; strings.Contains(name, "/") {
			nested++
		}
	}
	wrapper, beside := meta[metaUnwrapped], meta[metaBeside] == "true" || t.intKeys()
	if wrapper == "" && !beside && nested > 0 && (nested == len(names) || besideOptimizer(names)) {
		wrapper = modelKey
	}
	own := &pickle.Dict{}
	own.Set("version", int64(1))
	if wrapper != "" && nested < len(names) {
		wrapper = t.wrap(wrapper, names)
		own.Set("model", wrapper)
	}
	if err := t.addTensors(entries, plan, names, wrapper, meta); err != nil {
		return nil, err
	}
	if wrapper != "" || beside {
		t.addMeta(meta)
	}
	t.putModules(meta[metaModules])
	t.lists(t.root)
	if root := t.sequences("", t.root); root != any(t.root) && t.placed(meta) {
		return root, nil
	}
	t.keepMeta(own, meta)
	return t.root, nil
}

// wrap makes the model a value of the outermost dict, and returns its key: the wanted one, unless names
// are in a group of that name.
func (t *treeWriter) wrap(key string, names map[string]bool) string {
	for anyBelow(names, key) {
		key += "_"
	}
	t.model = &pickle.Dict{Class: "OrderedDict"}
	t.root.Set(key, t.model)
	t.taken[key] = true
	return key
}

// besideOptimizer reports whether all names with slashes are of an optimizer's state.
func besideOptimizer(names map[string]bool) bool {
	for name := range names {
		if group, _, nested := strings.Cut(name, "/"); nested && !strings.HasPrefix(group, "optim") {
			return false
		}
	}
	return true
}

// addTensors puts the tensors into the tree.
func (t *treeWriter) addTensors(entries []serialize.Entry, plan *serialize.Plan, names map[string]bool, wrapper string, meta map[string]string) error {
	outside, keys := namesIn(meta[metaOutside]), namesIn(meta[metaKeys])
	for i, e := range entries {
		group, key := t.model, t.keyAt(e.Name, "", e.Name)
		if outside[e.Name] && e.Name != wrapper {
			group = t.root
		}
		if at := strings.LastIndexByte(e.Name, '/'); at > 0 && !keys[e.Name] && !t.isKey(e.Name, names) {
			var err error
			if group, key, err = t.parent(e.Name); err != nil {
				return err
			}
		}
		t.taken[e.Name] = t.taken[e.Name] || group != t.model || t.model == t.root
		if err := t.put(group, e.Name, key, t.tensor(plan, i, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// keepMeta keeps all metadata in an attribute of the outermost dict, beside what it has of ours.
func (t *treeWriter) keepMeta(own *pickle.Dict, meta map[string]string) {
	list := &pickle.Dict{}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		list.Set(key, meta[key])
	}
	own.Set("meta", list)
	attributes := &pickle.Dict{}
	attributes.Set(ownAttribute, own)
	t.root.State = append(t.root.State, attributes)
}

// anyBelow reports whether a name is below a group.
func anyBelow(names map[string]bool, group string) bool {
	for name := range names {
		if strings.HasPrefix(name, group+"/") {
			return true
		}
	}
	return false
}

// namesIn returns the names in a list that the reader of these files has noted.
func namesIn(list string) map[string]bool {
	var names []string
	json.Unmarshal([]byte(list), &names) // none, if it is not ours
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// A treeWriter makes nested dicts of names with slashes.
type treeWriter struct {
	root   *pickle.Dict
	model  *pickle.Dict            // of the names without slashes; root, unless the model is one value of it
	groups map[string]*pickle.Dict // by path
	taken  map[string]bool         // paths of values
	inside map[string]bool         // keys of the model whose values are not tensors
	types  map[string]string       // of metaTypes

	paths   map[string][2]string      // of metaPaths
	names   map[*pickle.Dict]string   // paths of groups
	orders  map[string][]int          // of metaOrder
	members map[*pickle.Dict][]string // paths of the keys of the groups whose order is noted
}

// put puts the value at a path into its group.
func (t *treeWriter) put(group *pickle.Dict, path string, key, value any) error {
	if t.orders[t.names[group]] != nil {
		t.members[group] = append(t.members[group], path)
	}
	return group.Set(key, value)
}

// intKeys reports whether the outermost value is a list or a dict with integers as keys.
func (t *treeWriter) intKeys() bool {
	return slices.Contains([]string{typeList, typeTuple, typeInts}, t.types[""])
}

// parent returns the dict that a path with or without slashes is in, and its key there.
func (t *treeWriter) parent(path string) (*pickle.Dict, any, error) {
	above, part := "", path
	if at := strings.LastIndexByte(path, '/'); at > 0 {
		above, part = path[:at], path[at+1:]
	}
	if noted, ok := t.paths[path]; ok {
		above, part = noted[0], noted[1]
	}
	switch {
	case above != "":
		d, err := t.group(above)
		return d, t.keyAt(path, above, part), err
	case t.inside[part]:
		return t.model, t.keyAt(path, "", part), nil
	}
	return t.root, t.keyAt(path, "", part), nil
}

// placed reports whether all metadata but our own are values in the tree.
func (t *treeWriter) placed(meta map[string]string) bool {
	for path := range meta {
		if !strings.HasPrefix(path, "torch.") && !t.taken[path] {
			return false
		}
	}
	return true
}

// isKey reports whether a name with slashes is one key: it begins with a slash, or a name
// above it is an array, which is not a dict. The key of a name that was noted is known.
func (t *treeWriter) isKey(name string, names map[string]bool) bool {
	if _, noted := t.paths[name]; noted {
		return false
	}
	if name[0] == '/' {
		return true
	}
	for at, c := range name {
		if c == '/' && names[name[:at]] {
			return true
		}
	}
	return false
}

// group returns the dict at a path.
func (t *treeWriter) group(path string) (*pickle.Dict, error) {
	if d := t.groups[path]; d != nil {
		return d, nil
	}
	if t.taken[path] {
		return nil, fmt.Errorf("%q is an array and a group of arrays, which a dict cannot be: %w", path, storage.ErrState)
	}
	parent, key, err := t.parent(path)
	if err != nil {
		return nil, err
	}
	d := &pickle.Dict{}
	t.groups[path], t.names[d] = d, path
	return d, t.put(parent, path, key, d)
}

// addMeta puts metadata into the tree, where no array is in the way.
func (t *treeWriter) addMeta(meta map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(meta)) {
		if strings.HasPrefix(path, "torch.") || t.taken[path] || t.groups[path] != nil {
			continue
		}
		parent, key, err := t.parent(path)
		if err != nil {
			continue
		}
		if t.put(parent, path, key, t.typed(path, meta[path])) == nil {
			t.taken[path] = true
		}
	}
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

// keyOf returns the key of a dict that part of a name stands for: integers are keys as
// such, as the states of an optimizer have them.
func keyOf(part string) any {
	if part == "" || part[0] > '9' { // most names, for which Atoi makes an error
		return part
	}
	n, err := strconv.ParseInt(part, 10, 64)
	if err == nil && strconv.FormatInt(n, 10) == part {
		return n
	}
	if errors.Is(err, strconv.ErrRange) && len(part) < maxDigits {
		if n, ok := new(big.Int).SetString(part, 10); ok && !pickle.IsLong(n) && n.String() == part {
			return n
		}
	}
	return part
}

// maxDigits bounds the integers that parts of names stand for.
const maxDigits = 1000

// valueOf returns the value that a text of the metadata stands for.
func valueOf(text string) any {
	var value any
	d := json.NewDecoder(strings.NewReader(withFloats(text)))
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
		if x, ok := floatOf(value); ok {
			return x
		}
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
	return &pickle.Object{Class: pickle.Global{Module: "torch._utils", Name: rebuild}, Args: args}
}
