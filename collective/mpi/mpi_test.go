//go:build cgo

package mpi_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/collective/collectivetest"
	"github.com/h5dnn/h5dnn/collective/mpi"
)

// TestMain is a rank of TestExchanges where a launcher has started this program.
func TestMain(m *testing.M) {
	if os.Getenv("H5DNN_TEST_RANK") == "" {
		os.Exit(m.Run())
	}
	g, err := mpi.Join()
	if err == nil && g == nil {
		err = fmt.Errorf("no launcher")
	}
	if err == nil {
		err = collectivetest.Check(g)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("rank %d of %d is fine, %d here\n", g.Rank(), g.Size(), g.Local())
	g.End(0)
}

// TestExchanges passes the examiner under each MPI.
func TestExchanges(t *testing.T) {
	folder := t.TempDir()
	if out, err := exec.Command("sh", "../../scripts/mpi.sh", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tried := 0
	for name, flags := range map[string][]string{"openmpi": {"--oversubscribe"}, "mpich": nil} {
		program, err := exec.LookPath("mpirun." + name)
		if err != nil {
			t.Logf("no mpirun.%s here", name)
			continue
		}
		tried++
		c := exec.Command(program, append(flags, "-n", "3", os.Args[0])...)
		c.Env = append(os.Environ(), "H5DNN_TEST_RANK=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", mpi.PathVariable+"="+folder)
		out, err := c.CombinedOutput()
		if err != nil || strings.Count(string(out), "of 3 is fine, 3 here") != 3 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if tried == 0 {
		t.Skip("neither mpirun.openmpi nor mpirun.mpich is here")
	}
}
