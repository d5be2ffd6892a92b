package serializetest_test

import (
	"testing"

	_ "github.com/h5dnn/h5dnn/serialize/anndata"
	_ "github.com/h5dnn/h5dnn/serialize/arrow"
	_ "github.com/h5dnn/h5dnn/serialize/csv"
	_ "github.com/h5dnn/h5dnn/serialize/h5ck"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/matlab"
	_ "github.com/h5dnn/h5dnn/serialize/native"
	_ "github.com/h5dnn/h5dnn/serialize/netcdf"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	_ "github.com/h5dnn/h5dnn/serialize/png"
	_ "github.com/h5dnn/h5dnn/serialize/raw"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestFormatsKeepTheirPromises examines every registered format.
func TestFormatsKeepTheirPromises(t *testing.T) { serializetest.TestAll(t) }

// TestFilesThatDoNotFitAreRefused saves an array that is larger than any disk: formats of checkpoints
// refuse it before they write.
func TestFilesThatDoNotFitAreRefused(t *testing.T) {
	for _, name := range []string{"native", "safetensors", "torch", "h5ck", "h5ck-exact"} {
		t.Run(name, func(t *testing.T) { serializetest.TestSpace(t, name) })
	}
}
