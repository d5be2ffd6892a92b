#!/bin/sh
# Builds and packs bin/gpu-check.tar.xz, a folder to run on a machine with an NVIDIA GPU: tests and
# benchmarks, their libraries except glibc, data, the interpreter's results, and the kernels as machine
# code of sm_90 if ptxas (PTXAS) is at hand. The same tools and sources give the same bytes in any folder.
set -eu
cd "$(dirname "$0")/.."

to=bin/gpu-check
rm -rf $to $to.tar.xz
mkdir -p $to/lib $to/data $to/tests $to/capi

# RPATH, not RUNPATH, so that libraries find their own needs there too.
paths='-Wl,-rpath,$ORIGIN/lib:$ORIGIN/../lib:$ORIGIN/../../lib -Wl,--disable-new-dtags -Wl,--build-id=none'
export GOFLAGS="-trimpath -buildvcs=false"
go build -ldflags "-s -w -extldflags \"$paths\"" -o $to/ ./cmd/h5dnn ./bench
CGO_ENABLED=0 go build -ldflags "-s -w" -o $to/run ./bench/gpucheck
go build -buildmode=c-shared -ldflags "-s -w -buildid= -extldflags '$paths -Wl,-soname,libh5dnn.so -Wl,--version-script=$PWD/capi/h5dnn.map'" -o $to/capi/libh5dnn.so ./capi
rm $to/capi/libh5dnn.h
cp capi/testdata/*.py $to/capi/
for package in cuda tensor train; do
	go test -c -ldflags "-s -w -extldflags \"$paths\"" -o $to/tests/$package/test ./$package
	[ ! -d $package/testdata ] || cp -r $package/testdata $to/tests/$package/
done
mkdir -p $to/tests/kernels/testdata $to/tests/testdata # of other packages, which these tests read
cp kernels/testdata/conv.json $to/tests/kernels/testdata/
cp testdata/digits.h5 $to/tests/testdata/

needs() { ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u; }
for library in $(needs $to/h5dnn $to/bench $to/tests/*/test $to/capi/libh5dnn.so); do
	case $library in
	*/libc.so.* | */libm.so.* | */libmvec.so.* | */libdl.so.* | */libpthread.so.* | */librt.so.* | */libresolv.so.*) ;; # glibc's
	*) cp -L "$library" $to/lib/ ;;
	esac
done

mnist=../shared/data/mnist.h5
if [ -f $mnist ]; then cp $mnist $to/data/; else echo "gpu-check: no $mnist: rows that train on MNIST fail there"; fi
cp testdata/digits.h5 $to/data/
(cd $to/tests/cuda && ./test -test.run '^TestGPUMatchesInterpreter$' -record recorded >/dev/null)

ptxas=${PTXAS:-ptxas}
assembler="none: the driver compiles the kernels"
if command -v "$ptxas" >/dev/null; then
	assembler=$("$ptxas" --version | tail -1)
	go run ./scripts/cubins -ptxas "$ptxas" -o $to/code 90
fi
{
	echo "commit $(git rev-parse HEAD)"
	if git diff --quiet HEAD; then echo "no changes since"; else echo "changed since: $(git diff --stat HEAD | tail -1), sha256 $(git diff HEAD | sha256sum | cut -c 1-16)"; fi
	go version
	echo "ptxas: $assembler"
	echo "needs glibc $(objdump -T $to/h5dnn $to/bench $to/tests/*/test $to/capi/*.so $to/lib/* | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1 | cut -d _ -f 2)"
} >$to/about.txt
find $to -type f -exec chmod 644 {} + && find $to -type d -exec chmod 755 {} +
chmod 755 $to/run $to/h5dnn $to/bench $to/tests/*/test

# The programs share much content, above all PTX, which xz finds with a large window.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu -cf - -C bin gpu-check |
	xz -T1 --x86 --lzma2=preset=1,dict=256MiB >$to.tar.xz
bytes=$(stat -c %s $to.tar.xz)
echo "gpu-check: $to.tar.xz, $((bytes / 1048576)) MiB, sha256 $(sha256sum $to.tar.xz | cut -c 1-16). On a machine with a GPU:"
echo "  python3 -c 'import tarfile; tarfile.open(\"gpu-check.tar.xz\").extractall()' && OUT=results gpu-check/run -part correctness"
[ "$bytes" -lt $((30 << 20)) ] || { echo "gpu-check: more than 30 MiB" >&2; exit 1; }
