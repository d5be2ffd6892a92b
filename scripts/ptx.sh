#!/bin/sh
# Compiles the kernels for GPUs to kernels/device/sm_75.ptx and sm_80.ptx. Needs clang 19, no CUDA toolkit.
# The first line says of which sources, this one included, so that a test can tell when it was forgotten.
set -eu
cd "$(dirname "$0")/../kernels/device"

sources=$(cat ../../scripts/ptx.sh ../native/ops.h *.cuh *.cu | sha256sum | cut -d ' ' -f 1)
for target in sm_75 sm_80; do
	printf '#include "%s"\n' *.cu | ${CLANG:-clang++-19} -x cuda --cuda-device-only -nocudainc -nocudalib \
		--cuda-gpu-arch=$target --cuda-feature=+ptx70 -std=c++17 -O3 -ffp-contract=off -fno-jump-tables -fno-unroll-loops \
		-Wall -Wextra -Wno-unused-parameter -I. -I../native -S -o $target.partial -
	{ echo "// From sources sha256:$sources by make ptx."; sed "s,[[:blank:]]*//.*,,; /^$/d" $target.partial; } >$target.ptx
	rm $target.partial
done
