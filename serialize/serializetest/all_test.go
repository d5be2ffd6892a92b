package serializetest_test

import (
	"testing"

	_ "github.com/h5dnn/h5dnn/serialize/csv"
	_ "github.com/h5dnn/h5dnn/serialize/h5ck"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/native"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	_ "github.com/h5dnn/h5dnn/serialize/png"
	_ "github.com/h5dnn/h5dnn/serialize/raw"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestFormatsKeepTheirPromises examines every registered format.
func TestFormatsKeepTheirPromises(t *testing.T) { serializetest.TestAll(t) }
