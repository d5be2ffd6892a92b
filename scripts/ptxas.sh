#!/bin/sh
# Compiles the PTX with NVIDIA's assembler for sm_75 to sm_100 and lists registers and spilled bytes
# in kernels/device/ptxas.txt. PTXAS names the assembler, which the Python package
# nvidia-cuda-nvcc-cu12 contains.
set -eu
cd "$(dirname "$0")/../kernels/device"

ptxas=${PTXAS:-ptxas}
command -v "$ptxas" >/dev/null || { echo "ptxas: skipped, no $ptxas; name one in PTXAS"; exit 0; }

# module UNIT TARGET prints the PTX of a unit for a target.
module() {
	printf '.version 7.0\n.target %s\n.address_size 64\n' "$2"
	gzip -dc "$1" | awk -v target="// $2" '/^\/\/ sm_/ { own = $0 == target; tail = 1; next } !tail || own'
}

# registers UNIT lists the entries of a unit.
registers() {
	for gpu in sm_75 sm_80 sm_90 sm_100; do
		target=sm_80
		[ $gpu != sm_75 ] || target=sm_75
		module "$1" $target >"$work/module.ptx"
		"$ptxas" -arch=$gpu -v "$work/module.ptx" -o /dev/null 2>&1 | awk '
			/Compiling entry function/ { split($0, part, "\047"); entry = part[2] }
			/bytes stack frame/ { for (i = 1; i < NF; i++) if ($(i+1) == "bytes" && $(i+2) == "spill") spilled[entry] += $i }
			/Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($(i+1) ~ /^registers/) print entry, $i, spilled[entry] + 0 }'
	done | sort -s -k 1,1 | awk '
		$1 != entry { if (entry) print line, spilled; entry = line = $1; spilled = 0 }
		{ line = line " " $2; spilled += $3 }
		END { print line, spilled }'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
	echo "# Registers of a thread on sm_75, sm_80, sm_90 and sm_100, and bytes spilled on all of them; by make ptxas."
	for unit in ptx/*.ptx.gz; do
		echo "# $(basename "$unit" .ptx.gz) $(gzip -dc "$unit" | head -n 1 | cut -d ' ' -f 4)"
		registers "$unit"
	done
} >"$work/ptxas.txt"
mv "$work/ptxas.txt" ptxas.txt
