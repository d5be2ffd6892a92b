package column

// SetScratchMemory changes how many bytes of a Scratch are in memory, and returns the number
// before.
func SetScratchMemory(n int) (before int) {
	before, scratchMemory = scratchMemory, n
	return before
}
