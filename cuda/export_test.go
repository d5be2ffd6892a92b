package cuda

import (
	"fmt"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/device"
)

// Pick looks for a GPU by name on a machine with the given number of GPUs, or fails with err.
func Pick(name string, gpus int, err error) error {
	_, err = deviceNamed(name, func() ([]*Device, error) {
		all := make([]*Device, gpus)
		for i := range all {
			all[i] = &Device{index: i, Model: fmt.Sprintf("model %d", i)}
		}
		return all, err
	})
	return err
}

// EntrySize returns how many bytes an entry takes.
func (d *Device) EntrySize(entry string) int {
	m, err := d.code.entry(d, entry)
	if err != nil {
		panic(err)
	}
	return m.params[entry][0]
}

// Collect frees unreachable memory.
func (d *Device) Collect() error {
	collect()
	return d.freeGarbage()
}

// Discard has the collector find memory, which there need not be.
func (d *Device) Discard(address uint64) {
	d.garbage.add(block{address: address})
	d.garbage.count++
}

// Unstart makes d start NVIDIA's libraries anew, and choose.
func Unstart(d *Device) {
	clear(d.vendor.handles[:])
	clear(d.vendor.failed[:])
	d.vendor.workspace, d.vendor.choices = nil, nil
}

// Candidates are the paths and versions of cuBLASLt under a driver for a CUDA version.
func Candidates(cuda string) (paths, versions []string) {
	return libraries[cublasLt].candidates(), libraries[cublasLt].versionsUpTo(cuda)
}

// Entries are the entries of PTX.
func Entries(text string) map[string][]int { return entries(text) }

// AllowBranches makes d capture concurrent branches again.
func AllowBranches(d *Device) { d.straightLine = false }

// ClearFallbacks forgets what d does without.
func ClearFallbacks(d *Device) { d.fallbacks.all = nil }

// OpenSublibraries opens what cuDNN opens later.
func OpenSublibraries(path string) error { return openSublibraries(path) }

// ForgetCode makes d load all code anew.
func ForgetCode(d *Device) {
	d.code.mu.Lock()
	defer d.code.mu.Unlock()
	d.code.entries, d.code.loads = nil, nil
}

// WaitForPreload waits until Preload is done.
func WaitForPreload(d *Device) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		found := map[string]bool{}
		for _, l := range d.Loads() {
			found[l.Entry] = true
		}
		missing := false
		for _, entry := range kernels.TrainingEntries {
			missing = missing || !found[entry]
		}
		if !missing {
			return
		}
	}
}

// CodeFile returns where the code of an entry is cached.
func CodeFile(t *testing.T, d *Device, entry string) string {
	text, err := device.Entry(d.Capability, entry)
	if err != nil {
		t.Fatal(err)
	}
	folders := codeFoldersOf(d)
	return folders.name(folders.cache, text)
}

// EncodeCode returns the content of a file of compiled code.
func EncodeCode(code []byte) []byte { return encodeCode(code) }
