#!/bin/sh
# Builds and packs bin/gpu-check, a folder to run on a machine with an NVIDIA GPU and without Go,
# HDF5 or oneDNN: programs, their libraries except glibc and OpenBLAS, data, and the interpreter's
# results. TAGS=fakegpus builds one with interpreted GPUs.
set -eu
cd "$(dirname "$0")/.."

to=bin/gpu-check
rm -rf $to $to.tar.xz
mkdir -p $to/lib $to/data $to/tests

# RPATH, not RUNPATH, so that libraries find their own needs there too.
flags='-s -w -extldflags "-Wl,-rpath,$ORIGIN/lib:$ORIGIN/../../lib -Wl,--disable-new-dtags"'
go() {
	verb=$1
	shift
	command go "$verb" -tags "${TAGS:-}" -ldflags "$flags" "$@"
}
go build -o $to/h5dnn ./cmd/h5dnn
go build -o $to/bench ./bench
for package in cuda tensor; do
	go test -c -o $to/tests/$package/test ./$package
	[ ! -d $package/testdata ] || cp -r $package/testdata $to/tests/$package/
done

needs() { ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u; }
for library in $(needs $to/h5dnn $to/bench $to/tests/*/test); do
	case $library in
	*/libc.so.* | */libm.so.* | */libmvec.so.* | */libdl.so.* | */libpthread.so.* | */librt.so.* | */libresolv.so.*) ;; # glibc's
	*) cp -L "$library" $to/lib/ ;;
	esac
done
objdump -T $to/h5dnn $to/bench $to/tests/*/test $to/lib/* | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1 | cut -d _ -f 2 >$to/glibc

mnist=../shared/data/mnist.h5
if [ -f $mnist ]; then cp $mnist $to/data/; else echo "gpu-check: no $mnist: the digits are used for training, and MNIST rows are skipped"; fi
cp testdata/digits.h5 $to/data/
(cd $to/tests/cuda && ./test -test.run TestGPUMatchesInterpreter -record recorded >/dev/null)
git log -1 --format=%h >$to/commit
cp bench/gpu/run.sh $to/
# The programs share much content, above all PTX, which xz detects with a large window.
tar -cf $to.tar.xz -I 'xz --x86 --lzma2=preset=6,dict=256MiB' -C bin gpu-check
echo "gpu-check: $to, $(du -sh $to | cut -f 1); $to.tar.xz, $(du -h $to.tar.xz | cut -f 1). On a machine with a GPU and glibc $(cat $to/glibc) or newer: gpu-check/run.sh"
