#!/bin/sh
# Builds the library by which h5dnn train exchanges with the other processes of mpirun, for each MPI that has a compiler
# here, to the folder of the argument, by default bin.
set -eu
cd "$(dirname "$0")/.."
bin=${1-bin}
mkdir -p "$bin"
found=

# build NAME COMPILER: the library for the MPI with that name.
build() {
	command -v "$2" >/dev/null || return 0
	"$2" -O2 -Wall -Wextra -Werror -shared -fPIC -o "$bin/libh5dnn-$1.so" collective/mpi/plugin/mpi.c
	echo "mpi: $bin/libh5dnn-$1.so"
	found=1
}

build openmpi mpicc.openmpi
build mpich mpicc.mpich
if [ -z "$found" ] && command -v mpicc >/dev/null; then
	case $(mpicc -show) in
	*open*mpi* | *ompi*) build openmpi mpicc ;;
	*) build mpich mpicc ;;
	esac
fi
[ -n "$found" ] || echo "mpi: no mpicc here; h5dnn train runs in one process (Debian: libopenmpi-dev or libmpich-dev)"
