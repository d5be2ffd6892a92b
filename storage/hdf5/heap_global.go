package hdf5

import (
	"fmt"
	"sync"
)

// Values of variable length lie in collections, the global heap, and are
// pointed at from where they belong:
//
//	collection                   an object in it              a pointer
//	| GCOL            | 4        | its number      | 2        | length      | 4
//	| 1               | 1        | references      | 2        | collection  | O
//	| 0               | 3        | 0               | 4        | number      | 4
//	| size            | L        | size            | L
//	| object …                   | bytes, padded to 8
//
// Object 0 is the free space at the end.
type collection map[int][]byte

// heapCache keeps the collections that were read last.
type heapCache struct {
	sync.Mutex
	known map[uint64]collection
	bytes int
}

const maxHeapCache = 32 << 20

// heapObject returns an object of a collection.
func (f *File) heapObject(address uint64, number int) ([]byte, error) {
	all, err := f.collection(address)
	if err != nil {
		return nil, err
	}
	object, ok := all[number]
	if !ok {
		return nil, fmt.Errorf("global heap at %d: no object %d", address, number)
	}
	return object, nil
}

func (f *File) collection(address uint64) (collection, error) {
	f.heaps.Lock()
	defer f.heaps.Unlock()
	if c, ok := f.heaps.known[address]; ok {
		return c, nil
	}
	c, size, err := f.readCollection(address)
	if err != nil {
		return nil, err
	}
	if f.heaps.known == nil || f.heaps.bytes+size > maxHeapCache {
		f.heaps.known, f.heaps.bytes = map[uint64]collection{}, 0
	}
	f.heaps.known[address] = c
	f.heaps.bytes += size
	return c, nil
}

func (f *File) readCollection(address uint64) (collection, int, error) {
	prefix := f.cursor("global heap", address, 8+f.length)
	prefix.signature("GCOL", 1)
	prefix.skip(3)
	size := prefix.size()
	c := f.cursor("global heap", address, size)
	if prefix.err != nil {
		return nil, 0, prefix.err
	}
	c.skip(8 + f.length)
	objects := collection{}
	for c.err == nil && c.remaining() >= 8+f.length {
		number := c.u16()
		c.skip(6)
		n := c.size()
		if number == 0 {
			break
		}
		objects[number] = c.bytes(n)
		c.skip(min(-n&7, c.remaining()))
	}
	return objects, size, c.err
}
