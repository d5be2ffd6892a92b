package scratch

import "testing"

// TestClasses: a slice of a class has room for every size of it, and at most a quarter more.
func TestClasses(t *testing.T) {
	of := map[int]int{} // capacities by class
	for size := range 5000 {
		number, capacity := class(size)
		if known, ok := of[number]; capacity < size || ok && known != capacity {
			t.Errorf("size %d: capacity %d of class %d, another %d", size, capacity, number, known)
		}
		if size > 64 && 4*capacity > 5*size {
			t.Errorf("size %d: capacity %d", size, capacity)
		}
		of[number] = capacity
	}
	if b := Get(100); len(b) != 100 {
		t.Errorf("%d bytes", len(b))
	}
	if _, capacity := class(1 << 40); capacity != 1<<40 {
		t.Errorf("capacity %d for 1 TiB", capacity)
	}
}
