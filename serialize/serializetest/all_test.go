package serializetest_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
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

var large = flag.Bool("large", false, "save arrays of more than 4 GiB in every format")

// TestMoreThan4GiB saves more than 4 GiB: in formats of checkpoints to a sparse file, and in all
// others, if -large is given, to the disk.
func TestMoreThan4GiB(t *testing.T) {
	sparse := []string{"native", "npy", "npz", "safetensors", "torch"} // h5ck has a test of its own
	for _, name := range serialize.Formats() {
		f, err := serialize.ByName(name)
		if err != nil || f.Open == nil || f.Save == nil && f.SaveFile == nil || !f.Holds(dtype.Uint8) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			switch {
			case *large:
			case !slices.Contains(sparse, name):
				t.Skip("-large writes 4 GiB to the disk")
			case testing.Short():
				t.Skip("goes through 4 GiB")
			}
			serializetest.TestLarge(t, name)
		})
	}
}
