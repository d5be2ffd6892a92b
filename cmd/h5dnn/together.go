//go:build cgo

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/collective/mpi"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/train"
)

// together is the processes of a run that mpirun or srun has started, nil if this one is alone.
var together *mpi.Group

// join finds the other processes of a run. Only the first of them prints.
func join(c *cli.Context) (err error) {
	if together, err = mpi.Join(); err != nil || together == nil {
		return err
	}
	if together.Rank() > 0 {
		c.App.Writer, c.App.ErrWriter = io.Discard, io.Discard
	}
	return nil
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
	if rank := mpi.RankOf(os.Getenv); err != nil && rank > 0 {
		time.Sleep(2*time.Second + time.Duration(rank)*300*time.Millisecond)
	}
}

// withRank returns err with the number of this process, if it is not the first.
func withRank(err error) error {
	if rank := mpi.RankOf(os.Getenv); err != nil && rank > 0 {
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
