package tfbundle

import "testing"

// WithoutChecksums switches the verification of checksums of the index off until the end of
// the test, because hardly any mutation would get past them.
func WithoutChecksums(t testing.TB) {
	verifyChecksums = false
	t.Cleanup(func() { verifyChecksums = true })
}
