package atomicfile_test

import (
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"golang.org/x/sys/unix"
)

// dirtyPages writes 64 MiB and returns how many of their pages are only in memory afterwards.
func dirtyPages(t *testing.T, o atomicfile.Options) uint64 {
	t.Helper()
	f, err := atomicfile.Create(filepath.Join(t.TempDir(), "file"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	block := make([]byte, 1<<20)
	for range 64 {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0); err != nil {
		t.Skipf("cachestat: %v", err)
	}
	return stat.Dirty
}

func TestLargeFilesAreWrittenToDiskOnTheWay(t *testing.T) {
	left := dirtyPages(t, atomicfile.Options{NoSync: true})
	if left < 64<<20/4096/2 {
		t.Skipf("only %d pages are dirty without being asked for: the file system writes early by itself", left)
	}
	if dirty := dirtyPages(t, atomicfile.Options{}); dirty > left/4 {
		t.Errorf("%d pages wait for Commit, want less than a quarter of %d", dirty, left)
	}
}
