// Package all registers every format of package serialize:
//
//	import _ "github.com/h5dnn/h5dnn/serialize/all"
//
// Programs that know their formats import these instead, and are smaller.
package all

import (
	_ "github.com/h5dnn/h5dnn/serialize/anndata"
	_ "github.com/h5dnn/h5dnn/serialize/arrow"
	_ "github.com/h5dnn/h5dnn/serialize/csv"
	_ "github.com/h5dnn/h5dnn/serialize/gguf"
	_ "github.com/h5dnn/h5dnn/serialize/h5ck"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/kerasfile"
	_ "github.com/h5dnn/h5dnn/serialize/matlab"
	_ "github.com/h5dnn/h5dnn/serialize/native"
	_ "github.com/h5dnn/h5dnn/serialize/netcdf"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	_ "github.com/h5dnn/h5dnn/serialize/onnx"
	_ "github.com/h5dnn/h5dnn/serialize/parquet"
	_ "github.com/h5dnn/h5dnn/serialize/png"
	_ "github.com/h5dnn/h5dnn/serialize/raw"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	_ "github.com/h5dnn/h5dnn/serialize/sharded"
	_ "github.com/h5dnn/h5dnn/serialize/tfbundle"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)
