package mpi

import (
	"fmt"
	"strconv"
)

// Launcher returns the MPI of the launcher that has started a process, openmpi or mpich, by its environment, or "" if
// none has. It is an error if several processes were started that do not know of each other.
func Launcher(getenv func(string) string) (string, error) {
	switch {
	case getenv("OMPI_COMM_WORLD_SIZE") != "", getenv("PMIX_RANK") != "":
		return "openmpi", nil
	case getenv("PMI_RANK") != "", getenv("PMI_SIZE") != "":
		return "mpich", nil
	}
	if n, err := strconv.Atoi(getenv("SLURM_STEP_NUM_TASKS")); err == nil && n > 1 {
		return "", fmt.Errorf("mpi: srun has started %d processes without PMIx or PMI, by which they find each other; use the mpi=pmix of srun with Open MPI, or its mpi=pmi2 with MPICH", n)
	}
	return "", nil
}

// RankOf returns the rank that the launcher has given a process, by its environment, and 0 without a launcher.
func RankOf(getenv func(string) string) int {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"} {
		if rank, err := strconv.Atoi(getenv(name)); err == nil {
			return rank
		}
	}
	return 0
}
