package storage

// A Peer is a Device that copies within its own memory, and from that of some
// other devices, without a way through the host's.
type Peer interface {
	Device
	// CopyFrom copies n bytes of src, from offset from on, to dst, which is this
	// device's, from offset to on. It reports false, having done nothing, where
	// this device cannot reach the memory of src.
	CopyFrom(dst Storage, to int, src Storage, from, n int) (bool, error)
}

// copyPeers copies a to dst of the same type, neither of which is in host memory, if
// both are contiguous and one's device can reach the other's.
func (a Array) copyPeers(dst Array) (done bool, err error) {
	peer, ok := dst.Data.Device().(Peer)
	if !ok || !a.Contiguous() || !dst.Contiguous() {
		return false, nil
	}
	size := a.Type.Size()
	done, err = peer.CopyFrom(dst.Data, dst.Offset*size, a.Data, a.Offset*size, a.Len()*size)
	return done || err != nil, err
}
