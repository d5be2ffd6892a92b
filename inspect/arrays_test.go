package inspect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

// A tree is a group that names imply, or an array.
type tree struct {
	isArray bool
	order   []string
	members map[string]*tree
}

func (n *tree) add(parts []string) {
	if len(parts) == 0 {
		n.isArray = true
		return
	}
	if n.members == nil {
		n.members = map[string]*tree{}
	}
	if n.members[parts[0]] == nil {
		n.members[parts[0]] = &tree{}
		n.order = append(n.order, parts[0])
	}
	n.members[parts[0]].add(parts[1:])
}

// list returns the kinds and paths of what is below n.
func (n *tree) list(path string) (list []string) {
	for _, name := range n.order {
		member := n.members[name]
		kind := "group"
		if member.isArray {
			kind = "dataset"
		}
		list = append(list, kind+" "+path+"/"+name)
		list = append(list, member.list(path+"/"+name)...)
	}
	return list
}

// TestGroupsComeOnceWithTheirMembers lists random names, and compares with a tree.
func TestGroupsComeOnceWithTheirMembers(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 15))
	for range 500 {
		file := serialize.NewList(0, nil, func() error { return nil })
		root := &tree{}
		for range 1 + r.IntN(12) {
			parts := make([]string, 1+r.IntN(4))
			for k := range parts {
				parts[k] = []string{"a", "b", "ab", "a.b"}[r.IntN(4)]
			}
			name := strings.Join(parts, "/")
			if file.Add(serialize.Entry{Name: name, Array: storage.From([]float32{1}, 1)}, nil) == nil {
				root.add(parts)
			}
		}
		f := newArrays(file, "file", serialize.Format{Name: "test"})
		for _, below := range append([]string{""}, root.order...) {
			objects, err := f.Entries(below)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for o := range objects {
				if o.Path != "/" {
					got = append(got, o.Kind+" "+o.Path)
				}
			}
			want := root.list("")
			if below != "" {
				want = slices.DeleteFunc(want, func(line string) bool {
					_, path, _ := strings.Cut(line, " ")
					return path != "/"+below && !strings.HasPrefix(path, "/"+below+"/")
				})
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("below %q: %q, want %q", below, got, want)
			}
		}
	}
}

// TestManyArraysInDeepGroups lists arrays in groups as deep as those of a pickle may be. Comparing
// each group with the path before it would look at 80,000,000,000 bytes.
func TestManyArraysInDeepGroups(t *testing.T) {
	before := storagetest.CPUTime(t)
	const count, depth = 50_000, 900
	file := serialize.NewList(count, nil, func() error { return nil })
	deep := strings.Repeat("0/", depth)
	for i := range count {
		if err := file.Add(serialize.Entry{Name: deep + strconv.Itoa(i)}, errors.New("not read")); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := newArrays(file, "file", serialize.Format{Name: "test"}).Entries("/")
	if err != nil {
		t.Fatal(err)
	}
	groups := 0
	for o := range objects {
		if o.Kind == "group" {
			groups++
		}
	}
	if groups != 1+depth {
		t.Errorf("%d groups, want %d", groups, 1+depth)
	}
	if took := storagetest.CPUTime(t) - before; took > 10*time.Second {
		t.Errorf("%v", took)
	}
}
