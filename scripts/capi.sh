#!/bin/sh
# Builds the shared library, which exports only the names in h5dnn.h, and copies the header, to the folder of the second
# argument, by default bin; and, unless the first one is release, a second one with two interpreted GPUs, for tests.
set -eu
cd "$(dirname "$0")/.."

library() {
	go build -buildmode=c-shared -tags "$2" -o "$1/libh5dnn.so" \
		-ldflags "$3 -extldflags '-Wl,-soname,libh5dnn.so -Wl,--version-script=$PWD/capi/h5dnn.map'" ./capi
	rm "$1/libh5dnn.h" # Go's, without the contract
}

bin=${2-bin}
library "$bin" '' '-s -w'
[ "${1-}" = release ] || library "$bin/fakegpus" fakegpus ''
cp capi/h5dnn.h "$bin/"
echo "capi: $bin/libh5dnn.so, $bin/h5dnn.h"
