package mpi_test

import (
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/collective/mpi"
)

func ExampleLauncher() {
	environment := map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}
	getenv := func(name string) string { return environment[name] }
	name, err := mpi.Launcher(getenv)
	fmt.Println(name, mpi.RankOf(getenv), err)
	// Output: openmpi 1 <nil>
}

func TestLaunchers(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		name        string
		fails       bool
	}{
		{nil, "", false},
		{map[string]string{"PMI_RANK": "0"}, "mpich", false},
		{map[string]string{"PMIX_RANK": "2", "SLURM_STEP_NUM_TASKS": "4"}, "openmpi", false},
		{map[string]string{"SLURM_STEP_NUM_TASKS": "1"}, "", false},
		{map[string]string{"SLURM_STEP_NUM_TASKS": "4"}, "", true},
	} {
		name, err := mpi.Launcher(func(name string) string { return c.environment[name] })
		if name != c.name || (err != nil) != c.fails {
			t.Errorf("%v: %q, %v", c.environment, name, err)
		}
	}
}
