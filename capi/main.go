// Command capi is h5dnn as a shared library, for C and all that can call it:
// h5dnn.h is its contract, and says all that the comments here do not repeat.
//
//	go build -buildmode=c-shared -o bin/libh5dnn.so ./capi
//
// It knows files, arrays and who owns what. Structs of DLPack belong to package
// dlpack, arithmetic to no one here.
package main

func main() {}
