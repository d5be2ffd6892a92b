package nccl_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/collective"
	"github.com/h5dnn/h5dnn/collective/nccl"
)

func ExampleFromEnvironment() {
	environment := map[string]string{"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "one", "MASTER_PORT": "29500"}
	e, err := nccl.FromEnvironment(func(name string) string { return environment[name] })
	fmt.Println(e.Rank, e.Size, e.LocalRank, e.Address, err)
	// Output: 3 4 1 one:29500 <nil>
}

func TestEnvironments(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"RANK=0 WORLD_SIZE=1":                 "",
		"RANK=1":                              "",
		"RANK=1 WORLD_SIZE=2":                 `LOCAL_RANK is ""`,
		"RANK=2 WORLD_SIZE=2 LOCAL_RANK=0":    "RANK is 2 of a WORLD_SIZE of 2",
		"RANK=x WORLD_SIZE=2 LOCAL_RANK=0":    `RANK is "x"`,
		"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0":    "without MASTER_ADDR and MASTER_PORT",
		"RANK=-1 WORLD_SIZE=many LOCAL_RANK=": `RANK is "-1"`,
	} {
		e, err := nccl.FromEnvironment(func(name string) string {
			_, after, _ := strings.Cut(" "+text+" ", " "+name+"=")
			value, _, _ := strings.Cut(after, " ")
			return value
		})
		if want == "" && (e != nil || err != nil) || want != "" && (err == nil || !errors.Is(err, collective.ErrGroup) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v; want %q", text, e, err, want)
		}
	}
}

// TestTorchrunListensItself: the port that torchrun names is its own.
func TestTorchrunListensItself(t *testing.T) {
	environment := map[string]string{"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "one", "MASTER_PORT": "29500", "TORCHELASTIC_USE_AGENT_STORE": "True"}
	if e, err := nccl.FromEnvironment(func(name string) string { return environment[name] }); err != nil || e.Address != "one:29501" {
		t.Errorf("%v, %v; want the next port", e, err)
	}
}

// freeAddress returns an address where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestHandOut: all ranks get the message of rank 0, whichever comes first, and whatever else connects.
func TestHandOut(t *testing.T) {
	address := freeAddress(t)
	messages, errs := make([][]byte, 4), make([]error, 4)
	var all sync.WaitGroup
	for rank := range messages {
		all.Go(func() {
			messages[rank] = make([]byte, 128)
			if rank == 0 {
				copy(messages[0], "the ID")
				time.Sleep(50 * time.Millisecond)
			}
			errs[rank] = nccl.Environment{Rank: rank, Size: 4, Address: address}.HandOut(messages[rank], time.Minute)
		})
	}
	all.Go(func() {
		for range 100 {
			if c, err := net.Dial("tcp", address); err == nil {
				fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: none of the ranks\r\n\r\n")
				c.Close()
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, m := range messages {
		if string(m) != string(messages[0]) {
			t.Errorf("rank %d has %q", rank, m)
		}
	}
}

// TestHandOutHasALimit: ranks do not wait for ever for one that does not come.
func TestHandOutHasALimit(t *testing.T) {
	address := freeAddress(t)
	for rank, want := range []string{"1 of 2 ranks have come to " + address, "rank 1 has no answer of rank 0 at " + address} {
		err := nccl.Environment{Rank: rank, Size: 2, Address: address}.HandOut(make([]byte, 128), 50*time.Millisecond)
		if !errors.Is(err, collective.ErrGroup) || !strings.Contains(err.Error(), want) {
			t.Errorf("rank %d: %v; want %s", rank, err, want)
		}
	}
}
