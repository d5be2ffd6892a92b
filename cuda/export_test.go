package cuda

import "fmt"

// Pick looks for a GPU by name on a machine that has so many, or finds none because of err.
func Pick(name string, gpus int, err error) error {
	_, err = pick(name, func() ([]*Device, error) {
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

// Sweep frees what the collector has found.
func (d *Device) Sweep() error { return d.sweep() }

// Unstart makes d start NVIDIA's libraries anew.
func Unstart(d *Device) {
	clear(d.vendor.handles[:])
	d.vendor.workspace = nil
}

// Entries are the entries of PTX.
func Entries(text string) map[string][]int { return entries(text) }
