package storage

import "fmt"

// A Peer is a Device that copies within its own memory, and from that of some
// other devices, without a way through the host's.
type Peer interface {
	Device
	// CopyFrom copies src to dst, which is this device's and does not overlap it: of one
	// type and shape, both laid out anyhow. It reports false, having done nothing, where this
	// device cannot reach the memory of src.
	CopyFrom(dst, src Array) (bool, error)
}

// copyPeers copies a to dst of the same type, neither of which is in host memory, if
// one's device can reach the other's.
func (a Array) copyPeers(dst Array) (done bool, err error) {
	peer, ok := dst.Data.Device().(Peer)
	if !ok {
		return false, nil
	}
	done, err = peer.CopyFrom(dst, a)
	return done || err != nil, err
}

// spread puts elements given in row-major order where a shows them, with gaps, by
// way of memory of a's device without.
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
