#!/bin/sh
# Runs a command in a root, in the folder /src, which shows the project, with this machine's Go and its modules: inside.sh ROOT COMMAND...
# They are mounted in a namespace that ends with the command.
set -eu
cd "$(dirname "$0")/../.."
root=$1
shift
go mod download
mkdir -p "$root/src" "$root/go" "$root/modules"
export ROOT="$root" GOROOT="$(go env GOROOT)" MODULES="$(go env GOMODCACHE)"
exec unshare --mount sh -euc '
	mount --bind "$PWD" "$ROOT/src"
	mount --bind "$GOROOT" "$ROOT/go"
	mount --bind "$MODULES" "$ROOT/modules"
	mount -t proc none "$ROOT/proc"
	exec chroot "$ROOT" env -i PATH=/go/bin:/usr/bin:/bin HOME=/root GOROOT=/go GOMODCACHE=/modules GOFLAGS=-trimpath GOPROXY=off GOTOOLCHAIN=local \
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/src \
		sh -euc "cd /src && exec \"\$@\"" sh "$@"' sh "$@"
