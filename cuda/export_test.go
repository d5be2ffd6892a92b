package cuda

import "fmt"

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
	d.vendor.workspace, d.vendor.choices = nil, nil
}

// Candidates are where cuBLASLt may lie, and of which versions under a driver for a CUDA.
func Candidates(cuda string) (paths, versions []string) {
	return libraries[cublasLt].candidates(), libraries[cublasLt].versionsUpTo(cuda)
}

// Entries are the entries of PTX.
func Entries(text string) map[string][]int { return entries(text) }
