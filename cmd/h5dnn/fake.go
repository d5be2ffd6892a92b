//go:build fakegpus

package main

import _ "github.com/h5dnn/h5dnn/cuda/cudatest" // two GPUs that an interpreter plays, to try the program with
