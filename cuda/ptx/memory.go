package ptx

import (
	"fmt"
	"slices"
	"sort"
	"sync"
)

// Memory is a GPU's global memory. Its addresses are not host addresses, there are
// unallocated gaps between allocations, and addresses are not reused.
type Memory struct {
	mu      sync.RWMutex
	next    uint64
	spans   []*span // by base
	atomics [64]sync.Mutex
}

// A span is one allocation; its bytes are nil once it is freed.
type span struct {
	base  uint64
	size  int
	bytes []byte
}

const (
	gap           = 512  // between allocations, at least
	poison        = 0xff // fills new memory: NaNs, and unlikely integers
	addressStride = 1 << 46
)

// NewMemory returns empty memory; memories of different numbers have different addresses.
func NewMemory(number int) *Memory { return &Memory{next: uint64(number+1) * addressStride} }

// Alloc allocates size bytes of poisoned memory and returns their address.
func (m *Memory) Alloc(size int) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &span{m.next, size, slices.Repeat([]byte{poison}, size)}
	m.next += (uint64(size)+2*gap-1)/gap*gap + gap
	m.spans = append(m.spans, s)
	return s.base
}

// Skip leaves a gap of addresses before the next allocation.
func (m *Memory) Skip(bytes uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next += (bytes + gap - 1) / gap * gap
}

// Poison poisons an allocation again.
func (m *Memory) Poison(address uint64) error {
	s, err := m.span(address, 0)
	for i := range s.bytes {
		s.bytes[i] = poison
	}
	return err
}

// Free frees an allocation. Later accesses to its addresses are errors.
func (m *Memory) Free(address uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(address)
	if s == nil || s.base != address || s.bytes == nil {
		return fmt.Errorf("free %#x: no allocation starts there", address)
	}
	s.bytes = nil
	return nil
}

// Bytes returns n bytes at an address, which must be of one allocation.
func (m *Memory) Bytes(address uint64, n int) ([]byte, error) {
	s, err := m.span(address, n)
	if err != nil {
		return nil, err
	}
	at := int(address - s.base)
	return s.bytes[at : at+n : at+n], nil
}

// span returns the allocation that holds n bytes at an address.
func (m *Memory) span(address uint64, n int) (span, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.find(address)
	switch {
	case s == nil:
		return span{}, fmt.Errorf("address %#x is in no allocation", address)
	case s.bytes == nil:
		return span{}, fmt.Errorf("address %#x is in memory that was freed", address)
	case !s.holds(address, n):
		return span{}, fmt.Errorf("%d bytes at offset %d reach outside an allocation of %d", n, address-s.base, len(s.bytes))
	}
	return *s, nil
}

// holds reports whether s, which may be nothing, has n bytes at an address.
func (s *span) holds(address uint64, n int) bool {
	at := address - s.base
	return at <= uint64(len(s.bytes)) && n >= 0 && uint64(n) <= uint64(len(s.bytes))-at && s.bytes != nil
}

// find returns the allocation that contains an address, or ends there.
func (m *Memory) find(address uint64) *span {
	i := sort.Search(len(m.spans), func(i int) bool { return m.spans[i].base > address }) - 1
	if i < 0 || address-m.spans[i].base > uint64(m.spans[i].size) {
		return nil
	}
	return m.spans[i]
}
