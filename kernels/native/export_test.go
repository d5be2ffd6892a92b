package native

// SetMostPlans sets how many plans are cached, and returns how many were.
func SetMostPlans(n int) (old int) {
	plans.Lock()
	defer plans.Unlock()
	old, plans.most = plans.most, n
	return old
}

// Plans returns how many plans are cached.
func Plans() int { return len(plans.of) }

// SetCache sets the size of the cache until the function it returns is called.
func SetCache(bytes int) (restore func()) {
	setCache(bytes)
	return func() { setCache(largestCache()) }
}
