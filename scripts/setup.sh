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

# includes HEADER: can the C compiler find it?
includes() { echo "#include <$1>" | "${CC:-cc}" -E -o /dev/null - 2>/dev/null; }

has() {
	case $1 in
	compiler) command -v "${CC:-cc}" ;;
	pkg-config) command -v pkg-config ;;
	onednn) includes oneapi/dnnl/dnnl.h ;;
	*) pkg-config --exists "$1" ;;
	esac >/dev/null 2>&1
}

missing() {
	for need in compiler pkg-config hdf5 onednn openblas libdeflate; do
		has $need || printf ' %s' $need
	done
}

# packages NAMES...: their names in this system's package manager.
packages() {
	for name in "$@"; do
		case $manager:$name in
		apt-get:compiler) echo gcc libc6-dev ;;
		apt-get:pkg-config) echo pkg-config ;;
		apt-get:onednn) echo libdnnl-dev ;;
		apt-get:libdeflate) echo libdeflate-dev ;;
		apt-get:*) echo "lib$name-dev" ;;
		dnf:compiler | pacman:compiler | brew:compiler) echo gcc ;;
		dnf:pkg-config) echo pkgconf-pkg-config ;;
		dnf:*) echo "$name-devel" ;;
		pacman:pkg-config | brew:pkg-config) echo pkgconf ;;
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
	echo "setup: $(go env GOVERSION), libhdf5, oneDNN, OpenBLAS, libdeflate, pkg-config: all found"
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
	run env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $names
	;;
dnf) run dnf install -y $names ;;
pacman) run pacman -Sy --needed --noconfirm $names ;;
brew) run brew install $names ;;
esac || fail "$manager could not install $names; its message is above"

lacking=$(missing)
[ -z "$lacking" ] || fail "$manager installed $names, yet not found:$lacking (headers in unusual places: set CPATH, LIBRARY_PATH and PKG_CONFIG_PATH)"
