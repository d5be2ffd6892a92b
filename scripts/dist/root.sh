#!/bin/sh
# Prints the folder of a root of Debian, which it makes unless it exists: root.sh NAME SUITE PACKAGES...
# Roots are in the folder ROOTS (/var/tmp/h5dnn-roots). Packages come from MIRROR, or where this machine's apt has
# them from. It needs root and debootstrap. With ARCH, such as arm64, packages are unpacked and not configured: qemu-user-static runs
# their programs from outside.
set -eu
root=${ROOTS:-/var/tmp/h5dnn-roots}/$1 suite=$2
shift 2
if [ ! -e "$root/complete" ]; then
	command -v debootstrap >/dev/null || { echo "dist: debootstrap is missing; install it (Debian: apt-get install debootstrap)" >&2; exit 2; }
	mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -1)}
	rm -rf "$root"
	debootstrap --variant=minbase ${ARCH:+--foreign --arch="$ARCH"} ${*:+--include="$(echo "$*" | tr ' ' ,)"} "$suite" "$root" "$mirror" >&2
	[ -z "${ARCH-}" ] || find "$root/var/cache/apt/archives" -name '*.deb' -exec dpkg -x {} "$root" \;
	touch "$root/complete"
fi
echo "$root"
