package cuda

// EntrySize returns how many bytes an entry takes.
func (d *Device) EntrySize(entry string) int { return d.module.params[entry][0] }

// Sweep frees what the collector has found.
func (d *Device) Sweep() error { return d.sweep() }
