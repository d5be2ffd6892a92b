package main

import (
	"context"
	"os"
)

func Example_slice() {
	run(context.Background(), []string{"h5dnn", "slice", "../../testdata/digits.h5:/test/images[0]"}, os.Stdout, os.Stderr)
	// Output:
	// [[ 0  0  9 16 13  1  0  0]
	//  [ 0  8 16  8 11  8  0  0]
	//  [ 0 11 10  0  8 10  0  0]
	//  [ 0  1  5  0 11 11  0  0]
	//  [ 0  0  0  0 13  9  0  0]
	//  [ 0  0  0  4 16  2  0  0]
	//  [ 0  0  4 14 15  7  4  1]
	//  [ 0  0  8 16 16 16 16 12]]
}

func Example_inspect() {
	run(context.Background(), []string{"h5dnn", "inspect", "../../testdata/digits.h5:/test/images"}, os.Stdout, os.Stderr)
	// Output:
	// ../../testdata/digits.h5  hdf5, 59.6 KiB
	// /test/images  uint8 (360, 8, 8)  chunked (128, 8, 8), deflate, 22.5 KiB in 9.1 KiB, ratio 2.48
	//   @description = "8x8 pixels: how many of 4x4 dots are inked"
	//   @range = [0, 16]
}
