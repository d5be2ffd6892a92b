#!/bin/sh
# Tries h5dnn on this machine's NVIDIA GPU, in less than ten minutes: every kernel against what the
# interpreter computed and against the CPU, a training from an HDF5 file, and the benchmark beside
# PyTorch. What comes of it goes to $OUT/RESULTS.md; OUT is bench/gpu if there is that folder, or
# gpu-check-results. make gpu-check builds the folder that this is run from. The status is 0 if every step succeeded, 1 if
# one did not, 2 if there is no GPU or nothing can run.
#
# PYTHON names an interpreter that has PyTorch (python3). SMALL=1 makes sizes those that an
# interpreter can do, and REAL= has the tests run on it, to try all this; DEVICE is the GPU (cuda:0).
here=$(cd "$(dirname "$0")" && pwd)
[ -n "$OUT" ] || { [ -d bench/gpu ] && OUT=$PWD/bench/gpu; } || OUT=$PWD/gpu-check-results
PYTHON=${PYTHON:-python3}
DEVICE=${DEVICE:-cuda:0}
made=${TMPDIR:-/tmp}/gpu-check.$$
mkdir -p "$OUT" "$made" || exit 2
trap 'rm -rf "$made"' EXIT
report=$OUT/RESULTS.md
failed=0

have=$(ldd --version 2>/dev/null | awk 'NR == 1 { print $NF }')
need=$(cat "$here/glibc")
if [ "$(printf '%s\n%s\n' "$need" "${have:-0}" | sort -V | head -1)" != "$need" ]; then
	echo "gpu-check: glibc $need or newer is needed, here is ${have:-none}; build the folder on an older system" >&2
	exit 2
fi
if ! found=$("$here/h5dnn" devices); then
	echo "gpu-check: h5dnn does not start here" >&2
	exit 2
fi
if ! printf '%s\n' "$found" | grep -q '^  cuda:'; then
	echo "gpu-check: no GPU here: $(printf '%s\n' "$found" | sed -n 's/^cuda  //p')" >&2
	exit 2
fi

say() { printf '%s\n' "$@" | tee -a "$report"; }

# step TITLE SECONDS COMMAND...: runs it, shows and keeps what it says, and goes on.
step() {
	title=$1 limit=$2
	shift 2
	say "" "## $title" "" '```'
	began=$(date +%s)
	timeout "$limit" "$@" >"$made/said" 2>&1
	status=$?
	tail -n 60 "$made/said" | tee -a "$report"
	say '```' ""
	took=$(($(date +%s) - began))
	case $status in
	0) say "ok, ${took} s" ;;
	124) failed=1 && say "**failed**: not done after $limit s" ;;
	*) failed=1 && say "**failed**: status $status, ${took} s" ;;
	esac
}

: >"$report"
say "# h5dnn on a GPU" "" "By gpu-check/run.sh, commit $(cat "$here/commit"), on $(date -u '+%-d %B %Y, %H:%M') UTC, on $(uname -n)."
step "Machine" 10 sh -c 'uname -srm; grep -m 1 "model name" /proc/cpuinfo; nproc; grep MemTotal /proc/meminfo; nvidia-smi || echo "no nvidia-smi"'
step "h5dnn devices" 10 "$here/h5dnn" devices

# gpu TITLE PACKAGE TESTS ARGUMENTS...: runs tests on the GPU.
gpu() {
	title=$1 package=$2 tests=$3
	shift 3
	step "$title" "${LIMIT:-60}" env -C "$here/tests/$package" H5DNN_TEST_GPU="${REAL-1}" ./test -test.run "$tests" "$@"
}
gpu "Every kernel, beside the interpreter: the same bits except where a GPU may choose them" cuda '^TestGPUMatchesInterpreter$' -test.v -compare recorded
gpu "Every kernel, compared with its reference on the CPU" cuda '^TestKernelsMatchReference$|^TestKernelsRunInOrder$|^TestMoreThan2GiElements$|^TestEventsOrderStreams$'
gpu "Products and convolutions by NVIDIA's libraries, where they are found, compared with references" cuda '^TestLibrariesMatchReference$'
gpu "Every operation and its derivative, compared with the CPU in float64" tensor '^TestDevicesAgree$|^TestDevicesTakeEmptyBatches$'

train() { step "$1" "${LIMIT:-60}" "$here/h5dnn" train --data "$2" --x train/images --y train/labels --val-x test/images --val-y test/labels --model "$3" --epochs "$4" --seed 1 --device "$5" --force -o "$made/$6.h5"; }
if [ -f "$here/data/mnist.h5" ] && [ -z "$SMALL" ]; then
	train "LeNet on MNIST, from its HDF5 file" "$here/data/mnist.h5" lenet 3 "$DEVICE" gpu
	train "The same on the CPU" "$here/data/mnist.h5" lenet 3 cpu cpu
else
	say "" "**missing**: MNIST, or SMALL is set. Digits are trained on instead."
	train "An MLP on digits, from their HDF5 file" "$here/data/digits.h5" mlp 2 "$DEVICE" gpu
	train "The same on the CPU" "$here/data/digits.h5" mlp 2 cpu cpu
fi

if ! "$PYTHON" -c 'import torch' 2>"$made/why"; then
	say "" "**missing**: PyTorch, to stand beside: $(tail -n 1 "$made/why"). Rows beside it have no ratio; name a Python that has it in PYTHON."
	PYTHON=
fi
step "Benchmark" 200 "$here/bench" -suite gpu -device "$DEVICE" -threads "$(nproc)" -python "$PYTHON" -data "$here/data" -made "$made" -seconds "${SECONDS_A_ROW:-4}" -o "$made/table.md" ${SMALL:+-small}
if [ -f "$made/table.md" ]; then say "" "$(sed 's/^# /## /' "$made/table.md")"; fi
say "" "$([ $failed = 0 ] && echo "Every step succeeded." || echo "**Some steps failed**; see above.")"
exit $failed
