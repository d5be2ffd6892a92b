package cuda

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
