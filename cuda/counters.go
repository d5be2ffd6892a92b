package cuda

import (
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
)

// blockCounters is device memory where the thread blocks of a launch count themselves.
type blockCounters struct{ where storage.Storage }

// start allocates zeroed counters on d.
func (c *blockCounters) start(d *Device) error {
	m := &memory{size: 4 * launch.Counters, device: d}
	var err error
	if m.address, err = d.alloc(m.size); err != nil {
		return err
	}
	c.where = m
	return d.Upload(m, 0, make([]byte, m.size))
}

// BlockCounters returns the address of [launch.Counters] of them.
func (d *Device) BlockCounters() uint64 { return d.Address(d.counters.where) }
