package diff

import (
	"fmt"

	"github.com/h5dnn/h5dnn/internal/nameindex"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// A numbered file makes its entries again by number, in the order of All.
type numbered interface {
	serialize.File
	At(i int) (serialize.Entry, error)
}

// names has the names of the entries of a numbered file, of which it keeps no more.
type names struct {
	numbered
	list    []string
	numbers []int32 // of the entries in the file
	index   nameindex.Index
	twice   map[int]bool // duplicate names, which have one entry each
}

// namesOf is listOf for a numbered file.
func namesOf(f numbered) (*names, error) {
	n := &names{numbered: f, twice: map[int]bool{}}
	k := int32(-1)
	for e, err := range f.All() {
		k++
		if e.Name == "" && err != nil && e.Array.Data == nil && e.Elements == nil {
			return nil, err
		}
		if first, ok := n.Index(e.Name); ok {
			n.twice[first] = true
			continue
		}
		n.index.Add(e.Name, int32(len(n.list)), n.name)
		n.list, n.numbers = append(n.list, e.Name), append(n.numbers, k)
	}
	return n, nil
}

func (n *names) name(i int) string { return n.list[i] }

// Len returns the number of entries.
func (n *names) Len() int { return len(n.list) }

// Index returns the number of the named entry.
func (n *names) Index(name string) (int, bool) {
	i, ok := n.index.Find(name, n.name)
	return int(i), ok
}

// At returns entry i, and an error if its name is a duplicate.
func (n *names) At(i int) (serialize.Entry, error) {
	if n.twice[i] {
		return serialize.Entry{Name: n.list[i]}, fmt.Errorf("duplicate name: %w", storage.ErrState)
	}
	return n.numbered.At(int(n.numbers[i]))
}
