//go:build cgo

package nccl_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/collective/collectivetest"
	"github.com/h5dnn/h5dnn/collective/nccl"
	"github.com/h5dnn/h5dnn/cuda"
	_ "github.com/h5dnn/h5dnn/cuda/cudatest" // the driver, and NCCL
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// TestMain is a rank of TestExchanges where RANK is set.
func TestMain(m *testing.M) {
	if os.Getenv("RANK") == "" {
		os.Exit(m.Run())
	}
	if err := rank(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func rank() error {
	e, err := nccl.FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	devices, err := cuda.Devices()
	if err != nil {
		return err
	}
	g, err := nccl.Join(*e, devices[e.LocalRank], time.Minute)
	if err != nil {
		return err
	}
	if err := collectivetest.Check(g); err != nil {
		return err
	}
	if err := checkArrays(g); err != nil {
		return fmt.Errorf("rank %d: %w", g.Rank(), err)
	}
	fmt.Printf("rank %d of %d is fine\n", g.Rank(), g.Size())
	g.End(0)
	return nil
}

// checkArrays exchanges parts of arrays on the devices, and computes with them without a wait of the host.
func checkArrays(g *nccl.Group) error {
	values := make([]float32, 3*g.Size())
	for i := range values {
		values[i] = float32(100*g.Rank() + i)
	}
	mine, err := storage.From(values, len(values)).To(g.Device())
	if err != nil {
		return err
	}
	send, receive := make([]storage.Array, g.Size()), make([]storage.Array, g.Size())
	for r := range g.Size() {
		send[r] = mine
		if send[r].View, err = mine.View.Slice(0, 3*r, 3*r+3, 1); err != nil {
			return err
		}
		if receive[r], err = storage.Make(g.Device(), dtype.Float32, 3); err != nil {
			return err
		}
	}
	wait := g.StartArrays(send, receive)
	for r, a := range receive {
		got, err := storage.Read[float32](a)
		if err != nil {
			return err
		}
		for i, v := range got {
			if want := float32(100*r + 3*g.Rank() + i); v != want {
				return fmt.Errorf("element %d from rank %d: %v; want %v", i, r, v, want)
			}
		}
	}
	if err := wait(); err != nil {
		return err
	}
	if send[0].View, err = mine.View.Slice(0, 0, 3, 2); err != nil {
		return err
	}
	if err := g.StartArrays(send, receive)(); err == nil || !strings.Contains(err.Error(), "not dense") {
		return fmt.Errorf("an exchange of every second element: %v", err)
	}
	return nil
}

// TestExchanges passes the examiner on processes, two of them on a host with two GPUs.
func TestExchanges(t *testing.T) {
	for _, size := range []int{2, 4} {
		address := freeAddress(t)
		host, port, _ := strings.Cut(address, ":")
		outs := make([]bytes.Buffer, size)
		errs := make([]error, size)
		var all sync.WaitGroup
		for rank := range size {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), fmt.Sprint("RANK=", rank), fmt.Sprint("WORLD_SIZE=", size), fmt.Sprint("LOCAL_RANK=", rank%2), "MASTER_ADDR="+host, "MASTER_PORT="+port)
			c.Stdout, c.Stderr = &outs[rank], &outs[rank]
			all.Go(func() { errs[rank] = c.Run() })
		}
		all.Wait()
		for rank, err := range errs {
			if want := fmt.Sprintf("rank %d of %d is fine\n", rank, size); err != nil || outs[rank].String() != want {
				t.Errorf("%d processes, rank %d: %v\n%s", size, rank, err, &outs[rank])
			}
		}
	}
}
