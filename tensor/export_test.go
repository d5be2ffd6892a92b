package tensor

// SetTileSize sets the number of elements that are computed at once, and returns a function
// that restores it.
func SetTileSize(n int) (restore func()) {
	old := tileSize
	tileSize = n
	return func() { tileSize = old }
}
