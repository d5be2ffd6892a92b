package dataconfig

// JoinOnDemand makes joined columns be read when they are needed until the returned
// function is called.
func JoinOnDemand() (restore func()) {
	before := joinedBytes
	joinedBytes = 0
	return func() { joinedBytes = before }
}
