#!/bin/sh
# Builds the folders bin, lib and share of h5dnn, which the tarball, the .deb and the container image have: tree.sh FOLDER VERSION
# The program runs on all Linux of x86-64 with glibc 2.31 or newer, because it is built in a root of Debian 11. The libraries
# in lib/h5dnn are from there, too, but for libstdc++ and zlib, which every system has. Debian 13's libdeflate is in the program.
set -eu
cd "$(dirname "$0")/../.."
tree=$1 version=$2
root=$(sh scripts/dist/build_root.sh)
rm -rf "$tree"
mkdir -p "$tree/bin" "$tree/lib/h5dnn" "$tree/share/man/man1" "$tree/share/bash-completion/completions" \
	"$tree/share/zsh/vendor-completions" "$tree/share/fish/vendor_completions.d" "$tree/share/doc/h5dnn/libraries"

# Position-independent, as the library of the wheel has to be: C is compiled once for both.
# RPATH, not RUNPATH: libraries that are loaded later, and what these need, are found there, too.
sh scripts/dist/inside.sh "$root" go build -buildmode=pie -o "$tree/bin/h5dnn" \
	-ldflags "-s -w -X main.release=v$version -extldflags '-Wl,-rpath,\$ORIGIN/../lib/h5dnn -Wl,--disable-new-dtags'" ./cmd/h5dnn
for library in libgomp.so.1 libdnnl.so.2 libOpenCL.so.1 libhdf5_serial.so.103 libsz.so.2 libaec.so.0; do
	file=$(chroot "$root" dpkg-query -S "*/x86_64-linux-gnu/$library") # PACKAGE:amd64: /FILE
	cp -L "$root${file##*: }" "$tree/lib/h5dnn/"
	cp -L "$root/usr/share/doc/${file%%:*}/copyright" "$tree/share/doc/h5dnn/libraries/${file%%:*}"
	chroot "$root" dpkg-query -W "${file%%: *}" >>"$tree/share/doc/h5dnn/libraries.txt"
done
cp "$root/usr/src/libdeflate/COPYING" "$tree/share/doc/h5dnn/libraries/libdeflate"
echo "libdeflate $(cat "$root/usr/src/libdeflate/version") debian-13" >>"$tree/share/doc/h5dnn/libraries.txt"
chmod 644 "$tree"/lib/h5dnn/*
cp README.md CHANGELOG.md LICENSE "$tree/share/doc/h5dnn/"

# The commands' own tables, which --help prints, too.
"$tree/bin/h5dnn" completion bash >"$tree/share/bash-completion/completions/h5dnn"
"$tree/bin/h5dnn" completion zsh >"$tree/share/zsh/vendor-completions/_h5dnn"
"$tree/bin/h5dnn" completion fish >"$tree/share/fish/vendor_completions.d/h5dnn.fish"
"$tree/bin/h5dnn" completion man | gzip -9n >"$tree/share/man/man1/h5dnn.1.gz"
