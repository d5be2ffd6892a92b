package storage

import "fmt"

// A Peer is a Device that copies within its own memory, and from the memory of some
// other devices, without a copy in host memory.
type Peer interface {
	Device
	// CopyFrom copies src to dst, which is on this device and does not overlap src. They
	// have the same type and shape, and any layout. It reports false, and does nothing,
	// if this device cannot access the memory of src.
	CopyFrom(dst, src Array) (bool, error)
}

// copyPeers copies a to dst of the same type, neither of which is in host memory, if
// the device of dst can access the memory of a.
func (a Array) copyPeers(dst Array) (done bool, err error) {
	peer, ok := dst.Data.Device().(Peer)
	if !ok {
		return false, nil
	}
	done, err = peer.CopyFrom(dst, a)
	return done || err != nil, err
}

// spread writes elements given in row-major order to a, which is not contiguous,
// through contiguous memory on its device.
func (a Array) spread(src []byte) error {
	peer, ok := a.Data.Device().(Peer)
	if !ok {
		return fmt.Errorf("strided elements on %v cannot be written from the host; move them to cpu: %w", a.Data.Device(), ErrDevice)
	}
	dense, err := Make(peer, a.Type, a.Shape...)
	if err != nil {
		return err
	}
	if err := dense.write(src); err != nil {
		return err
	}
	_, err = peer.CopyFrom(a, dense)
	return err
}
