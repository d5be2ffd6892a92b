#!/bin/sh
# Installs missing libraries that building h5dnn needs, besides Go. Prints every command before it
# runs it, and does nothing if all libraries exist.
set -eu
cd "$(dirname "$0")/.."

fail() {
	echo "setup: $*" >&2
	exit 2
}

wanted=$(sed -n 's/^go //p' go.mod)
command -v go >/dev/null || fail "Go is not installed: get $wanted or newer from https://go.dev/dl and put it on PATH"
# Go 1.21 and newer download the version in go.mod, unless that is disabled.
go list -m >/dev/null || fail "this Go cannot build h5dnn: get $wanted or newer from https://go.dev/dl"

# includes HEADER: can the C compiler find it, where the packages look for it?
includes() { echo "#include <$1>" | "${CC:-cc}" -I/usr/include/hdf5/serial -E -o /dev/null -; }

# loads LIBRARY: is it there to be loaded when the program runs?
loads() {
	ldconfig -p | grep -q "lib$1\.so" || ls /opt/homebrew/lib/lib$1.* /usr/local/lib/lib$1.* /usr/lib/lib$1.* /usr/lib64/lib$1.*
}

has() {
	case $1 in
	compiler) command -v "${CC:-cc}" ;;
	hdf5) includes hdf5.h ;;
	onednn) includes oneapi/dnnl/dnnl.h || includes dnnl.h ;;
	openblas) loads openblas ;;
	libdeflate) includes libdeflate.h ;;
	esac >/dev/null 2>&1
}

missing() {
	for need in compiler hdf5 onednn openblas libdeflate; do
		has $need || printf ' %s' $need
	done
}

# packages NAMES...: their names in this system's package manager.
packages() {
	for name in "$@"; do
		case $manager:$name in
		apt-get:compiler) echo gcc libc6-dev ;;
		apt-get:onednn) echo libdnnl-dev ;;
		apt-get:openblas) echo libopenblas0 ;;
		apt-get:libdeflate) echo libdeflate-dev ;;
		apt-get:*) echo "lib$name-dev" ;;
		dnf:compiler | pacman:compiler | brew:compiler) echo gcc ;;
		dnf:openblas) echo openblas ;;
		dnf:*) echo "$name-devel" ;;
		*) echo "$name" ;;
		esac
	done | tr '\n' ' '
}

# run CMD...: prints and runs it, as root if needed.
run() {
	if [ "$manager" != brew ] && [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || fail "not root and no sudo: run as root: $*"
		if [ -t 0 ]; then set -- sudo "$@"; else set -- sudo -n "$@"; fi
	fi
	echo "setup: $*"
	"$@"
}

lacking=$(missing)
if [ -z "$lacking" ]; then
	echo "setup: $(go env GOVERSION), libhdf5, oneDNN, OpenBLAS, libdeflate: all found"
	exit 0
fi
echo "setup: missing:$lacking"

manager=
for candidate in apt-get dnf pacman brew; do
	if command -v $candidate >/dev/null; then
		manager=$candidate
		break
	fi
done
[ -n "$manager" ] || fail "no apt-get, dnf, pacman or brew here: install these with their headers, then try again:$lacking"

names=$(packages $lacking)
case $manager in
apt-get)
	run apt-get update || echo "setup: apt-get update failed; continuing with the existing lists"
	run env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends --no-upgrade $names
	;;
dnf) run dnf install -y $names ;;
pacman) run pacman -Sy --needed --noconfirm $names ;;
brew) run brew install $names ;;
esac || fail "$manager could not install $names; its message is above"

lacking=$(missing)
[ -z "$lacking" ] || fail "$manager installed $names, yet not found:$lacking (headers in unusual places: set CPATH, LIBRARY_PATH and PKG_CONFIG_PATH)"
