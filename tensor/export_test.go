package tensor

import "github.com/h5dnn/h5dnn/storage"

// SetTileSize sets the number of elements that are computed at once, and returns a function
// that restores it.
func SetTileSize(n int) (restore func()) {
	old := tileSize
	tileSize = n
	return func() { tileSize = old }
}

// SetMostWaiting sets the number of bytes of parts of a reduction from which on a job waits for its turn, and returns a
// function that restores it.
func SetMostWaiting(n int) (restore func()) {
	old := mostWaiting
	mostWaiting = n
	return func() { mostWaiting = old }
}

// OverwriteUnread calls overwrite with the memory of each result that y was computed from whose elements no Backward
// says that it reads, and returns how many there are.
func OverwriteUnread(y *Tensor, overwrite func(a storage.Array)) (n int) {
	unread, read := map[storage.Storage]storage.Array{}, map[storage.Storage]bool{}
	seen := map[*node]bool{nil: true}
	var visit func(n *node)
	visit = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		operands, results := n.reads()
		note := func(x *Tensor, reads bool) {
			unread[x.array.Data] = x.array
			read[x.array.Data] = read[x.array.Data] || reads
		}
		for _, y := range n.out {
			note(y, results)
		}
		for i, x := range n.operands() {
			note(x, operands&(1<<i) != 0)
			visit(x.node)
		}
	}
	visit(y.node)
	for data, a := range unread {
		if !read[data] {
			overwrite(a)
			n++
		}
	}
	return n
}
