// Command capi is h5dnn as a shared library for C. Its functions are documented in
// h5dnn.h.
//
//	go build -buildmode=c-shared -o bin/libh5dnn.so ./capi
//
// It handles files, arrays and ownership. Package dlpack converts DLPack structs.
package main

func main() {}
