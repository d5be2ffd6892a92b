package hdf5

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/spell"
)

// An Object is a group, a dataset, a committed datatype, or a link that is not a hard one.
type Object struct {
	Path       string
	Kind       Kind
	Target     string // path that a soft or external link refers to
	TargetFile string // file that an external link refers to

	file   *File
	header *header
}

// A Kind is a kind of object or link.
type Kind string

// The kinds of objects and links.
const (
	KindGroup       Kind = "group"
	KindDataset     Kind = "dataset"
	KindDatatype    Kind = "datatype"
	KindSoft        Kind = "soft"
	KindExternal    Kind = "external"
	KindUserDefined Kind = "user-defined" // a link of a type defined by an application
	KindUnknown     Kind = "unknown"      // unreadable, or newer than this program
)

// Root returns the file's root group.
func (f *File) Root() (*Object, error) {
	root, err := f.root()
	o := *root // callers own what they get
	return &o, err
}

// object reads the object whose header is at an address.
func (f *File) object(path string, address uint64) (*Object, error) {
	o := &Object{Path: path, Kind: KindUnknown, file: f}
	h, err := f.header(address)
	if err != nil {
		return o, f.fail(path, err)
	}
	o.header = h
	has := func(kind uint16) bool { _, ok := h.find(kind); return ok }
	switch {
	case has(msgSymbolTable) || has(msgLinkInfo) || has(msgLink):
		o.Kind = KindGroup
	case has(msgDatatype) && has(msgDataspace):
		o.Kind = KindDataset
	case has(msgDatatype):
		o.Kind = KindDatatype
	default:
		return o, f.fail(path, errors.New("neither group, dataset nor datatype"))
	}
	return o, nil
}

// fail adds the names of the file and the object to an error.
func (f *File) fail(path string, err error) error { return &objectError{f.name, path, err} }

// An objectError is an error about an object of a file. Its text is made when it is printed.
type objectError struct {
	file, path string
	err        error
}

func (e *objectError) Error() string { return fmt.Sprintf("%s: %s: %v", e.file, e.path, e.err) }
func (e *objectError) Unwrap() error { return e.err }

// File returns the file that the object is in.
func (o *Object) File() *File { return o.file }

// Address returns the address of the object's header, which identifies the object: all
// hard links to an object have the same address. Other links have none.
func (o *Object) Address() (address uint64, ok bool) {
	if o.header == nil {
		return 0, false
	}
	return o.header.address, true
}

// Links returns the number of hard links to the object, as its header says.
func (o *Object) Links() int {
	if o.header == nil {
		return 1
	}
	if m, ok := o.header.find(msgReferences); ok && len(m.body) >= 5 { // | version 0 | references: 4 |
		return int(binary.LittleEndian.Uint32(m.body[1:]))
	}
	return o.header.references
}

// resolveLink returns the object that a hard link of the group at path refers to, or the
// link itself if it is not a hard one.
func (f *File) resolveLink(path string, l link) (*Object, error) {
	path = l.pathIn(path)
	if l.soft == nil {
		return f.object(path, l.address)
	}
	o := &Object{Path: path, Target: l.soft.target, TargetFile: l.soft.file, file: f}
	switch l.soft.kind {
	case linkSoft:
		o.Kind = KindSoft
	case linkExternal:
		o.Kind = KindExternal
	default:
		o.Kind = KindUserDefined
	}
	return o, nil
}

// Comment returns the object's comment, or "".
func (o *Object) Comment() string {
	if o.header == nil {
		return ""
	}
	m, _ := o.header.find(msgComment) // | text | 0 |
	return trimNUL(m.body)
}

// Names returns the names of a group's members, sorted.
func (o *Object) Names() ([]string, error) {
	links, err := o.links()
	names := make([]string, len(links))
	for k, l := range links {
		names[k] = l.name()
	}
	return names, err
}

// Members yields a group's members in the order of their creation, if the file tracks it,
// and else sorted by name. Links that are not hard are yielded themselves. A member that
// cannot be read is yielded with an error.
func (o *Object) Members() iter.Seq2[*Object, error] {
	return func(yield func(*Object, error) bool) {
		links, err := o.links()
		links = slices.Clone(links)
		slices.SortStableFunc(links, func(a, b link) int { return cmp.Compare(a.order, b.order) })
		for _, l := range links {
			if !yield(o.file.resolveLink(o.Path, l)) {
				return
			}
		}
		if err != nil {
			yield(o, err)
		}
	}
}

// links returns a group's links, sorted by name. If some cannot be read, it returns the
// others with an error.
func (o *Object) links() ([]link, error) {
	if o.Kind != KindGroup {
		return nil, o.file.fail(o.Path, fmt.Errorf("a %s has no members", o.Kind))
	}
	links, err := o.file.groups.get(o.header.address, maxCachedLinks, func() ([]link, int, error) {
		links, err := o.file.readLinks(o.Path, o.header)
		return links, len(links), err
	})
	if err != nil {
		return links, o.file.fail(o.Path, err)
	}
	return links, nil
}

// readLinks reads the links of the group at a path, wherever its header says they are stored.
func (f *File) readLinks(path string, h *header) ([]link, error) {
	group := strings.TrimSuffix(path, "/") + "/"
	links, err := f.messageLinks(group, h)
	if m, ok := h.find(msgSymbolTable); ok {
		more, failed := f.symbolLinks(group, m)
		links, err = append(links, more...), cmp.Or(err, failed)
	}
	if m, ok := h.find(msgLinkInfo); ok {
		more, failed := f.denseLinks(group, m)
		links, err = append(links, more...), cmp.Or(err, failed)
	}
	slices.SortStableFunc(links, func(a, b link) int { return strings.Compare(a.path, b.path) })
	return links, err
}

// maxCachedLinks limits the links of all groups in the cache.
const maxCachedLinks = 1 << 18

// maxDepth limits the depth of nested groups.
const maxDepth = 1000

// Walk yields all objects of the file: the root group first, each group before its
// members, members in the order of CompareNames. Links that are not hard are yielded, not followed. An
// object is yielded once for each hard link to it, but the members of a group only once.
//
// An object that cannot be read is yielded with an error, and the walk continues.
func (f *File) Walk() iter.Seq2[*Object, error] {
	return func(yield func(*Object, error) bool) {
		root, err := f.Root()
		f.cacheTree(root)
		f.walk(root, err, 0, map[uint64]bool{}, yield)
	}
}

// Walk is [File.Walk] for an object and everything below it.
func (o *Object) Walk() iter.Seq2[*Object, error] {
	return func(yield func(*Object, error) bool) {
		o.file.cacheTree(o)
		o.file.walk(o, nil, 0, map[uint64]bool{}, yield)
	}
}

func (f *File) walk(o *Object, err error, depth int, visited map[uint64]bool, yield func(*Object, error) bool) bool {
	if o.Kind != KindGroup || visited[o.header.address] {
		return yield(o, err)
	}
	visited[o.header.address] = true
	links, err := o.links()
	if depth >= maxDepth {
		links, err = nil, f.fail(o.Path, fmt.Errorf("groups are nested more than %d deep", maxDepth))
	}
	if !yield(o, err) {
		return false
	}
	order := make([]int32, len(links)) // in which members are visited; links are cached
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, k int32) int { return CompareNames(links[i].name(), links[k].name()) })
	for k, i := range order {
		f.cacheHeaders(links, order, k)
		member, err := f.resolveLink(o.Path, links[i])
		if !f.walk(member, err, depth+1, visited, yield) {
			return false
		}
	}
	return true
}

// NumericDatasets yields the datasets of the file that [Dataset.Array] can read, in the
// order of Walk.
func (f *File) NumericDatasets() iter.Seq2[*Dataset, error] {
	return func(yield func(*Dataset, error) bool) {
		for o, err := range f.Walk() {
			var d *Dataset
			if err == nil && o.Kind == KindDataset {
				d, err = o.Dataset()
			}
			if err == nil && (d == nil || d.DType == dtype.Invalid || d.Shape == nil) {
				continue
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// mapPaths returns a path of every object, by the address of its header.
func (f *File) mapPaths() map[uint64]string {
	paths := map[uint64]string{}
	for o := range f.Walk() {
		if o.header != nil {
			if _, known := paths[o.header.address]; !known {
				paths[o.header.address] = o.Path
			}
		}
	}
	return paths
}

// maxLinks limits the number of soft and external links that a path may contain.
const maxLinks = 16

// Lookup returns the object at a path. Soft links are followed, and external links if the
// file was opened with Options.Follow.
func (f *File) Lookup(path string) (*Object, error) {
	budget := maxLinks
	o, err := f.lookup("/", path, &budget)
	if err != nil {
		return nil, err
	}
	if path = strings.Trim(path, "/"); o.file == f && o.Path[1:] != path {
		o.Path = "/" + path
	}
	return o, nil
}

// lookup follows a path from the group at from.
func (f *File) lookup(from, path string, budget *int) (*Object, error) {
	if strings.HasPrefix(path, "/") {
		from = "/"
	}
	o, err := f.Root()
	if from != "/" {
		o, err = f.lookup("/", from, budget)
	}
	for name := range strings.SplitSeq(path, "/") {
		if err != nil {
			return nil, err
		}
		if name != "" && name != "." {
			o, err = o.member(name, budget)
		}
	}
	return o, err
}

// member returns the object that the group's link of a name refers to.
func (o *Object) member(name string, budget *int) (*Object, error) {
	f := o.file
	links, err := o.links()
	at, found := slices.BinarySearchFunc(links, name, func(l link, name string) int { return strings.Compare(l.name(), name) })
	switch {
	case !found && err != nil:
		return nil, err
	case !found:
		return nil, f.fail(o.Path, &noMemberError{o, name, links})
	}
	m, err := f.resolveLink(o.Path, links[at])
	if err != nil || m.header != nil {
		return m, err
	}
	if *budget--; *budget < 0 {
		return nil, f.fail(m.Path, fmt.Errorf("more than %d links lead to one another", maxLinks))
	}
	switch m.Kind {
	case KindSoft:
		return f.lookup(o.Path, m.Target, budget)
	case KindExternal:
		return f.followExternalLink(m, budget)
	}
	return nil, f.fail(m.Path, fmt.Errorf("a %s link cannot be followed", m.Kind))
}

// A noMemberError says that a group has no member of a name, and suggests the nearest one. It is of
// kind fs.ErrNotExist. The name is compared with the others only when the error is printed, because
// callers that test whether a group has a member ignore it.
type noMemberError struct {
	group *Object
	name  string
	links []link
}

func (e *noMemberError) Error() string {
	members := make([]string, len(e.links))
	for i, l := range e.links {
		members[i] = l.name()
	}
	text := fmt.Sprintf("no member %q", e.name)
	if near, ok := spell.Nearest(e.name, members); ok {
		text += fmt.Sprintf("; did you mean %s?", strings.TrimSuffix(e.group.Path, "/")+"/"+near)
	}
	return text
}

func (e *noMemberError) Unwrap() error { return fs.ErrNotExist }

// Dataset returns the dataset at path. A path that is not there is an error of kind
// fs.ErrNotExist.
func (f *File) Dataset(path string) (*Dataset, error) {
	o, err := f.Lookup(path)
	if err != nil {
		return nil, err
	}
	return o.Dataset()
}

// Dataset reads the description of a dataset from the object's header.
func (o *Object) Dataset() (*Dataset, error) { return o.dataset(0, new(int)) }

func (o *Object) dataset(depth int, opened *int) (*Dataset, error) {
	if o.Kind != KindDataset {
		return nil, o.file.fail(o.Path, fmt.Errorf("is a %s, not a dataset", o.Kind))
	}
	d := &Dataset{Object: o, depth: depth, opened: opened}
	if err := d.parse(); err != nil {
		return nil, o.file.fail(o.Path, err)
	}
	return d, nil
}

// Datatype returns the type of a committed datatype.
func (o *Object) Datatype() (*Type, error) {
	if o.Kind != KindDatatype {
		return nil, o.file.fail(o.Path, fmt.Errorf("is a %s, not a datatype", o.Kind))
	}
	m, _ := o.header.find(msgDatatype)
	t, err := o.file.datatype(m)
	if err != nil {
		return nil, o.file.fail(o.Path, err)
	}
	return t, nil
}
