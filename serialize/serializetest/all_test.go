package serializetest_test

import (
	"flag"
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

// TestMoreThan4GiB in every format; those of one array of numbers, too.
func TestMoreThan4GiB(t *testing.T) {
	if !*large {
		t.Skip("-large saves 4 GiB in every format")
	}
	for _, name := range serialize.Formats() {
		if f, err := serialize.ByName(name); err != nil || f.Open == nil || f.Save == nil && f.SaveFile == nil || !f.Holds(dtype.Uint8) {
			continue
		}
		t.Run(name, func(t *testing.T) { serializetest.TestLarge(t, name) })
	}
}
