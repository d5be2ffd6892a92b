#!/bin/sh
# Compiles Debian 13's libdeflate as a static library in the root where packages are built: libdeflate.sh ROOT MACHINE, where MACHINE
# is x86_64 or aarch64. It decodes 1.3 to 1.6 times as fast as Debian 11's.
set -eu
root=$1 machine=$2
[ ! -e "$root/usr/lib/$machine-linux-gnu/libdeflate.a" ] || exit 0
sed -n 's/^deb \(.*\) bullseye main.*/deb-src \1 trixie main/p' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/libdeflate.list"
# shellcheck disable=SC2016 # expanded in the root
chroot "$root" sh -euc '
	machine=$1 compiler=$1-linux-gnu-gcc source=/usr/src/libdeflate
	case $machine in x86_64) folder=x86 ;; aarch64) folder=arm ;; esac # both have a file of the same name
	mkdir -p $source
	cd $source
	if [ ! -e version ]; then
		apt-get update
		apt-get source --tar-only libdeflate
		tar --extract --strip-components=1 --file libdeflate_*.orig.tar.gz
		cp libdeflate.h /usr/include
		ls libdeflate_*.orig.tar.gz | sed "s/libdeflate_//; s/.orig.*//" >version
	fi
	mkdir -p "$machine"
	cd "$machine"
	"$compiler" -O2 -fPIC -fvisibility=hidden -c ../lib/*.c ../lib/$folder/*.c
	ar rcs "/usr/lib/$machine-linux-gnu/libdeflate.a" ./*.o' sh "$machine" >&2
