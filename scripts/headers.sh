#!/bin/sh
# Compares what is declared here by hand of NVIDIA's libraries with their own headers. A check for
# developers: HEADERS names folders of headers, such as the wheel nvidia-cuda-runtime contains. A
# comparison whose header is in none of them is skipped.
set -eu
cd "$(dirname "$0")/headers"

include=
for folder in ${HEADERS:-}; do
	include="$include -I$folder"
done
for check in *.cpp; do
	header=$(sed -n 's/^#include <\([a-zA-Z_]*\.h\)>.*/\1/p' "$check" | head -1)
	if ! echo "#include <$header>" | ${CXX:-c++} -x c++ -fsyntax-only $include - 2>/dev/null; then
		echo "headers: ${check%.cpp}: skipped, no $header; name its folder in HEADERS"
		continue
	fi
	${CXX:-c++} -std=c++17 -fsyntax-only -Wall -Wextra -Werror $include "$check"
	echo "headers: ${check%.cpp}: agrees with $header"
done
