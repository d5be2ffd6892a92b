// Package collective lets the processes of one run exchange bytes. A Group is one of the implementations: Local for
// goroutines of a process, and those that other packages register for the launcher that started the process.
package collective

import (
	"encoding/binary"
	"errors"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// ErrGroup is the kind of error, for errors.Is, of an exchange that another process has ended.
var ErrGroup = errors.New("the processes of the run do not go on together")

// A Group is a process of several that do the same steps, and start the same exchanges in the same order. It is
// used by one goroutine at a time.
type Group interface {
	Rank() int // of this process, from 0
	Size() int // number of processes, at least 1
	// Start begins to send send[r] to each rank r, this one included, and to fill receive[r] with what r sends here. Both
	// have an element for each rank, which may be empty, and what is sent is as long as what is received. Several exchanges
	// may go on at a time. Until wait returns, the caller neither writes to send nor touches receive.
	Start(send, receive [][]byte) (wait Wait)
	// StartSum begins to replace values, of a float type, by their sums over all ranks, which are added in an order of the
	// implementation's choice. All ranks get the same bits. Until wait returns, the caller does not touch values.
	StartSum(t dtype.Type, values []byte) (wait Wait)
	// Abort ends the group, whose other processes fail in their next exchange or are ended. A nil reason is an orderly end.
	Abort(reason error)
}

// A DeviceGroup is a Group whose ranks have a device each, whose memory they exchange without the host.
type DeviceGroup interface {
	Group
	Device() storage.Device
	// StartArrays begins to send send[r] to each rank r and to fill receive[r] with what r sends here. Arrays are dense and on the
	// device; those without storage are not exchanged. Work that uses them may be issued to the device before wait returns.
	StartArrays(send, receive []storage.Array) (wait Wait)
}

// A Wait returns once an exchange is done, or cannot be. It is called once. An error is final: the group is of no more use.
type Wait func() error

// Exchange starts an exchange and waits for it.
func Exchange(g Group, send, receive [][]byte) error { return g.Start(send, receive)() }

// Gather returns the bytes of all ranks, by rank. Their lengths may differ.
func Gather(g Group, mine []byte) ([][]byte, error) {
	n := g.Size()
	send, lengths := make([][]byte, n), make([][]byte, n)
	for r := range n {
		send[r], lengths[r] = binary.LittleEndian.AppendUint64(nil, uint64(len(mine))), make([]byte, 8)
	}
	if err := Exchange(g, send, lengths); err != nil {
		return nil, err
	}
	all := make([][]byte, n)
	for r := range n {
		send[r], all[r] = mine, make([]byte, binary.LittleEndian.Uint64(lengths[r]))
	}
	return all, Exchange(g, send, all)
}
