package hdf5

import (
	"sync"

	"github.com/h5dnn/h5dnn/serialize"
)

// A list has the entries of a file by number. It keeps where they are, and those with an error.
type list struct {
	sync.Mutex
	complete bool
	places   []place
	others   map[int]listedEntry
}

// A place is where an array is in the file. The strings are those that the file keeps of its links.
type place struct {
	path, listed string
	address      uint64
}

type listedEntry struct {
	serialize.Entry
	err error
}

// at returns entry i of a file.
func (l *list) at(f *File, i int) (serialize.Entry, error) {
	l.fill(f)
	if e, ok := l.others[i]; ok {
		return e.Entry, e.err
	}
	p := l.places[i]
	item := Item{Listed: p.listed}
	var err error
	if item.Object, err = f.in.ObjectAt(p.path, p.address); err == nil {
		item.Meaning, err = f.Meaning(item.Object)
	}
	if err != nil {
		return serialize.Entry{Name: p.listed[1:]}, err
	}
	e, _, err := item.entry(nil)
	return e, err
}

// fill lists the entries of a file once.
func (l *list) fill(f *File) {
	l.Lock()
	defer l.Unlock()
	if l.complete {
		return
	}
	l.complete, l.others = true, map[int]listedEntry{}
	for a, err := range f.arrays() {
		p := place{}
		if a.Object != nil {
			p.path, p.listed = a.Path, a.Listed
			p.address, _ = a.Address()
		}
		if err != nil || a.File() != f.in {
			l.others[len(l.places)] = listedEntry{a.Entry, err}
		}
		l.places = append(l.places, p)
	}
}
