// Command libcuda is the driver of package cudatest as a shared library, with fakes of cuBLASLt
// and cuDNN: programs load it in the place of NVIDIA's as they load a real driver, by H5DNN_LIBCUDA
// and H5DNN_CUDA_LIBS.
//
//	go build -buildmode=c-shared -o libcuda.so.1 ./cuda/cudatest/libcuda
package main

import "C"

import _ "github.com/h5dnn/h5dnn/cuda/cudatest"

func main() {}
