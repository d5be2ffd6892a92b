//go:build cgo

// Package nccl is the collective.Group of processes with a GPU each, which exchange by NVIDIA's NCCL. It needs no MPI: processes know their ranks from
// RANK, WORLD_SIZE and LOCAL_RANK, and find each other at MASTER_ADDR:MASTER_PORT.
package nccl

import (
	"fmt"
	"time"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

var _ collective.DeviceGroup = (*Group)(nil)

// A Group is processes with a GPU each.
type Group struct {
	environment Environment
	device      *cuda.Device
	ranks       *cuda.Communicator
}

// Join returns the group of the processes of an environment, once all have joined, or an error after a time limit. The GPU of this one is d.
func Join(e Environment, d *cuda.Device, limit time.Duration) (*Group, error) {
	id, err := make([]byte, cuda.CommunicatorIDSize), cuda.CheckNCCL() // before others are waited for
	if err == nil && e.Rank == 0 {
		id, err = cuda.NewCommunicatorID()
	}
	if err != nil {
		return nil, fmt.Errorf("nccl: %w", err)
	}
	if err := e.HandOut(id, limit); err != nil {
		return nil, err
	}
	ranks, err := d.NewCommunicator(id, e.Rank, e.Size)
	if err != nil {
		return nil, fmt.Errorf("nccl: %w", err)
	}
	return &Group{e, d, ranks}, nil
}

// Rank returns the number of this process, from 0.
func (g *Group) Rank() int { return g.environment.Rank }

// Size returns the number of processes.
func (g *Group) Size() int { return g.environment.Size }

// Local returns the number of processes on this host.
func (g *Group) Local() int { return max(1, g.environment.LocalSize) }

// Device implements collective.DeviceGroup.
func (g *Group) Device() storage.Device { return g.device }

// StartArrays implements collective.DeviceGroup.
func (g *Group) StartArrays(send, receive []storage.Array) collective.Wait {
	if err := g.ranks.Exchange(send, receive); err != nil {
		return g.ended(err)
	}
	return func() error { return g.wait() }
}

func (g *Group) wait() error {
	if err := g.ranks.Wait(); err != nil {
		return g.ended(err)()
	}
	return nil
}

func (g *Group) ended(err error) collective.Wait {
	return func() error { return fmt.Errorf("%w: rank %d of %d: %w", collective.ErrGroup, g.Rank(), g.Size(), err) }
}

// Start implements collective.Group. Messages pass through the memory of the GPU.
func (g *Group) Start(send, receive [][]byte) collective.Wait {
	if len(send) != g.Size() || len(receive) != g.Size() || len(send[g.Rank()]) != len(receive[g.Rank()]) {
		return g.ended(fmt.Errorf("exchange of %d and %d messages", len(send), len(receive)))
	}
	there, here := make([]storage.Array, g.Size()), make([]storage.Array, g.Size())
	var err error
	for r := range there {
		if r == g.Rank() {
			copy(receive[r], send[r])
			continue
		}
		if there[r], err = g.upload(dtype.Uint8, send[r]); err != nil {
			return g.ended(err)
		}
		if here[r], err = storage.Make(g.device, dtype.Uint8, len(receive[r])); err != nil {
			return g.ended(err)
		}
	}
	exchanged := g.StartArrays(there, here)
	return func() error {
		if err := exchanged(); err != nil {
			return err
		}
		for r, a := range here {
			if a.Data != nil {
				if err := g.device.Download(receive[r], a.Data, 0); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// upload returns an array of bytes on the device.
func (g *Group) upload(t dtype.Type, bytes []byte) (storage.Array, error) {
	a, err := storage.Make(g.device, t, len(bytes)/t.Size())
	if err != nil || len(bytes) == 0 {
		return a, err
	}
	return a, g.device.Upload(a.Data, 0, bytes)
}

// StartSum implements collective.Group by ncclAllReduce.
func (g *Group) StartSum(t dtype.Type, values []byte) collective.Wait {
	a, err := g.upload(t, values)
	if err == nil {
		err = g.ranks.Sum(a)
	}
	if err != nil {
		return g.ended(err)
	}
	return func() error {
		if err := g.wait(); err != nil || len(values) == 0 {
			return err
		}
		return g.device.Download(values, a.Data, 0)
	}
}

// Abort implements collective.Group: the others fail in their next exchange, or are ended by their launcher.
func (g *Group) Abort(reason error) {
	if reason != nil {
		g.ranks.Abort()
	}
}

// End ends this process's part in the group. A status other than 0 ends it at once; the launcher then ends the others.
func (g *Group) End(status int) {
	if status != 0 || g.ranks.Wait() != nil {
		g.ranks.Abort()
		return
	}
	g.ranks.Close()
}
