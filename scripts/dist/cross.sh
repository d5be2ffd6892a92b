#!/bin/sh
# Builds the programs without cgo for other systems, and packs them: cross.sh VERSION FOLDER; without arguments, it only compiles them.
# They read, slice and convert arrays; their help says what they lack.
set -eu
cd "$(dirname "$0")/../.."
for target in linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
	os=${target%/*} arch=${target#*/}
	if [ $# = 0 ]; then
		echo "cross: $target"
		CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -o /dev/null ./cmd/h5dnn
		continue
	fi
	name=h5dnn-$1-$os-$arch
	folder=$2/$name
	mkdir -p "$folder"
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -ldflags "-s -w -X main.release=v$1" -o "$folder/" ./cmd/h5dnn
	cp README.md LICENSE "$folder/"
	tar --create --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner -C "$2" "$name" | gzip -9n >"$folder.tar.gz"
	rm -r "$folder"
done
