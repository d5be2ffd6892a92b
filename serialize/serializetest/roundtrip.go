package serializetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

func (x examiner) roundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var list []named
	for _, typ := range x.Types {
		for i, shape := range [][]int{{}, {1}, {7}, {0}, {2, 3}, {3, 0, 2}, {2, 1, 3, 2}, {70, 33}} {
			list = append(list, named{fmt.Sprintf("%v.%d", typ, i), random(r, typ, shape...)})
		}
	}
	if !x.Single {
		name := x.file(t)
		x.save(t, name, map[string]string{}, list...)
		x.check(t, name, map[string]string{}, list...)
		x.check(t, x.empty(t), map[string]string{})
		return
	}
	for _, n := range list {
		name := x.file(t)
		x.save(t, name, nil, n)
		x.check(t, name, map[string]string{}, n)
	}
}

func (x examiner) empty(t *testing.T) string {
	name := x.file(t)
	x.save(t, name, nil)
	return name
}

func (x examiner) layouts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	a := random(r, x.Types[len(x.Types)/2], 4, 5, 6)
	turned, _ := a.Transpose(2, 0, 1)
	flipped, _ := a.Flip(0, 2)
	part, _ := a.Slice(1, 1, 5, 2)
	wide, _ := a.Broadcast(2, 4, 5, 6)
	there, err := a.To(storagetest.NewDevice("fake:0"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []named{
		{"turned", a.With(turned)}, {"flipped", a.With(flipped)}, {"part", a.With(part)}, {"wide", a.With(wide)},
		{"there", there}, {"part.there", there.With(part)},
	} {
		name := x.file(t)
		x.save(t, name, nil, n)
		x.check(t, name, map[string]string{}, n)
		x.lazily(t, name, n)
	}
}

// lazily reads a file's array through views, where it is a Source.
func (x examiner) lazily(t *testing.T, name string, n named) {
	f, err := serialize.Open(name)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for e := range f.All() {
		got := e.Array
		if _, ok := got.Data.(storage.Source); ok && got.Contiguous() {
			want, err := n.To(storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			storagetest.TestSource(t, got, want)
		}
	}
}
