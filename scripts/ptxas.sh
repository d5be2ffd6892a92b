#!/bin/sh
# Compiles the PTX with NVIDIA's assembler for sm_75 to sm_100 and lists registers and shared memory
# in kernels/device/ptxas.txt. PTXAS names the assembler, which the Python package
# nvidia-cuda-nvcc-cu12 contains.
set -eu
cd "$(dirname "$0")/../kernels/device"

ptxas=${PTXAS:-ptxas}
command -v "$ptxas" >/dev/null || { echo "ptxas: skipped, no $ptxas; name one in PTXAS"; exit 0; }

for target in sm_75 sm_80 sm_90 sm_100; do
	module=sm_80.ptx
	[ $target != sm_75 ] || module=sm_75.ptx
	"$ptxas" -arch=$target -v $module -o /dev/null 2>&1 | awk -v target=$target '
		/Compiling entry function/ { split($0, part, "\047"); entry = part[2] }
		/bytes stack frame/ { for (i = 1; i < NF; i++) if ($(i+1) == "bytes" && $(i+2) == "spill") spilled[entry] += $i }
		/Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($(i+1) ~ /^registers/) print entry, target, $i, spilled[entry] + 0 }'
done | sort -s -k 1,1 | awk -v ptx="$(cat sm_75.ptx sm_80.ptx | sha256sum | cut -d ' ' -f 1)" '
	BEGIN {
		print "# Registers of a thread on sm_75, sm_80, sm_90 and sm_100, and bytes spilled on all of them; by make ptxas."
		print "# Of PTX sha256:" ptx
	}
	$1 != entry { if (entry) print line, spilled; entry = line = $1; spilled = 0 }
	{ line = line " " $3; spilled += $4 }
	END { print line, spilled }' >ptxas.txt
