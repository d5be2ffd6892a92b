#!/bin/sh
# Compares our declarations of NVIDIA's libraries with NVIDIA's headers. HEADERS names folders of
# headers, such as those of the Python packages nvidia-cublas, nvidia-cudnn-cu13, nvidia-nccl-cu13, nvidia-cuda-runtime and
# nvidia-cuda-nvrtc, and of nvidia-cuda-crt and nvidia-cuda-cccl, which these include (include and include/cccl). A comparison is skipped if its
# header or one that it includes is missing. LIBCUDA names a driver library, for example from
# Debian's package libcuda1, in which all functions are looked up.
set -eu
cd "$(dirname "$0")/headers"

include=
for folder in ${HEADERS:-}; do
	include="$include -I$folder"
done
for check in *.cpp; do
	header=$(sed -n 's/^#include <\([a-zA-Z_]*\.h\)>.*/\1/p' "$check" | head -1)
	missing=$(echo "#include <$header>" | LC_ALL=C ${CXX:-c++} -x c++ -fsyntax-only $include - 2>&1 | sed -n 's/.*fatal error: \(.*\): No such file.*/\1/p')
	if [ -n "$missing" ]; then
		echo "headers: ${check%.cpp}: skipped, no $missing; name its folder in HEADERS"
		continue
	fi
	${CXX:-c++} -std=c++17 -fsyntax-only -Wall -Wextra -Werror $include "$check"
	echo "headers: ${check%.cpp}: agrees with $header"
done

if [ -n "${LIBCUDA:-}" ]; then
	has=$(nm -D --defined-only "$LIBCUDA" | sed 's/.* //; s/@.*//')
	for name in $(sed -n 's/^\tX(\(cu[A-Za-z0-9_]*\),.*/\1/p' ../../cuda/driver.h); do
		echo "$has" | grep -qx "$name" || { echo "headers: $LIBCUDA has no $name"; exit 1; }
	done
	echo "headers: $LIBCUDA has every function"
fi
