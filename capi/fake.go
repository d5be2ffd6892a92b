//go:build fakegpus

package main

import _ "github.com/h5dnn/h5dnn/cuda/cudatest" // two interpreted GPUs, to test the library with
