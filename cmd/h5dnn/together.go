//go:build cgo

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/collective/mpi"
	"github.com/h5dnn/h5dnn/collective/nccl"
	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// A processGroup is the processes of a run that a launcher has started.
type processGroup interface {
	collective.Group
	Local() int     // number of processes on this host
	End(status int) // of this process's part; one other than 0 ends the others too
}

// together is the processes of a run that mpirun, srun or, with a GPU each, another launcher has started; nil if this one is alone.
var together processGroup

// join finds the other processes of a run. Only the first of them prints.
func join(c *cli.Context) error {
	if g, err := mpi.Join(); err != nil {
		return err
	} else if g != nil {
		together = g
	} else if err := joinGPUs(); err != nil || together == nil {
		return err
	}
	if together.Rank() > 0 {
		c.App.Writer, c.App.ErrWriter = io.Discard, io.Discard
	}
	return nil
}

// joinLimit is how long processes without MPI wait for each other.
const joinLimit = 2 * time.Minute

// joinGPUs finds the other processes of a run by the variables that launchers without MPI set. Each has a GPU.
func joinGPUs() error {
	e, err := nccl.FromEnvironment(os.Getenv)
	if e == nil || err != nil {
		return err
	}
	g, err := func() (*nccl.Group, error) {
		devices, err := cuda.Devices()
		if err != nil {
			return nil, err
		}
		if e.LocalRank >= len(devices) {
			return nil, fmt.Errorf("LOCAL_RANK is %d, and the number of GPUs here %d", e.LocalRank, len(devices))
		}
		return nccl.Join(*e, devices[e.LocalRank], joinLimit)
	}()
	if err != nil {
		return fmt.Errorf("RANK and WORLD_SIZE name %d processes; without mpirun each needs a GPU, and NCCL: %w; or start them with mpirun -n %d", e.Size, err, e.Size)
	}
	together = g
	return nil
}

// ownGPU returns the GPU of this process if the launcher has chosen one.
func ownGPU(config train.Config) (storage.Device, error) {
	g, ok := together.(*nccl.Group)
	if !ok {
		return nil, nil
	}
	if !strings.HasPrefix(config.Device, "cuda") {
		return nil, fmt.Errorf("device: processes that NCCL joins have a GPU each; want cuda:0, for all, or start them with mpirun")
	}
	return g.Device(), nil
}

// rankHere returns the number that a launcher has given this process, or 0.
func rankHere() int {
	e, _ := nccl.FromEnvironment(os.Getenv)
	if e == nil {
		e = &nccl.Environment{}
	}
	return cmp.Or(mpi.RankOf(os.Getenv), e.Rank)
}

// group returns the processes of the run, nil if there is one.
func group() collective.Group {
	if together == nil || together.Size() == 1 {
		return nil
	}
	return together
}

// processes returns the number of processes of the run.
func processes() int {
	if together == nil {
		return 1
	}
	return together.Size()
}

// first reports whether this process is the only one of the run, or the one that writes files.
func first() bool { return together == nil || together.Rank() == 0 }

// shareThreads divides the processors of this host among its processes, unless c says how many threads each has.
func shareThreads(c train.Config) {
	if together != nil && c.Threads == 0 {
		native.SetThreads(max(1, native.Threads()/together.Local()))
	}
}

// shareConfig gives all processes the configuration of a run that the first has made, in which numbers for normalization
// are: so only that one reads all samples for them.
func shareConfig(c *train.Config) error {
	g := group()
	if g == nil {
		return nil
	}
	var mine []byte
	if first() {
		var err error
		if mine, err = json.Marshal(c); err != nil {
			return err
		}
	}
	all, err := collective.Gather(g, mine)
	if err == nil && !first() {
		*c, err = train.ParseConfig(all[0])
	}
	return err
}

// awaitFirst lets the first process print an error that all have. It ends the others.
func awaitFirst(err error) {
	if rank := rankHere(); err != nil && rank > 0 {
		time.Sleep(2*time.Second + time.Duration(rank)*300*time.Millisecond)
	}
}

// withRank returns err with the number of this process, if it is not the first.
func withRank(err error) error {
	if rank := rankHere(); err != nil && rank > 0 {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	return err
}

// leave ends the processes of the run with a status. After a stop that all have agreed on they end in order.
func leave(status int, err error) {
	if together == nil {
		return
	}
	if errors.As(err, new(interruptedError)) {
		status = statusFine
	}
	if status != statusFine {
		time.Sleep(200 * time.Millisecond) // the launcher passes on what was printed
	}
	together.End(status)
}
