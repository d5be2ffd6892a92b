package nccl

import (
	"cmp"
	"fmt"
	"net"
	"strconv"

	"github.com/h5dnn/h5dnn/collective"
)

// An Environment says which of several processes this one is, as launchers such as torchrun do.
type Environment struct {
	Rank, Size           int    // RANK, WORLD_SIZE
	LocalRank, LocalSize int    // LOCAL_RANK, LOCAL_WORLD_SIZE: among the processes of this host
	Address              string // MASTER_ADDR:MASTER_PORT, where rank 0 hands out the ID of the communicator; under torchrun the next port
}

// FromEnvironment returns the environment of a process of several, or nil without RANK or if WORLD_SIZE is absent or 1.
func FromEnvironment(getenv func(string) string) (*Environment, error) {
	if getenv("RANK") == "" || getenv("WORLD_SIZE") == "" || getenv("WORLD_SIZE") == "1" {
		return nil, nil
	}
	e := &Environment{}
	for _, v := range []struct {
		name, otherwise string
		to              *int
	}{{"RANK", "", &e.Rank}, {"WORLD_SIZE", "", &e.Size}, {"LOCAL_RANK", "", &e.LocalRank}, {"LOCAL_WORLD_SIZE", "1", &e.LocalSize}} {
		text := cmp.Or(getenv(v.name), v.otherwise)
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("nccl: %s is %q; want a number, as torchrun sets it, or unset WORLD_SIZE to train in one process: %w", v.name, text, collective.ErrGroup)
		}
		*v.to = n
	}
	if e.Rank >= e.Size {
		return nil, fmt.Errorf("nccl: RANK is %d of a WORLD_SIZE of %d; ranks begin at 0: %w", e.Rank, e.Size, collective.ErrGroup)
	}
	host, port := getenv("MASTER_ADDR"), getenv("MASTER_PORT")
	if host == "" || port == "" {
		return nil, fmt.Errorf("nccl: %d processes without MASTER_ADDR and MASTER_PORT, where rank 0 waits for the others: %w", e.Size, collective.ErrGroup)
	}
	if getenv("TORCHELASTIC_USE_AGENT_STORE") == "True" { // torchrun itself listens there
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("nccl: MASTER_PORT is %q; want a number: %w", port, collective.ErrGroup)
		}
		port = strconv.Itoa(n + 1)
	}
	e.Address = net.JoinHostPort(host, port)
	return e, nil
}
